//! The values of labels that rustls does not list: names of versions, kinds of handshakes, suites,
//! groups and schemes.

use rustls::observer::{HandshakeFacts, SessionSource};
use rustls::{CipherSuite, HandshakeKind, NamedGroup, ProtocolVersion, SignatureScheme};

/// The name of a value that has none of the listed names: a provider's own suite, for example.
pub(crate) const OTHER: &str = "other";

/// The cipher suites of the built-in providers.
pub(crate) const SUITES: [CipherSuite; 9] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// The groups that metrics name. All others count as [`OTHER`].
pub(crate) const GROUPS: [NamedGroup; 15] = [
    NamedGroup::X25519MLKEM768,
    NamedGroup::secp256r1MLKEM768,
    NamedGroup::X25519,
    NamedGroup::secp256r1,
    NamedGroup::secp384r1,
    NamedGroup::secp521r1,
    NamedGroup::X448,
    NamedGroup::MLKEM512,
    NamedGroup::MLKEM768,
    NamedGroup::MLKEM1024,
    NamedGroup::FFDHE2048,
    NamedGroup::FFDHE3072,
    NamedGroup::FFDHE4096,
    NamedGroup::FFDHE6144,
    NamedGroup::FFDHE8192,
];

/// The signature schemes of TLS 1.2 and 1.3 that metrics name. All others count as [`OTHER`].
pub(crate) const SCHEMES: [SignatureScheme; 16] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::ED448,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA1,
    SignatureScheme::ECDSA_SHA1_Legacy,
    SignatureScheme::ML_DSA_44,
    SignatureScheme::ML_DSA_65,
    SignatureScheme::ML_DSA_87,
];

pub(crate) const KINDS: [&str; 5] = [
    "full",
    "full_with_hello_retry_request",
    "resumed_by_ticket",
    "resumed_by_storage",
    "unknown",
];

pub(crate) const VERSIONS: [&str; 3] = ["1.2", "1.3", "unknown"];

/// Returns the position of `value` in `list`, or the length of the list if it is not there.
pub(crate) fn place<T: PartialEq>(list: &[T], value: &T) -> usize {
    let found = list.iter().position(|listed| listed == value);
    found.unwrap_or(list.len())
}

/// Returns the suite's name in the IANA registry, or [`OTHER`].
pub(crate) fn suite(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS13_AES_128_CCM_SHA256 => "TLS_AES_128_CCM_SHA256",
        CipherSuite::TLS13_AES_128_CCM_8_SHA256 => "TLS_AES_128_CCM_8_SHA256",
        _ => suite.as_str().unwrap_or(OTHER),
    }
}

pub(crate) fn group(group: NamedGroup) -> &'static str {
    group.as_str().unwrap_or(OTHER)
}

pub(crate) fn scheme(scheme: SignatureScheme) -> &'static str {
    scheme.as_str().unwrap_or(OTHER)
}

pub(crate) fn version(facts: &HandshakeFacts<'_>) -> usize {
    match facts.version {
        Some(ProtocolVersion::TLSv1_2) => 0,
        Some(ProtocolVersion::TLSv1_3) => 1,
        _ => 2,
    }
}

pub(crate) fn kind(facts: &HandshakeFacts<'_>) -> usize {
    match (facts.kind, facts.resumed_from) {
        (Some(HandshakeKind::Full), _) => 0,
        (Some(HandshakeKind::FullWithHelloRetryRequest), _) => 1,
        (Some(HandshakeKind::Resumed), Some(SessionSource::Storage)) => 3,
        (Some(HandshakeKind::Resumed), _) => 2,
        (None, _) => 4,
    }
}
