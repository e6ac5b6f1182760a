//! Groups, suites and providers for finite-field Diffie-Hellman, for one crate.

use std::sync::Arc;

use num_bigint::BigUint;

use super::tls::crypto::{
    ActiveKeyExchange, CryptoProvider, KeyExchangeAlgorithm, SharedSecret, SupportedKxGroup,
};
use super::tls::ffdhe_groups::FfdheGroup;
use super::tls::{
    CipherSuite, CipherSuiteCommon, Error, NamedGroup, PeerMisbehaved, SupportedCipherSuite,
    Tls12CipherSuite,
};
use crate::providers::ffdhe::{Key, power, random_exponent};
use crate::providers::leak;

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
        leak(Self { name, params, key })
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
        // the least that a provider checks, because the handshake must enforce RFC 7919 §5.1 itself
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
    SupportedCipherSuite::Tls12(leak(Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: CipherSuite::TLS_DHE_RSA_WITH_AES_128_GCM_SHA256,
            hash_provider: ecdhe.common.hash_provider,
            confidentiality_limit: ecdhe.common.confidentiality_limit,
        },
        kx: KeyExchangeAlgorithm::DHE,
        sign: ecdhe.sign,
        aead_alg: ecdhe.aead_alg,
        prf_provider: ecdhe.prf_provider,
    }))
}

/// Returns `provider` with this suite before all others, and with only `groups`. Drops suites that
/// need a curve if there is none.
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
