//! Cipher suites over a library's AEADs and hash functions: code points, limits, signature schemes.
//!
//! The AEAD and the hash function determine the suite. A pair without a TLS cipher suite does not
//! compile.

use core::marker::PhantomData;

use super::{
    AeadAlgorithm, BulkCipher, HashFunction, Hashing, KeyKind, PacketAlgorithm, QuicPackets,
    Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing,
};
use crate::crypto::cipher::Tls12AeadAlgorithm;
use crate::crypto::hash::HashAlgorithm;
use crate::crypto::quic;
use crate::enums::{CipherSuite, KeyExchangeAlgorithm, SignatureScheme};
use crate::suites::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

/// The cipher suite of TLS 1.3 (RFC 9846 §B.4) with the AEAD `A` and the hash function `H`.
pub struct Tls13Suite<A, H>(PhantomData<(A, H)>);

impl<A: AeadAlgorithm, H: HashFunction> Tls13Suite<A, H> {
    /// The suite for TLS over records only.
    pub const WITHOUT_QUIC: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(const { &Self::suite(None) });

    const fn suite(quic: Option<&'static dyn quic::Algorithm>) -> Tls13CipherSuite {
        Tls13CipherSuite {
            common: common::<A, H>(match (A::CIPHER, H::ALGORITHM) {
                (BulkCipher::Aes128Gcm, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS13_AES_128_GCM_SHA256
                }
                (BulkCipher::Aes256Gcm, HashAlgorithm::SHA384) => {
                    CipherSuite::TLS13_AES_256_GCM_SHA384
                }
                (BulkCipher::Chacha20Poly1305, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
                }
                _ => panic!("{}", NO_SUITE),
            }),
            hkdf_provider: H::HKDF,
            aead_alg: &Tls13Framing::<A>::NEW,
            quic,
        }
    }
}

impl<A: PacketAlgorithm, H: HashFunction> Tls13Suite<A, H> {
    /// The suite for TLS over records and for QUIC.
    pub const WITH_QUIC: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(const { &Self::suite(Some(&QuicPackets::<A>::NEW)) });
}

/// The cipher suites of TLS 1.2 with the AEAD `A` and the hash function `H`: AES-GCM (RFC 5289) and
/// ChaCha20-Poly1305 (RFC 7905), with an ephemeral elliptic-curve key exchange.
pub struct Tls12Suite<A, H>(PhantomData<(A, H)>);

impl<A: AeadAlgorithm, H: HashFunction> Tls12Suite<A, H> {
    /// The suite whose server signs with ECDSA or EdDSA.
    pub const ECDHE_ECDSA: SupportedCipherSuite = SupportedCipherSuite::Tls12(
        const {
            let suite = match (A::CIPHER, H::ALGORITHM) {
                (BulkCipher::Aes128Gcm, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                }
                (BulkCipher::Aes256Gcm, HashAlgorithm::SHA384) => {
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
                }
                (BulkCipher::Chacha20Poly1305, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
                }
                _ => panic!("{}", NO_SUITE),
            };
            &Self::suite(suite, ECDSA_SCHEMES)
        },
    );

    /// The suite whose server signs with RSA.
    pub const ECDHE_RSA: SupportedCipherSuite = SupportedCipherSuite::Tls12(
        const {
            let suite = match (A::CIPHER, H::ALGORITHM) {
                (BulkCipher::Aes128Gcm, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
                }
                (BulkCipher::Aes256Gcm, HashAlgorithm::SHA384) => {
                    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
                }
                (BulkCipher::Chacha20Poly1305, HashAlgorithm::SHA256) => {
                    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
                }
                _ => panic!("{}", NO_SUITE),
            };
            &Self::suite(suite, KeyKind::Rsa.schemes())
        },
    );

    const fn suite(suite: CipherSuite, sign: &'static [SignatureScheme]) -> Tls12CipherSuite {
        let aead_alg: &dyn Tls12AeadAlgorithm = match A::CIPHER {
            BulkCipher::Aes128Gcm | BulkCipher::Aes256Gcm => &Tls12GcmFraming::<A>::NEW,
            BulkCipher::Chacha20Poly1305 => &Tls12Chacha20Framing::<A>::NEW,
        };
        Tls12CipherSuite {
            common: common::<A, H>(suite),
            kx: KeyExchangeAlgorithm::ECDHE,
            sign,
            aead_alg,
            prf_provider: H::PRF,
        }
    }
}

const NO_SUITE: &str = "no cipher suite of TLS has this AEAD with this hash function";

const fn common<A: AeadAlgorithm, H: HashFunction>(suite: CipherSuite) -> CipherSuiteCommon {
    CipherSuiteCommon {
        suite,
        hash_provider: &Hashing::<H>::NEW,
        confidentiality_limit: match A::CIPHER {
            // RFC 9846 §5.5: up to 2^24.5 full-size records under one key
            BulkCipher::Aes128Gcm | BulkCipher::Aes256Gcm => 1 << 24,
            // RFC 9846 §5.5: sequence numbers run out before the AEAD wears out
            BulkCipher::Chacha20Poly1305 => u64::MAX,
        },
    }
}

/// RFC 8422 §5.10: EdDSA keys are used in the suites named after ECDSA.
const ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];
