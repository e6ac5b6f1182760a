//! The values that command-line options take.

use core::str::FromStr;

use bench_allocator::Kind;
use clap::ValueEnum;
use harness::peers::configs;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllocatorChoice {
    System,
    Jemalloc,
    Mimalloc,
    All,
}

impl AllocatorChoice {
    pub(crate) fn kinds(self) -> Vec<Kind> {
        match self {
            Self::System => vec![Kind::System],
            Self::Jemalloc => vec![Kind::Jemalloc],
            Self::Mimalloc => vec![Kind::Mimalloc],
            Self::All => Kind::ALL.to_vec(),
        }
    }
}

/// An API for passing data to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Buffered,
    /// Buffered, but reads in place instead of copying out.
    FillBuf,
    Unbuffered,
    InPlace,
}

impl Api {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::FillBuf => "fill-buf",
            Self::Unbuffered => "unbuffered",
            Self::InPlace => "in-place",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiChoice {
    Buffered,
    FillBuf,
    Unbuffered,
    InPlace,
    All,
}

impl ApiChoice {
    pub(crate) fn apis(self) -> Vec<Api> {
        match self {
            Self::Buffered => vec![Api::Buffered],
            Self::FillBuf => vec![Api::FillBuf],
            Self::Unbuffered => vec![Api::Unbuffered],
            Self::InPlace => vec![Api::InPlace],
            Self::All => vec![Api::Buffered, Api::FillBuf, Api::Unbuffered, Api::InPlace],
        }
    }
}

/// The APIs for a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HandshakeApi {
    Buffered,
    Unbuffered,
}

impl HandshakeApi {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffered => "buffered",
            Self::Unbuffered => "unbuffered",
        }
    }
}

/// The API that an application uses for a connection over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpApi {
    /// `Stream`.
    Stream,
    /// `writer`, `write_tls`; `read_tls`, `process_new_packets`, `reader`.
    Calls,
}

impl TcpApi {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Calls => "calls",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TcpApiChoice {
    Stream,
    Calls,
    All,
}

impl TcpApiChoice {
    pub(crate) fn apis(self) -> Vec<TcpApi> {
        match self {
            Self::Stream => vec![TcpApi::Stream],
            Self::Calls => vec![TcpApi::Calls],
            Self::All => vec![TcpApi::Stream, TcpApi::Calls],
        }
    }
}

/// A crypto provider that both implementations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    AwsLcRs,
    Ring,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::AwsLcRs, Self::Ring];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AwsLcRs => "aws-lc-rs",
            Self::Ring => "ring",
        }
    }

    pub(crate) const fn in_harness(self) -> configs::Provider {
        match self {
            Self::AwsLcRs => configs::Provider::AwsLc,
            Self::Ring => configs::Provider::Ring,
        }
    }
}

/// A key exchange group that at least one of the two providers supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    X25519,
    Secp256r1,
    Secp384r1,
    #[value(name = "x25519mlkem768")]
    X25519MlKem768,
}

impl Group {
    pub(crate) const ALL: [Self; 4] = [
        Self::X25519,
        Self::Secp256r1,
        Self::Secp384r1,
        Self::X25519MlKem768,
    ];

    /// The name that both libraries' `NamedGroup` prints.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::Secp256r1 => "secp256r1",
            Self::Secp384r1 => "secp384r1",
            Self::X25519MlKem768 => "X25519MLKEM768",
        }
    }

    /// True if `provider` supports this group in `version`: ring has no ML-KEM, TLS 1.2 no KEM.
    pub(crate) fn usable_with(self, provider: Provider, version: Version) -> bool {
        self != Self::X25519MlKem768 || (provider, version) == (Provider::AwsLcRs, Version::Tls13)
    }
}

/// The type of the keys in all certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyType {
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    #[value(name = "rsa-2048")]
    Rsa2048,
}

impl KeyType {
    pub(crate) const ALL: [Self; 4] = [
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Ed25519,
        Self::Rsa2048,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa-2048",
        }
    }

    pub(crate) const fn in_harness(self) -> configs::KeyType {
        match self {
            Self::EcdsaP256 => configs::KeyType::EcdsaP256,
            Self::EcdsaP384 => configs::KeyType::EcdsaP384,
            Self::Ed25519 => configs::KeyType::Ed25519,
            Self::Rsa2048 => configs::KeyType::Rsa2048,
        }
    }

    /// The certificates, generated once for each process.
    pub(crate) fn identities(self) -> &'static configs::Identities {
        self.in_harness().identities()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Version {
    #[value(name = "1.2")]
    Tls12,
    #[value(name = "1.3")]
    Tls13,
}

impl Version {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        }
    }
}

/// The AEAD of a cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    Chacha20Poly1305,
}

impl Cipher {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes256Gcm => "AES-256-GCM",
            Self::Chacha20Poly1305 => "ChaCha20-Poly1305",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientAuth {
    No,
    Yes,
}

/// One or more numbers of threads: `1..4` (inclusive) or `1,2,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Threads(pub(crate) Vec<usize>);

impl Threads {
    const MOST: usize = 1024;
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let number = text.trim().parse().ok();
            number.filter(|number| (1..=Self::MOST).contains(number))
        };
        let numbers = match text.split_once("..") {
            Some((first, last)) => number(first)
                .zip(number(last))
                .map(|(first, last)| (first..=last).collect()),
            None => text.split(',').map(number).collect::<Option<Vec<_>>>(),
        };
        numbers
            .filter(|numbers| !numbers.is_empty())
            .map(Self)
            .ok_or_else(|| {
                let most = Self::MOST;
                format!("expected numbers from 1 to {most}, as in 4, 1..4 or 1,2,4")
            })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderChoice {
    AwsLcRs,
    Ring,
    All,
}

impl ProviderChoice {
    pub(crate) fn providers(self) -> Vec<Provider> {
        match self {
            Self::AwsLcRs => vec![Provider::AwsLcRs],
            Self::Ring => vec![Provider::Ring],
            Self::All => Provider::ALL.to_vec(),
        }
    }
}
