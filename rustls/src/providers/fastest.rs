//! The provider made of the fastest parts of both libraries: feature `fastest`.
//!
//! No library is the fastest everywhere. This provider takes each primitive from the one that has
//! served bulk data and handshakes best in measurements. For AES-GCM, that depends on the processor
//! where the program runs:
//!
//! | primitive | library | `bench primitives` |
//! |---|---|---|
//! | AES-GCM | aws-lc-rs; ring on x86-64 with VAES but without AVX-512 | `seal`, `open` with AES |
//! | ChaCha20-Poly1305 | ring | `seal`, `open` with ChaCha20 |
//! | SHA-256, with HMAC, HKDF and the PRF | aws-lc-rs | SHA-256, HMAC-SHA-256 |
//! | SHA-384, likewise | ring | SHA-384, HMAC-SHA-384 |
//! | randomness, also for tickets | ring | random |
//! | key exchange, signatures, HPKE, encryption of tickets | aws-lc-rs | the others |
//!
//! Processors with VAES but without AVX-512 are AMD's Zen 3 and Intel's client processors since
//! Alder Lake. aws-lc has no VAES code for them, and ring is almost twice as fast. On Windows and
//! Apple systems, aws-lc does not use AVX-512, so all processors with VAES use ring. With AVX-512,
//! aws-lc-rs is 1.4 times as fast for records of 16 KiB and encrypts without a copy, although ring
//! is faster up to about 1 KiB. Other processors have not been measured; on aarch64, an emulator
//! ran the tests.
//!
//! For ChaCha20-Poly1305, the two libraries differ by at most 5 %, but ring creates a key faster.
//! Handshakes are faster with SHA-256 from aws-lc-rs, and with SHA-384 from ring (`bench
//! handshake-ticket`).
//!
//! The choice depends on the processor's features and the operating system, so a program makes the
//! same choice on all machines of a kind. `Debug` of the provider prints it. Without `std`, the
//! processor is unknown, and AES-GCM comes from aws-lc-rs.
//!
//! All items have the same names as in [`aws_lc_rs`](mod@crate::crypto::aws_lc_rs), and all except
//! `Ticketer` have the same types. Sessions and tickets created with one provider can be resumed
//! with another.
//!
//! With feature `fips`, this is [`aws_lc_rs`](mod@crate::crypto::aws_lc_rs) and nothing else.

use core::fmt;

use rustls_core::crypto::{GetRandomFailed, SecureRandom};
use rustls_core::provider::CryptoProvider;
use rustls_core::suites::SupportedCipherSuite;
pub use rustls_provider_aws_lc::{
    ALL_KX_GROUPS, DEFAULT_KX_GROUPS, SUPPORTED_SIG_ALGS, hpke, kx_group, sign,
};

use super::aws_lc_rs;

rustls_core::provider_ticketer!(
    rustls_provider_aws_lc::ticket_aead,
    rustls_provider_aws_lc::TICKET_HKDF,
    &Random
);

/// Returns a provider with [`DEFAULT_CIPHER_SUITES`], [`DEFAULT_KX_GROUPS`] and
/// [`SUPPORTED_SIG_ALGS`]. In a FIPS build of aws-lc-rs, returns the provider of aws-lc-rs.
pub fn default_provider() -> CryptoProvider {
    if rustls_provider_aws_lc::IS_FIPS_BUILD {
        // another package enabled FIPS, without this package's feature `fips`
        return aws_lc_rs::default_provider();
    }
    CryptoProvider {
        cipher_suites: DEFAULT_CIPHER_SUITES.to_vec(),
        secure_random: &Random,
        ..aws_lc_rs::default_provider()
    }
}

/// The processor features that determine which library AES-GCM comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Processor {
    /// x86-64 with VAES, VPCLMULQDQ and AVX2, which ring's fastest AES-GCM needs.
    vaes: bool,
    /// x86-64 with AVX-512 F, BW, DQ and VL, which aws-lc's fastest AES-GCM needs in addition to
    /// VAES.
    avx512: bool,
}

/// False on Windows and Apple systems, where aws-lc has no AVX-512 code for AES-GCM.
const AWS_LC_USES_AVX512: bool = cfg!(not(any(windows, target_vendor = "apple")));

