//! Cipher suites: their cryptography, and the decisions that depend on it.
//!
//! Also contains the secrets that a connection exports on request ([`ExtractedSecrets`]), for
//! example for kernel TLS.

use alloc::vec::Vec;
use core::fmt;

pub use crate::crypto::cipher::ConnectionTrafficSecrets;
use crate::crypto::cipher::{Tls12AeadAlgorithm, Tls13AeadAlgorithm};
use crate::crypto::hash::Hash;
use crate::crypto::quic;
use crate::crypto::tls12::Prf;
use crate::crypto::tls13::Hkdf;
use crate::enums::{CipherSuite, KeyExchangeAlgorithm, SignatureAlgorithm, SignatureScheme};
use crate::versions::{SupportedProtocolVersion, TLS12, TLS13};

/// A cipher suite of either protocol version.
///
/// Two suites are equal if their code points are equal.
#[derive(Clone, Copy, PartialEq)]
pub enum SupportedCipherSuite {
    /// A TLS 1.2 suite.
    Tls12(&'static Tls12CipherSuite),

    /// A TLS 1.3 suite.
    Tls13(&'static Tls13CipherSuite),
}

impl SupportedCipherSuite {
    /// Returns the code point.
    pub fn suite(&self) -> CipherSuite {
        self.common().suite
    }

    /// Returns the protocol version of the suite. No suite belongs to both versions.
    pub fn version(&self) -> &'static SupportedProtocolVersion {
        match self {
            Self::Tls12(_) => &TLS12,
            Self::Tls13(_) => &TLS13,
        }
    }

    /// Returns the suite if it is a TLS 1.3 suite.
    pub const fn tls13(&self) -> Option<&'static Tls13CipherSuite> {
        match self {
            Self::Tls12(_) => None,
            Self::Tls13(suite) => Some(suite),
        }
    }

    /// Returns the suite if it is a TLS 1.2 suite.
    pub const fn tls12(&self) -> Option<&'static Tls12CipherSuite> {
        match self {
            Self::Tls12(suite) => Some(suite),
            Self::Tls13(_) => None,
        }
    }

    /// Returns the properties that TLS 1.2 and TLS 1.3 suites have in common.
    pub const fn common(&self) -> &'static CipherSuiteCommon {
        match self {
            Self::Tls12(suite) => &suite.common,
            Self::Tls13(suite) => &suite.common,
        }
    }

    /// True if a server whose key is of kind `algorithm` can use this suite.
    ///
    /// TLS 1.3 suites do not determine signatures, so this is true for all of them.
    pub fn usable_for_signature_algorithm(&self, algorithm: SignatureAlgorithm) -> bool {
        match self {
            Self::Tls12(suite) => suite
                .sign
                .iter()
                .any(|scheme| scheme.algorithm() == algorithm),
            Self::Tls13(_) => true,
        }
    }

    /// True if all cryptography of this suite is FIPS-approved.
    pub fn fips(&self) -> bool {
        match self {
            Self::Tls12(suite) => suite.fips(),
            Self::Tls13(suite) => suite.fips(),
        }
    }
}

impl fmt::Debug for SupportedCipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.suite().fmt(f)
    }
}

impl From<&'static Tls12CipherSuite> for SupportedCipherSuite {
    fn from(suite: &'static Tls12CipherSuite) -> Self {
        Self::Tls12(suite)
    }
}

impl From<&'static Tls13CipherSuite> for SupportedCipherSuite {
    fn from(suite: &'static Tls13CipherSuite) -> Self {
        Self::Tls13(suite)
    }
}

/// The properties that TLS 1.2 and TLS 1.3 suites have in common.
pub struct CipherSuiteCommon {
    /// The code point.
    pub suite: CipherSuite,

    /// The hash function of the suite, used for the transcript.
    pub hash_provider: &'static dyn Hash,

    /// The number of records, of any length, that may be encrypted under one key (RFC 9846 §5.5).
    ///
    /// A TLS 1.3 connection updates its keys before it reaches the limit, and a TLS 1.2 connection
    /// closes. In suites made of [`blocks`](crate::blocks), the limit is 2²⁴ for AES-GCM, and
    /// `u64::MAX` for ChaCha20-Poly1305, which needs no limit.
    pub confidentiality_limit: u64,
}

impl CipherSuiteCommon {
    /// True if the hash function is FIPS-approved.
    pub fn fips(&self) -> bool {
        self.hash_provider.fips()
    }

    /// Prints this as a suite of the type `name`.
    fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("suite", &self.suite).finish()
    }
}

/// A TLS 1.2 cipher suite.
pub struct Tls12CipherSuite {
    /// The properties that TLS 1.2 and TLS 1.3 suites have in common.
    pub common: CipherSuiteCommon,

    /// The key exchange.
    pub kx: KeyExchangeAlgorithm,

    /// The schemes for signing the server's key exchange, most preferred first.
    pub sign: &'static [SignatureScheme],

    /// Creates encrypters and decrypters.
    pub aead_alg: &'static dyn Tls12AeadAlgorithm,

    /// Derives keys.
    pub prf_provider: &'static dyn Prf,
}

impl Tls12CipherSuite {
    /// Returns the schemes in [`sign`](Self::sign), in order, that are among those `offered`.
    pub fn resolve_sig_schemes(&self, offered: &[SignatureScheme]) -> Vec<SignatureScheme> {
        let mut schemes = self.sign.to_vec();
        schemes.retain(|scheme| offered.contains(scheme));
        schemes
    }

    /// True if all cryptography of this suite is FIPS-approved.
    pub fn fips(&self) -> bool {
        self.common.fips() && self.aead_alg.fips() && self.prf_provider.fips()
    }
}

