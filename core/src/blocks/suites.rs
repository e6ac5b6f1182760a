//! Cipher suites over a library's AEADs and hash functions: code points, limits, signature schemes.
//!
//! The AEAD determines the suites and their hash function, by the table in
//! [`bulk_cipher`](crate::crypto::bulk_cipher). An AEAD with another hash function does not
//! compile.

use core::marker::PhantomData;

use super::{
    AeadAlgorithm, HashFunction, Hashing, KeyKind, PacketAlgorithm, QuicPackets,
    Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing,
};
use crate::crypto::bulk_cipher::{Tls12Nonce, Tls12Properties};
use crate::crypto::cipher::Tls12AeadAlgorithm;
use crate::crypto::hash::HashAlgorithm;
use crate::crypto::quic;
use crate::enums::{CipherSuite, KeyExchangeAlgorithm, SignatureScheme};
use crate::suites::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

/// The TLS 1.3 cipher suite (RFC 9846 §B.4) with the AEAD `A` and the hash function `H`.
pub struct Tls13Suite<A, H>(PhantomData<(A, H)>);

impl<A: AeadAlgorithm, H: HashFunction> Tls13Suite<A, H> {
    /// The suite for TLS over records only.
    pub const WITHOUT_QUIC: SupportedCipherSuite =
        SupportedCipherSuite::Tls13(const { &Self::suite(None) });

    const fn suite(quic: Option<&'static dyn quic::Algorithm>) -> Tls13CipherSuite {
        Tls13CipherSuite {
            common: common::<A, H>(A::CIPHER.properties().tls13),
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

/// The TLS 1.2 cipher suites with the AEAD `A` and the hash function `H`: AES-GCM (RFC 5289) and
/// ChaCha20-Poly1305 (RFC 7905), with an ephemeral elliptic-curve key exchange.
pub struct Tls12Suite<A, H>(PhantomData<(A, H)>);

impl<A: AeadAlgorithm, H: HashFunction> Tls12Suite<A, H> {
    /// The suite for servers that sign with ECDSA or Ed25519.
    pub const ECDHE_ECDSA: SupportedCipherSuite = SupportedCipherSuite::Tls12(
        const { &Self::suite(Self::PROPERTIES.ecdhe_ecdsa, ECDSA_SCHEMES) },
    );

    /// The suite for servers that sign with RSA.
    pub const ECDHE_RSA: SupportedCipherSuite = SupportedCipherSuite::Tls12(
        const { &Self::suite(Self::PROPERTIES.ecdhe_rsa, KeyKind::Rsa.schemes()) },
    );

    const PROPERTIES: Tls12Properties = A::CIPHER.properties().tls12.expect(NO_SUITE);

    const fn suite(suite: CipherSuite, sign: &'static [SignatureScheme]) -> Tls12CipherSuite {
        let aead_alg: &dyn Tls12AeadAlgorithm = match Self::PROPERTIES.nonce {
            Tls12Nonce::PartlyExplicit => &Tls12GcmFraming::<A>::NEW,
            Tls12Nonce::Implicit => &Tls12Chacha20Framing::<A>::NEW,
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
    let cipher = A::CIPHER.properties();
    match (H::ALGORITHM, cipher.hash) {
        (HashAlgorithm::SHA256, HashAlgorithm::SHA256)
        | (HashAlgorithm::SHA384, HashAlgorithm::SHA384) => {}
        _ => panic!("{}", NO_SUITE),
    }
    CipherSuiteCommon {
        suite,
        hash_provider: &Hashing::<H>::NEW,
        confidentiality_limit: cipher.limits.records,
    }
}

/// RFC 8422 §5.3: EdDSA keys are used in the suites named after ECDSA.
const ECDSA_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ED25519,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP256_SHA256,
];

/// Defines a provider's cipher suites from one table, most preferred first.
///
/// Each row has a name and a constant of [`Tls13Suite`](crate::blocks::Tls13Suite) or
/// [`Tls12Suite`](crate::blocks::Tls12Suite), and becomes a public static. A row that ends with
/// `default if CONDITION` is a default only if `cfg(CONDITION)` holds.
///
/// Also defines the lists `ALL` and `DEFAULT`, and the module `tls13_only` with the rows and lists
/// for TLS 1.3. A program without TLS 1.2 refers only to that module, so the linker drops the rest.
#[macro_export]
macro_rules! cipher_suites {
    (
        tls13 { $($(#[$doc13:meta])* $name13:ident = $suite13:expr
            $(, default if $default13:meta)?;)+ }
        tls12 { $($(#[$doc12:meta])* $name12:ident = $suite12:expr
            $(, default if $default12:meta)?;)* }
    ) => {
        $($(#[$doc13])* pub static $name13: $crate::suites::SupportedCipherSuite = $suite13;)+
        $($(#[$doc12])* pub static $name12: $crate::suites::SupportedCipherSuite = $suite12;)*

        pub(crate) static ALL: &[$crate::suites::SupportedCipherSuite] =
            &[$($name13,)+ $($name12,)*];

        pub(crate) static DEFAULT: &[$crate::suites::SupportedCipherSuite] = &[
            $($(#[cfg($default13)])? $name13,)+
            $($(#[cfg($default12)])? $name12,)*
        ];

        pub(crate) mod tls13_only {
            pub use super::{$($name13),+};

            pub(crate) static ALL: &[$crate::suites::SupportedCipherSuite] = &[$($name13),+];

            pub(crate) static DEFAULT: &[$crate::suites::SupportedCipherSuite] =
                &[$($(#[cfg($default13)])? $name13,)+];
        }
    };
}