impl Processor {
    /// Detects the features of the processor that runs this program. Returns none without `std`, or
    /// on architectures other than x86-64.
    fn current() -> Self {
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        return Self {
            vaes: std::is_x86_feature_detected!("vaes")
                && std::is_x86_feature_detected!("vpclmulqdq")
                && std::is_x86_feature_detected!("avx2"),
            avx512: std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl"),
        };
        #[cfg(not(all(feature = "std", target_arch = "x86_64")))]
        Self::default()
    }

    fn ring_has_faster_aes_gcm(self) -> bool {
        self.vaes && !(self.avx512 && AWS_LC_USES_AVX512)
    }
}

fn ring_has_faster_aes_gcm() -> bool {
    Processor::current().ring_has_faster_aes_gcm()
}

/// Randomness from ring, or from aws-lc-rs in a FIPS build. In other builds, `Debug` prints the
/// library of each primitive.
struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        if rustls_provider_aws_lc::IS_FIPS_BUILD {
            return rustls_provider_aws_lc::Random.fill(buf);
        }
        rustls_provider_ring::Random.fill(buf)
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aes_gcm = if ring_has_faster_aes_gcm() {
            "ring"
        } else {
            "aws-lc-rs"
        };
        f.debug_struct("Fastest")
            .field("aes_gcm", &format_args!("{aes_gcm}"))
            .field("chacha20_poly1305", &format_args!("ring"))
            .field("sha256", &format_args!("aws-lc-rs"))
            .field("sha384", &format_args!("ring"))
            .field("random", &format_args!("ring"))
            .field("others", &format_args!("aws-lc-rs"))
            .finish()
    }
}

/// The default cipher suites: [`ALL_CIPHER_SUITES`].
pub static DEFAULT_CIPHER_SUITES: &[SupportedCipherSuite] = ALL_CIPHER_SUITES;

/// All cipher suites, most preferred first.
pub static ALL_CIPHER_SUITES: &[SupportedCipherSuite] = cipher_suite::ALL;

/// The cipher suites, one static for each.
pub mod cipher_suite {
    #[cfg(feature = "tls12")]
    pub(super) use super::suites::ALL;
    #[cfg(not(feature = "tls12"))]
    pub(super) use super::suites::tls13_only::ALL;
    #[cfg(not(feature = "tls12"))]
    pub use super::suites::tls13_only::*;
    #[cfg(feature = "tls12")]
    #[allow(unreachable_pub)]
    pub use super::suites::*;
}

mod suites {
    //! The suites, made of parts from both libraries.

    use rustls_core::blocks::Choice;
    use rustls_core::crypto::cipher::{Tls12AeadAlgorithm, Tls13AeadAlgorithm};
    use rustls_core::crypto::quic;
    use rustls_core::suites::{
        CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
    };
    use rustls_provider_aws_lc::cipher_suite as aws_lc;
    use rustls_provider_ring::cipher_suite as ring;

    use super::ring_has_faster_aes_gcm;

    /// Suite `$name` with the hash function from library `$hash` and the AEAD from library `$aead`.
    /// If `$aead` is `choice`, AES-GCM comes from the faster library.
    macro_rules! suite {
        (tls13, $name:ident, $hash:ident, $aead:ident) => {
            SupportedCipherSuite::Tls13(
                const {
                    const HASH: &Tls13CipherSuite = $hash::$name.tls13().unwrap();
                    const AEAD: &dyn Tls13AeadAlgorithm = aead!($aead, tls13, $name, aead_alg);
                    const QUIC: &dyn quic::Algorithm = aead!($aead, tls13, $name, quic.unwrap());
                    &Tls13CipherSuite {
                        common: CipherSuiteCommon { ..HASH.common },
                        hkdf_provider: HASH.hkdf_provider,
                        aead_alg: AEAD,
                        quic: Some(QUIC),
                    }
                },
            )
        };
        (tls12, $name:ident, $hash:ident, $aead:ident) => {
            SupportedCipherSuite::Tls12(
                const {
                    const HASH: &Tls12CipherSuite = $hash::$name.tls12().unwrap();
                    const AEAD: &dyn Tls12AeadAlgorithm = aead!($aead, tls12, $name, aead_alg);
                    &Tls12CipherSuite {
                        common: CipherSuiteCommon { ..HASH.common },
                        aead_alg: AEAD,
                        ..*HASH
                    }
                },
            )
        };
    }

