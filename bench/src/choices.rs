//! Named values that command-line options take.

pub(crate) use bench_allocator::Kind as Allocator;
use clap::builder::{PossibleValuesParser, TypedValueParser};
pub(crate) use harness::peers::configs::{KeyType, Provider as Library};

/// A closed set of values with names, on the command line and in results.
pub(crate) trait Choice: Copy + PartialEq + Send + Sync + 'static {
    const ALL: &'static [Self];

    fn name(self) -> &'static str;
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($variant),* }

        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }
    )*};
}

choices! {
    /// An API for passing data to a connection. `fill-buf` is buffered, but reads in place instead
    /// of copying out, and `open-into` opens records into the application's buffer.
    Api { Buffered = "buffered", FillBuf = "fill-buf", OpenInto = "open-into", Unbuffered = "unbuffered", InPlace = "in-place" }

    /// The half of a connection that is timed: from the application's bytes to records, or back.
    Direction { Send = "send", Receive = "receive" }

    /// A side of a connection, in the order of `[client, server]`.
    Role { Client = "client", Server = "server" }

    /// A key exchange group that at least one provider supports, named as `NamedGroup` prints it.
    Group {
        X25519 = "X25519", Secp256r1 = "secp256r1", Secp384r1 = "secp384r1",
        X25519MlKem768 = "X25519MLKEM768"
    }

    /// A version of TLS.
    Version { Tls13 = "1.3", Tls12 = "1.2" }

    /// The AEAD of a cipher suite.
    Cipher {
        Aes128Gcm = "aes128-gcm", Aes256Gcm = "aes256-gcm", Chacha20Poly1305 = "chacha20-poly1305"
    }

    /// The hash function of a cipher suite.
    Hash { Sha256 = "SHA-256", Sha384 = "SHA-384" }

    /// A crypto provider. Upstream has no `fastest`, which is compared with upstream on aws-lc-rs.
    Provider { AwsLc = "aws-lc-rs", Ring = "ring", Fastest = "fastest" }
}

impl Choice for Allocator {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        self.name()
    }
}

impl Provider {
    /// The library of its groups, keys and tickets, since the test kit has no mixture.
    pub(crate) fn library(self) -> Library {
        match self {
            Self::AwsLc | Self::Fastest => Library::AwsLc,
            Self::Ring => Library::Ring,
        }
    }
}

impl Choice for KeyType {
    const ALL: &'static [Self] = &[
        Self::EcdsaP256,
        Self::EcdsaP384,
        Self::Ed25519,
        Self::Rsa2048,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ecdsa-p256",
            Self::EcdsaP384 => "ecdsa-p384",
            Self::EcdsaP521 => "ecdsa-p521",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa-2048",
        }
    }
}

impl Hash {
    /// The length of the output.
    pub(crate) const fn len(self) -> usize {
        [32, 48][self as usize]
    }
}

impl Group {
    /// True if `provider` supports this group in `version`: ring has no ML-KEM, TLS 1.2 no KEM.
    pub(crate) fn usable_with(self, provider: Provider, version: Version) -> bool {
        self != Self::X25519MlKem768 || (provider != Provider::Ring && version == Version::Tls13)
    }
}

/// Returns the names of all values of `T`.
pub(crate) fn names<T: Choice>() -> impl Iterator<Item = &'static str> {
    T::ALL.iter().map(|choice| choice.name())
}

/// Returns a parser of one value.
pub(crate) fn one<T: Choice>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names::<T>()).try_map(|name| {
        let mut all = T::ALL.iter().copied();
        let found = all.find(|choice| choice.name().eq_ignore_ascii_case(&name));
        found.ok_or("unknown")
    })
}
