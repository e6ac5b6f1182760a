//! Finite-field Diffie-Hellman (RFC 7919), as an external provider would add it, for both crates.
//!
//! No provider here has these groups. The arithmetic comes from a crate and is not constant-time:
//! for tests only.

use std::sync::Arc;

use num_bigint::BigUint;

use crate::peers::configs::Provider;

/// The choice of the private key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    Random,
    /// This key.
    Fixed(u64),
    /// A random one, but another public value is sent.
    Says(Public),
}

/// Public values that reveal a secret, and neighbouring ones that do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Public {
    Zero,
    One,
    Two,
    /// p - 2
    PMinusTwo,
    /// p - 1
    PMinusOne,
    P,
}

impl Public {
    /// The value for the prime `p`, padded to the length of `p`.
    pub fn value(self, p: &[u8]) -> Vec<u8> {
        let number = BigUint::from_bytes_be(p);
        let value = match self {
            Self::Zero => BigUint::from(0_u8),
            Self::One => BigUint::from(1_u8),
            Self::Two => BigUint::from(2_u8),
            Self::PMinusTwo => number - 2_u8,
            Self::PMinusOne => number - 1_u8,
            Self::P => number,
        };
        padded(&value, p.len())
    }
}

fn padded(number: &BigUint, len: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    [vec![0; len - bytes.len()], bytes].concat()
}

/// `base` to the power of `exponent`, modulo `p`, padded to the length of `p`.
pub fn power(base: &[u8], exponent: &BigUint, p: &[u8]) -> Vec<u8> {
    let modulus = BigUint::from_bytes_be(p);
    let result = BigUint::from_bytes_be(base).modpow(exponent, &modulus);
    padded(&result, p.len())
}

fn random_exponent() -> BigUint {
    // RFC 7919 §5.2: at least 225 bits for ffdhe2048
    let mut bytes = [0; 40];
    let random = Provider::Ring.this().secure_random;
    random.fill(&mut bytes).unwrap();
    BigUint::from_bytes_be(&bytes)
}

macro_rules! ffdhe {
    ($module:ident, $tls:ident) => {
        /// Groups, suites and providers of one crate.
        pub mod $module {
            use $tls::crypto::{
                ActiveKeyExchange, CryptoProvider, KeyExchangeAlgorithm, SharedSecret,
                SupportedKxGroup,
            };
            use $tls::ffdhe_groups::FfdheGroup;
            use $tls::{
                CipherSuite, CipherSuiteCommon, Error, NamedGroup, PeerMisbehaved,
                SupportedCipherSuite, Tls12CipherSuite,
            };

            use super::{Arc, BigUint, Key, power, random_exponent};

            /// The group `name` with the parameters `params`.
            #[derive(Debug)]
            pub struct Group {
                pub name: NamedGroup,
                pub params: FfdheGroup<'static>,
                pub key: Key,
            }

            impl Group {
                pub fn leak(
                    name: NamedGroup,
                    params: FfdheGroup<'static>,
                    key: Key,
                ) -> &'static dyn SupportedKxGroup {
                    Box::leak(Box::new(Self { name, params, key }))
                }
            }

            impl SupportedKxGroup for Group {
                fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
                    let private = match self.key {
                        Key::Fixed(key) => BigUint::from(key),
                        _ => random_exponent(),
                    };
                    let public = match self.key {
                        Key::Says(public) => public.value(self.params.p),
                        _ => power(self.params.g, &private, self.params.p),
                    };
                    Ok(Box::new(Exchange {
                        name: self.name,
                        params: self.params,
                        private,
                        public,
                    }))
                }

                fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
                    Some(self.params)
                }

                fn name(&self) -> NamedGroup {
                    self.name
                }
            }

            struct Exchange {
                name: NamedGroup,
                params: FfdheGroup<'static>,
                private: BigUint,
                public: Vec<u8>,
            }

            impl ActiveKeyExchange for Exchange {
                fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
                    // the minimum check of a provider: the handshake must enforce RFC 7919 §5.1,
                    // too
                    if peer.len() > self.params.p.len() {
                        return Err(PeerMisbehaved::InvalidKeyShare.into());
                    }
                    let secret = power(peer, &self.private, self.params.p);
                    Ok(SharedSecret::from(&secret[..]))
                }

                fn pub_key(&self) -> &[u8] {
                    &self.public
                }

                fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
                    Some(self.params)
                }

                fn group(&self) -> NamedGroup {
                    self.name
                }
            }

            /// TLS_DHE_RSA_WITH_AES_128_GCM_SHA256 (RFC 5288), built from the parts of `provider`'s
            /// ECDHE suite.
            pub fn suite(provider: &CryptoProvider) -> SupportedCipherSuite {
                let wanted = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
                let mut suites = provider.cipher_suites.iter();
                let ecdhe = suites.find(|suite| suite.suite() == wanted);
                let Some(SupportedCipherSuite::Tls12(ecdhe)) = ecdhe else {
                    panic!("the provider has no {wanted:?}");
                };
                SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
                    common: CipherSuiteCommon {
                        suite: CipherSuite::TLS_DHE_RSA_WITH_AES_128_GCM_SHA256,
                        hash_provider: ecdhe.common.hash_provider,
                        confidentiality_limit: ecdhe.common.confidentiality_limit,
                    },
                    kx: KeyExchangeAlgorithm::DHE,
                    sign: ecdhe.sign,
                    aead_alg: ecdhe.aead_alg,
                    prf_provider: ecdhe.prf_provider,
                })))
            }

            /// Returns `provider` with the suite in front of the others, and with `groups` only.
            /// Drops suites that need a curve if there is none.
            pub fn provider(
                mut provider: CryptoProvider,
                groups: Vec<&'static dyn SupportedKxGroup>,
            ) -> Arc<CryptoProvider> {
                let finite = suite(&provider);
                if groups.iter().all(|group| group.ffdhe_group().is_some()) {
                    let suites = &mut provider.cipher_suites;
                    suites.retain(|suite| matches!(suite, SupportedCipherSuite::Tls13(_)));
                }
                provider.cipher_suites.insert(0, finite);
                provider.kx_groups = groups;
                Arc::new(provider)
            }
        }
    };
}

ffdhe!(this, rustls);
ffdhe!(upstream, rustls_upstream);