    /// The AEAD in field `$field` of suite `$name`: from one library, or, with `choice`, from the
    /// faster one.
    macro_rules! aead {
        (choice, $version:ident, $name:ident, $($field:tt)+) => {
            &Choice::new(
                aws_lc::$name.$version().unwrap().$($field)+,
                ring::$name.$version().unwrap().$($field)+,
                ring_has_faster_aes_gcm,
            )
        };
        ($library:ident, $version:ident, $name:ident, $($field:tt)+) => {
            $library::$name.$version().unwrap().$($field)+
        };
    }

    rustls_core::cipher_suites! {
        tls13 {
            /// TLS_AES_256_GCM_SHA384 (0x1302).
            TLS13_AES_256_GCM_SHA384 = suite!(tls13, TLS13_AES_256_GCM_SHA384, ring, choice);

            /// TLS_AES_128_GCM_SHA256 (0x1301).
            TLS13_AES_128_GCM_SHA256 = suite!(tls13, TLS13_AES_128_GCM_SHA256, aws_lc, choice);

            /// TLS_CHACHA20_POLY1305_SHA256 (0x1303).
            TLS13_CHACHA20_POLY1305_SHA256 =
                suite!(tls13, TLS13_CHACHA20_POLY1305_SHA256, aws_lc, ring);
        }

        tls12 {
            /// TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 (0xC02C).
            TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 =
                suite!(tls12, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, ring, choice);

            /// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (0xC02B).
            TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 =
                suite!(tls12, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, aws_lc, choice);

            /// TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA9).
            TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 =
                suite!(tls12, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, aws_lc, ring);

            /// TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 (0xC030).
            TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 =
                suite!(tls12, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, ring, choice);

            /// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 (0xC02F).
            TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 =
                suite!(tls12, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, aws_lc, choice);

            /// TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 (0xCCA8).
            TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 =
                suite!(tls12, TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, aws_lc, ring);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    #[cfg(all(feature = "std", target_os = "linux"))]
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn ring_encrypts_on_processors_with_vaes_but_without_avx512() {
        for (vaes, avx512, expected) in [
            (false, false, false), // AMD until Zen 2, Intel until Comet Lake; other architectures
            (true, false, true),   // Zen 3, Alder Lake
            (false, true, false),  // Skylake-X
            // Zen 4, Ice Lake
            (true, true, cfg!(any(windows, target_vendor = "apple"))),
        ] {
            let processor = Processor { vaes, avx512 };
            assert_eq!(
                processor.ring_has_faster_aes_gcm(),
                expected,
                "{processor:?}"
            );
        }
    }

    /// The kernel's list is independent of the detection by the standard library.
    #[cfg(all(feature = "std", target_os = "linux"))]
    #[test]
    fn detected_processor_features_match_the_kernels_list() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = info.lines().find(|line| line.starts_with("flags"));
        let flags: Vec<_> = flags.unwrap_or_default().split(' ').collect();
        // an emulator shows the list of its host
        let has = |names: &[&str]| {
            cfg!(target_arch = "x86_64") && names.iter().all(|name| flags.contains(name))
        };
        let expected = Processor {
            vaes: has(&["vaes", "vpclmulqdq", "avx2"]),
            avx512: has(&["avx512f", "avx512bw", "avx512dq", "avx512vl"]),
        };
        assert_eq!(Processor::current(), expected);
    }

    #[test]
    fn debug_names_the_library_of_each_primitive() {
        let aes_gcm = if ring_has_faster_aes_gcm() {
            "ring"
        } else {
            "aws-lc-rs"
        };
        let expected = format!("Fastest {{ aes_gcm: {aes_gcm}, chacha20_poly1305: ring, ");
        let text = format!("{:?}", default_provider());
        assert!(text.contains(&expected), "{text}");
    }
}
