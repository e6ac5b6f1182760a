//! Keys, certificates and configurations for both crates, created at run time.

use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SignatureAlgorithm,
};

use super::additions;
pub use crate::this::configs as this;
pub use crate::upstream::configs as upstream;

/// The crypto providers of both crates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Provider {
    AwsLc,
    Ring,
}

pub const PROVIDERS: [Provider; 2] = [Provider::AwsLc, Provider::Ring];

impl FromStr for Provider {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = PROVIDERS.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| "the providers are aws-lc-rs and ring".to_owned())
    }
}

/// An item from a provider of this crate, or from upstream's.
macro_rules! item {
    ($self:ident, this: $($item:tt)+) => {
        match $self {
            Self::AwsLc => rustls_provider_aws_lc::$($item)+,
            Self::Ring => rustls_provider_ring::$($item)+,
        }
    };
    ($self:ident, upstream: $($item:tt)+) => {
        match $self {
            Self::AwsLc => rustls_upstream::crypto::aws_lc_rs::$($item)+,
            Self::Ring => rustls_upstream::crypto::ring::$($item)+,
        }
    };
}

impl Provider {
    /// Returns the name used on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsLc => "aws-lc-rs",
            Self::Ring => "ring",
        }
    }

    pub fn this_ticketer(self) -> Arc<dyn rustls::server::ProducesTickets> {
        item!(self, this: Ticketer::new().unwrap())
    }

    pub fn upstream_ticketer(self) -> Arc<dyn rustls_upstream::server::ProducesTickets> {
        item!(self, upstream: Ticketer::new().unwrap())
    }

    /// Returns the default provider, without [`additions`].
    pub fn this(self) -> rustls::crypto::CryptoProvider {
        let mut provider = item!(self, this: default_provider());
        provider.cipher_suites.retain(additions::is_shared);
        provider
    }

    /// Returns all cipher suites, including those that are off by default and [`additions`].
    pub fn this_suites(self) -> Vec<rustls::SupportedCipherSuite> {
        item!(self, this: ALL_CIPHER_SUITES.to_vec())
    }

    pub fn upstream(self) -> rustls_upstream::crypto::CryptoProvider {
        item!(self, upstream: default_provider())
    }

    /// Returns all key exchange groups, including those that are off by default.
    pub fn this_groups(self) -> Vec<&'static dyn rustls::crypto::SupportedKxGroup> {
        item!(self, this: ALL_KX_GROUPS.to_vec())
    }

    pub fn upstream_groups(self) -> Vec<&'static dyn rustls_upstream::crypto::SupportedKxGroup> {
        item!(self, upstream: ALL_KX_GROUPS.to_vec())
    }
}

/// The type of an end-entity certificate's key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyType {
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    Ed25519,
    Rsa2048,
}

pub const KEY_TYPES: [KeyType; 5] = [
    KeyType::EcdsaP256,
    KeyType::EcdsaP384,
    KeyType::EcdsaP521,
    KeyType::Ed25519,
    KeyType::Rsa2048,
];

/// RFC 8410 §7: a private key in version 1 of PKCS#8, without its last 32 bytes.
const ED25519_PKCS8: [u8; 16] =
    *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// RSA keys from `keys/generate.sh`, because generating them takes a second in each test process.
const RSA_2048: [&str; 3] = [
    include_str!("keys/rsa-2048-0.pem"),
    include_str!("keys/rsa-2048-1.pem"),
    include_str!("keys/rsa-2048-2.pem"),
];

impl KeyType {
    /// True if `provider` supports this type: ring has no P-521.
    pub fn usable_with(self, provider: Provider) -> bool {
        !(self == Self::EcdsaP521 && provider == Provider::Ring)
    }

    /// Returns the key of the authority (0) or of an entity that it certifies. Ed25519 and RSA keys
    /// are the same in all test runs.
    fn key(self, number: u8) -> KeyPair {
        let algorithm = self.algorithm();
        let key = match self {
            Self::Ed25519 => KeyPair::try_from([&ED25519_PKCS8[..], &[number; 32]].concat()),
            Self::Rsa2048 => {
                KeyPair::from_pem_and_sign_algo(RSA_2048[usize::from(number)], algorithm)
            }
            _ => KeyPair::generate_for(algorithm),
        };
        key.unwrap()
    }

