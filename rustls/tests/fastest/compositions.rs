//! Mixtures of both libraries: one determines the AEADs, the other one the hash functions.

use harness::providers::leak;
use rustls::crypto::blocks::Choice;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

/// The libraries of the AEADs and of the hash functions: true means ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Composition {
    ring_aead: bool,
    ring_hash: bool,
}

pub(super) const COMPOSITIONS: [Composition; 4] = [
    Composition::new(false, false),
    Composition::new(false, true),
    Composition::new(true, false),
    Composition::new(true, true),
];

impl Composition {
    const fn new(ring_aead: bool, ring_hash: bool) -> Self {
        Self {
            ring_aead,
            ring_hash,
        }
    }

    /// Composes two suites with the same code point. The AEAD is a [`Choice`], as in the provider
    /// of the library.
    fn suite(
        self,
        aws_lc: &SupportedCipherSuite,
        ring: &SupportedCipherSuite,
    ) -> SupportedCipherSuite {
        let takes_ring: fn() -> bool = if self.ring_aead { || true } else { || false };
        let hash = if self.ring_hash { ring } else { aws_lc };
        let common = CipherSuiteCommon { ..*hash.common() };
        if let (Some(aws_lc), Some(ring)) = (aws_lc.tls13(), ring.tls13()) {
            let quic = Choice::new(aws_lc.quic.unwrap(), ring.quic.unwrap(), takes_ring);
            let suite = Tls13CipherSuite {
                common,
                hkdf_provider: hash.tls13().unwrap().hkdf_provider,
                aead_alg: leak(Choice::new(aws_lc.aead_alg, ring.aead_alg, takes_ring)),
                quic: Some(leak(quic)),
            };
            return leak(suite).into();
        }
        let (aws_lc, ring) = (aws_lc.tls12().unwrap(), ring.tls12().unwrap());
        SupportedCipherSuite::Tls12(leak(Tls12CipherSuite {
            common,
            prf_provider: hash.tls12().unwrap().prf_provider,
            aead_alg: leak(Choice::new(aws_lc.aead_alg, ring.aead_alg, takes_ring)),
            ..*aws_lc
        }))
    }
}

/// Returns the provider of `composition`. All its other parts are from aws-lc-rs.
pub(super) fn composition(composition: Composition) -> CryptoProvider {
    let ring = ring::default_provider().cipher_suites;
    let mut provider = aws_lc_rs::default_provider();
    for suite in &mut provider.cipher_suites {
        let of_ring = ring.iter().find(|it| it.suite() == suite.suite()).unwrap();
        *suite = composition.suite(suite, of_ring);
    }
    provider
}