impl PartialEq for Tls12CipherSuite {
    fn eq(&self, other: &Self) -> bool {
        self.common.suite.eq(&other.common.suite)
    }
}

impl fmt::Debug for Tls12CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.common.fmt_as("Tls12CipherSuite", f)
    }
}

/// A TLS 1.3 cipher suite.
pub struct Tls13CipherSuite {
    /// The properties that TLS 1.2 and TLS 1.3 suites have in common.
    pub common: CipherSuiteCommon,

    /// Derives keys.
    pub hkdf_provider: &'static dyn Hkdf,

    /// Creates encrypters and decrypters.
    pub aead_alg: &'static dyn Tls13AeadAlgorithm,

    /// Creates QUIC packet and header protection keys; `None` if QUIC cannot use the suite.
    pub quic: Option<&'static dyn quic::Algorithm>,
}

impl Tls13CipherSuite {
    /// Returns `previous` if a session created with that suite can be resumed with this suite.
    ///
    /// That requires the same hash function; the AEADs may differ (RFC 9846 §4.7.1).
    pub fn can_resume_from(&self, previous: &'static Self) -> Option<&'static Self> {
        let hash = |suite: &Self| suite.common.hash_provider.algorithm();
        (hash(self) == hash(previous)).then_some(previous)
    }

    /// True if all cryptography of this suite is FIPS-approved, including its QUIC part.
    pub fn fips(&self) -> bool {
        self.common.fips()
            && self.hkdf_provider.fips()
            && self.aead_alg.fips()
            && self.quic.is_none_or(|quic| quic.fips())
    }
}

impl PartialEq for Tls13CipherSuite {
    fn eq(&self, other: &Self) -> bool {
        self.common.suite.eq(&other.common.suite)
    }
}

impl fmt::Debug for Tls13CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.common.fmt_as("Tls13CipherSuite", f)
    }
}

/// The key material for both directions of a connection, for an external record layer.
///
/// The numbers are the sequence numbers of the next records. A sequence number that is used twice
/// breaks the key, so the original connection must no longer be used.
pub struct ExtractedSecrets {
    /// The next sequence number and the secrets for sending.
    pub tx: (u64, ConnectionTrafficSecrets),

    /// The next sequence number and the secrets for receiving.
    pub rx: (u64, ConnectionTrafficSecrets),
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::crypto::hash::HashAlgorithm;
    use crate::crypto::toy::{TLS12_SUITE, TLS13_SUITE, ToyHash, tls13_suite};

    #[test]
    fn suites_of_both_versions_report_their_properties() {
        let tls12 = SupportedCipherSuite::from(&TLS12_SUITE);
        let tls13 = SupportedCipherSuite::from(&TLS13_SUITE);
        assert_eq!((tls12.version(), tls13.version()), (&TLS12, &TLS13));
        assert_eq!((tls12.tls12(), tls12.tls13()), (Some(&TLS12_SUITE), None));
        assert_eq!((tls13.tls12(), tls13.tls13()), (None, Some(&TLS13_SUITE)));
        assert_eq!(tls12.suite(), TLS12_SUITE.common.suite);
        assert_eq!(tls13.common().suite, tls13.suite());
        assert!(tls12 == tls12 && tls12 != tls13);
        assert!(!tls12.fips() && !tls13.fips());
        assert_eq!(
            format!("{tls12:?} {:?}", tls12.tls12()),
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 \
             Some(Tls12CipherSuite { suite: TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 })"
        );
        assert_eq!(
            format!("{tls13:?} {:?}", tls13.tls13()),
            "TLS13_AES_256_GCM_SHA384 \
             Some(Tls13CipherSuite { suite: TLS13_AES_256_GCM_SHA384 })"
        );
    }

    #[test]
    fn a_tls12_suite_signs_with_its_own_schemes_in_order() {
        assert_eq!(
            TLS12_SUITE.resolve_sig_schemes(&[
                SignatureScheme::ECDSA_NISTP256_SHA256,
                SignatureScheme::RSA_PSS_SHA256,
                SignatureScheme::ED25519,
            ]),
            [
                SignatureScheme::ED25519,
                SignatureScheme::ECDSA_NISTP256_SHA256
            ]
        );
        assert!(TLS12_SUITE.resolve_sig_schemes(&[]).is_empty());

        let tls12 = SupportedCipherSuite::from(&TLS12_SUITE);
        assert!(tls12.usable_for_signature_algorithm(SignatureAlgorithm::ECDSA));
        assert!(tls12.usable_for_signature_algorithm(SignatureAlgorithm::ED25519));
        assert!(!tls12.usable_for_signature_algorithm(SignatureAlgorithm::RSA));
        let tls13 = SupportedCipherSuite::from(&TLS13_SUITE);
        assert!(tls13.usable_for_signature_algorithm(SignatureAlgorithm::RSA));
    }

    #[test]
    fn a_session_resumes_only_with_a_suite_of_the_same_hash() {
        static SHA384: Tls13CipherSuite = tls13_suite(
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            &ToyHash(HashAlgorithm::SHA384),
            None,
        );
        static SHA256: Tls13CipherSuite = tls13_suite(
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            &ToyHash(HashAlgorithm::SHA256),
            None,
        );
        assert_eq!(TLS13_SUITE.can_resume_from(&SHA384), Some(&SHA384));
        assert_eq!(TLS13_SUITE.can_resume_from(&SHA256), None);
        // suites are compared by code point
        assert!(SHA384 == SHA256 && SHA384 != TLS13_SUITE);
    }
}