    fn algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::EcdsaP384 => &rcgen::PKCS_ECDSA_P384_SHA384,
            Self::EcdsaP521 => &rcgen::PKCS_ECDSA_P521_SHA512,
            Self::Ed25519 => &rcgen::PKCS_ED25519,
            Self::Rsa2048 => &rcgen::PKCS_RSA_SHA256,
        }
    }

    /// Certificates of this type, created once per process.
    pub fn identities(self) -> &'static Identities {
        static MADE: [OnceLock<Identities>; KEY_TYPES.len()] =
            [const { OnceLock::new() }; KEY_TYPES.len()];
        MADE[self as usize].get_or_init(|| Identities::new(self))
    }
}

/// An authority and the identities that it has certified.
pub struct Identities {
    pub ca: CertificateDer<'static>,
    pub ca_pem: String,
    pub server: Identity,
    pub client: Identity,
}

/// A certificate chain and its key.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub cert_pem: String,
    key: Vec<u8>,
}

impl Identity {
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone().into())
    }

    pub fn key_pem(&self) -> String {
        // OpenSSL 3.0 cannot read version 2 of PKCS#8, which includes the public key
        let ed25519 = self.key.len() < 100 && self.key[4] == 1;
        let key = if ed25519 {
            [&ED25519_PKCS8, &self.key[16..48]].concat()
        } else {
            self.key.clone()
        };
        KeyPair::try_from(key).unwrap().serialize_pem()
    }
}

pub const SERVER_NAME: &str = "server.example";

impl Identities {
    fn new(key_type: KeyType) -> Self {
        let mut ca = CertificateParams::new(Vec::new()).unwrap();
        ca.distinguished_name
            .push(DnType::CommonName, format!("authority of {key_type:?}"));
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, key_type.key(0)).unwrap();

        let issue = |number, name: &str, purpose| {
            let mut params = CertificateParams::new(vec![name.to_string()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![purpose];
            let key = key_type.key(number);
            let cert = params.signed_by(&key, &ca).unwrap();
            Identity {
                chain: vec![cert.der().to_vec().into()],
                cert_pem: cert.pem(),
                key: key.serialize_der(),
            }
        };
        Self {
            server: issue(1, SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth),
            client: issue(2, "client.example", ExtendedKeyUsagePurpose::ClientAuth),
            ca: ca.der().to_vec().into(),
            ca_pem: ca.pem(),
        }
    }
}

/// The server's policy on client certificates, and whether the client has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientAuth {
    None,
    OptionalAbsent,
    OptionalPresent,
    Required,
}

pub const CLIENT_AUTHS: [ClientAuth; 4] = [
    ClientAuth::None,
    ClientAuth::OptionalAbsent,
    ClientAuth::OptionalPresent,
    ClientAuth::Required,
];

impl ClientAuth {
    pub fn is_presented(self) -> bool {
        matches!(self, Self::OptionalPresent | Self::Required)
    }
}

/// The protocol versions of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Versions {
    Tls12,
    Tls13,
    Both,
}

impl Versions {
    /// Each version alone.
    pub const EACH: [Self; 2] = [Self::Tls12, Self::Tls13];

    /// Returns whichever of `tls12` and `tls13` are enabled.
    pub fn choose<T>(self, tls12: T, tls13: T) -> Vec<T> {
        match self {
            Self::Tls12 => vec![tls12],
            Self::Tls13 => vec![tls13],
            Self::Both => vec![tls12, tls13],
        }
    }
}

pub fn server_name() -> ServerName<'static> {
    SERVER_NAME.try_into().unwrap()
}

/// Returns every pair of a value from `a` and a value from `b`. The second varies faster.
pub fn product<A: Clone, B>(
    a: impl IntoIterator<Item = A>,
    b: impl IntoIterator<Item = B, IntoIter: Clone>,
) -> impl Iterator<Item = (A, B)> {
    let b = b.into_iter();
    a.into_iter()
        .flat_map(move |a| b.clone().map(move |b| (a.clone(), b)))
}

/// Like [`product`], with three inputs.
pub fn product3<A: Clone, B: Clone, C>(
    a: impl IntoIterator<Item = A>,
    b: impl IntoIterator<Item = B, IntoIter: Clone>,
    c: impl IntoIterator<Item = C, IntoIter: Clone>,
) -> impl Iterator<Item = (A, B, C)> {
    product(product(a, b), c).map(|((a, b), c)| (a, b, c))
}
