//! Tests of chains that are verified in the first handshake only. The signatures that each side
//! verifies are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::operations::ends::Api;
use harness::operations::kinds::World;
use harness::operations::schedules::pump;
use harness::operations::{Plan, Slow, When};
use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider, SERVER_NAME, Versions, product, product3};
use harness::peers::pki;
use harness::peers::roles::{ROLES, Role};
use harness::providers::leak;
use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, PrivateKeyDer,
    SignatureVerificationAlgorithm,
};
use rcgen::{CustomExtension, ExtendedKeyUsagePurpose};
use rustls::certificates::VerifiedChains;
use rustls::client::Resumption;
use rustls::crypto::hash::HashAlgorithm;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, Error, HandshakeKind, ServerConfig, SupportedCipherSuite,
};

use crate::peer_chains::kit::{Authority, connect, with_tickets};

/// The number of signatures on a chain of three certificates.
const CHAIN: usize = 3;

/// The number of signatures verified.
#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl Count {
    fn new() -> &'static Self {
        leak(Self::default())
    }

    /// Returns the number since the last call.
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

type Algorithm = &'static dyn SignatureVerificationAlgorithm;

/// An algorithm that counts its calls.
#[derive(Debug)]
struct Counting(Algorithm, &'static Count);

impl SignatureVerificationAlgorithm for Counting {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.1.0.fetch_add(1, Ordering::SeqCst);
        self.0.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }
}

fn counting(provider: Provider, count: &'static Count) -> CryptoProvider {
    let mut provider = provider.this();
    let algorithms = provider.signature_verification_algorithms;
    let all = |of: &[Algorithm]| -> &'static [Algorithm] {
        let counting = of.iter().map(|it| leak(Counting(*it, count)) as Algorithm);
        Vec::leak(counting.collect())
    };
    let mapping = algorithms.mapping.iter();
    provider.signature_verification_algorithms = WebPkiSupportedAlgorithms {
        all: all(algorithms.all),
        mapping: Vec::leak(mapping.map(|(scheme, of)| (*scheme, all(of))).collect()),
    };
    provider
}

/// Both sides, and the number of signatures that each verifies.
struct Sides {
    client: ClientConfig,
    server: ServerConfig,
    counts: [&'static Count; 2],
}

impl Sides {
    fn new(provider: Provider, versions: Versions) -> Self {
        Self::changed(provider, versions, |_| ())
    }

    /// Creates both sides with a changed provider.
    fn changed(
        provider: Provider,
        versions: Versions,
        change: impl Fn(&mut CryptoProvider),
    ) -> Self {
        let authority = Authority::get();
        let counts = [Count::new(), Count::new()];
        let [of_client, of_server] = counts.map(|count| {
            let mut provider = counting(provider, count);
            change(&mut provider);
            provider
        });
        Self {
            client: authority.client_with(of_client, versions, authority.client_chain(0)),
            server: authority.server_with(of_server, versions),
            counts,
        }
    }

    /// Returns sides without sessions.
    fn all() -> impl Iterator<Item = Self> {
        product(PROVIDERS, Versions::EACH)
            .map(|(provider, versions)| Self::new(provider, versions).without_sessions())
    }

    /// Returns sides with stored sessions, and others with tickets.
    fn with_sessions() -> impl Iterator<Item = Self> {
        let all = product3(PROVIDERS, Versions::EACH, [false, true]);
        all.map(|(provider, versions, is_sealed)| {
            let mut sides = Self::new(provider, versions);
            if is_sealed {
                sides.server = with_tickets(sides.server, provider);
            }
            sides
        })
    }

    fn without_sessions(mut self) -> Self {
        self.client.resumption = Resumption::disabled();
        self
    }

    /// Runs one handshake. Returns its kind, and the numbers of signatures verified by client and
    /// server.
    fn connect(&self) -> Result<(HandshakeKind, [usize; 2]), Error> {
        let (client, server) = (Arc::new(self.client.clone()), Arc::new(self.server.clone()));
        let _ = self.counts.map(Count::take);
        let (client, _) = connect(&client, &server)?;
        let kind = client.handshake_kind().unwrap();
        Ok((kind, self.counts.map(Count::take)))
    }

    /// Runs a handshake that fails. Returns the error, and the numbers of signatures verified by
    /// client and server.
    fn fail(&self) -> (Error, [usize; 2]) {
        let error = self.connect().unwrap_err();
        (error, self.counts.map(Count::take))
    }
}

/// Returns the result of a full handshake in which each side verifies this number of signatures.
fn full(verified: usize) -> (HandshakeKind, [usize; 2]) {
    (HandshakeKind::Full, [verified; 2])
}

/// A verifier's rules need some hash of the provider, but not SHA-256.
#[test]
fn a_chain_is_verified_once_without_sha256() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let without = |algorithm| {
            let change = move |provider: &mut CryptoProvider| {
                let suites = &mut provider.cipher_suites;
                suites.retain(|suite| suite_hash(suite) != algorithm);
            };
            Sides::changed(provider, versions, change).without_sessions()
        };
        let mut by_sha384 = without(HashAlgorithm::SHA256);
        assert_eq!(by_sha384.connect().unwrap(), full(CHAIN + 1));
        assert_eq!(by_sha384.connect().unwrap(), full(1));

        // rules hashed with another function are different, even in the same map
        let by_sha256 = without(HashAlgorithm::SHA384);
        by_sha384.client.verified_chains = by_sha256.client.verified_chains.clone();
        by_sha384.server.verified_chains = by_sha256.server.verified_chains.clone();
        for sides in [&by_sha256, &by_sha384] {
            assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
            assert_eq!(sides.connect().unwrap(), full(1));
        }
    }
}

fn suite_hash(suite: &SupportedCipherSuite) -> HashAlgorithm {
    let common = match suite {
        SupportedCipherSuite::Tls13(suite) => &suite.common,
        SupportedCipherSuite::Tls12(suite) => &suite.common,
    };
    common.hash_provider.algorithm()
}

#[test]
fn full_handshakes_verify_a_chain_once() {
    for sides in Sides::all() {
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        for _ in 0..3 {
            assert_eq!(sides.connect().unwrap(), full(1));
        }
        for chains in [&sides.client.verified_chains, &sides.server.verified_chains] {
            let stats = chains.stats();
            assert_eq!((stats.entries, stats.hits, stats.misses), (1, 3, 1));
            chains.clear();
        }
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
    }
}

#[test]
fn chains_are_verified_each_time_if_the_map_is_disabled() {
    for mut sides in Sides::all() {
        sides.client.verified_chains = Arc::new(VerifiedChains::disabled());
        sides.server.verified_chains = sides.client.verified_chains.clone();
        for _ in 0..3 {
            assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        }
    }
}

#[test]
fn a_resumed_connection_verifies_no_chain() {
    for mut sides in Sides::with_sessions() {
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        let resumed = (HandshakeKind::Resumed, [0, 0]);
        for _ in 0..3 {
            assert_eq!(sides.connect().unwrap(), resumed);
        }
        // the session itself proves that the chain was accepted
        sides.server.verified_chains.clear();
        assert_eq!(sides.connect().unwrap(), resumed);
        sides.server.verified_chains = Arc::new(VerifiedChains::disabled());
        let verified = (HandshakeKind::Resumed, [0, CHAIN]);
        assert_eq!(sides.connect().unwrap(), verified);
    }
}

/// A server that has known a client for more than a day still resumes its new sessions without
/// verifying the chain.
#[test]
fn sessions_of_a_client_known_for_days_verify_no_chain() {
    const HOUR: i64 = 60 * 60;
    for mut sides in Sides::with_sessions() {
        let clock = Clock::now();
        sides.client.time_provider = clock.clone();
        sides.server.time_provider = clock.clone();
        let forget = |sides: &mut Sides| sides.client.resumption = Resumption::default();
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        clock.advance(11 * HOUR);
        forget(&mut sides);
        assert_eq!(sides.connect().unwrap(), full(1));
        clock.advance(14 * HOUR);
        forget(&mut sides);
        let by_server = (HandshakeKind::Full, [1, CHAIN + 1]);
        assert_eq!(sides.connect().unwrap(), by_server);
        for _ in 0..2 {
            let resumed = (HandshakeKind::Resumed, [0, 0]);
            assert_eq!(sides.connect().unwrap(), resumed);
            clock.advance(11 * HOUR);
        }
    }
}

/// Returns the chain of a client, which is too long for the map.
fn long_client_chain(authority: &Authority) -> Vec<CertificateDer<'static>> {
    let purpose = ExtendedKeyUsagePurpose::ClientAuth;
    authority.changed_chain("long.example", purpose, |params| {
        let unknown = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1], vec![0; 17_000]);
        params.custom_extensions.push(unknown);
    })
}

fn long_chain() -> Arc<SingleCertAndKey> {
    let authority = Authority::get();
    certified(&long_client_chain(authority), authority.key())
}

/// The session proves that the chain was accepted, although the map does not know it.
#[test]
fn a_resumed_connection_does_not_verify_a_long_chain() {
    for mut sides in Sides::with_sessions() {
        sides.client.client_auth_cert_resolver = long_chain();
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        for _ in 0..2 {
            let resumed = (HandshakeKind::Resumed, [0, 0]);
            assert_eq!(sides.connect().unwrap(), resumed);
        }
        sides.client.resumption = Resumption::default();
        let by_server = (HandshakeKind::Full, [1, CHAIN + 1]);
        assert_eq!(sides.connect().unwrap(), by_server);
    }
}

/// The verifier is asynchronous.
#[test]
fn a_resumed_connection_does_not_verify_a_long_chain_again_asynchronously() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let plan = Arc::new(Plan::new(When::After(2)).only("verify_client_cert"));
        let (authority, count) = (Authority::get(), Count::new());
        let slow = |verifier| Slow::new(verifier, &plan) as _;
        let mut client = authority.client(provider, versions, authority.client_chain(0));
        client.client_auth_cert_resolver = long_chain();
        let world = World {
            client: Arc::new(client),
            server: Arc::new(authority.server_verifying(counting(provider, count), versions, slow)),
        };
        for (kind, verified) in [
            (HandshakeKind::Full, CHAIN + 1),
            (HandshakeKind::Resumed, 0),
        ] {
            let [mut client, mut server] = Api::Buffered.ends(&world, true);
            assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
            assert_eq!(server.common().handshake_kind(), Some(kind));
            assert_eq!(count.take(), verified, "{provider:?} {versions:?} {kind:?}");
        }
        assert!(plan.futures().contains("verify_client_cert"));
    }
}

/// The server need not hold a long chain of a client that may not have its key.
#[test]
fn a_long_chain_is_verified_before_the_signature() {
    let stranger = Authority::new("theirs");
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        for (chain, verified) in [
            (stranger.client_chain(0), 1),
            (long_client_chain(&stranger), 0),
        ] {
            let mut sides = Sides::new(provider, versions).without_sessions();
            sides.client.client_auth_cert_resolver = certified(&chain, stranger.key());
            let (error, [_, of_server]) = sides.fail();
            assert_eq!(error, CertificateError::UnknownIssuer.into());
            assert_eq!(of_server, verified, "{provider:?} {versions:?}");
        }
    }
}

/// Returns the chain of all certificates for [`SERVER_NAME`], or of client 0.
fn chain(of: Role) -> Vec<CertificateDer<'static>> {
    let authority = Authority::get();
    match of {
        Role::Client => authority.client_chain(0),
        Role::Server => authority.chain(SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth),
    }
}

/// Returns a certified key with this chain and key, which need not match.
fn certified(
    chain: &[CertificateDer<'static>],
    key: PrivateKeyDer<'static>,
) -> Arc<SingleCertAndKey> {
    let key = Provider::Ring.this().key_provider.load_private_key(key);
    let certified = CertifiedKey::new(chain.to_vec(), key.unwrap());
    Arc::new(SingleCertAndKey::from(certified))
}

/// A peer presents the chain of another one. The error and the work do not depend on whether the
/// chain is known.
#[test]
fn a_peer_without_the_key_cannot_tell_if_its_chain_is_known() {
    let authority = Authority::get();
    for (provider, versions, of) in product3(PROVIDERS, Versions::EACH, ROLES) {
        let what = format!("{provider:?} {versions:?} {of:?}");
        let chain = chain(of);
        let present = |sides: &mut Sides, key| match of {
            Role::Client => sides.client.client_auth_cert_resolver = certified(&chain, key),
            Role::Server => sides.server.cert_resolver = certified(&chain, key),
        };
        let [mut unknown, mut known] =
            [(); 2].map(|()| Sides::new(provider, versions).without_sessions());
        present(&mut known, authority.key());
        // the position of the side that verifies
        let verifier = of.other() as usize;
        assert_eq!(known.connect().unwrap().1[verifier], CHAIN + 1, "{what}");
        assert_eq!(known.connect().unwrap().1[verifier], 1, "{what}");

        let wrong_key = PrivateKeyDer::Pkcs8(pki::key().serialize_der().into());
        present(&mut unknown, wrong_key.clone_key());
        present(&mut known, wrong_key);
        for sides in [unknown, known] {
            let map = [&sides.client.verified_chains, &sides.server.verified_chains][verifier];
            let before = map.stats();
            let (error, verified) = sides.fail();
            assert_eq!(error, CertificateError::BadSignature.into(), "{what}");
            assert_eq!(verified[verifier], CHAIN + 1, "{what}");
            assert_eq!(map.stats(), before, "{what}");
        }
    }
}

/// Checks the order in which a client verifies the parts for a server of an unknown authority.
#[test]
fn the_signature_is_verified_before_the_chain_if_there_is_a_map() {
    let stranger = Authority::new("theirs");
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        for (chains, verified) in [
            (VerifiedChains::default(), 1),
            (VerifiedChains::disabled(), 0),
        ] {
            let mut sides = Sides::new(provider, versions).without_sessions();
            sides.client.verified_chains = Arc::new(chains);
            sides.server = stranger.server(provider, versions);
            let (error, [of_client, _]) = sides.fail();
            assert_eq!(error, CertificateError::UnknownIssuer.into());
            assert_eq!(of_client, verified, "{versions:?}");
        }
    }
}

/// A chain that was accepted for a client is not accepted for a server without verification.
#[test]
fn each_side_verifies_a_chain_in_a_map_that_both_share() {
    for mut sides in Sides::all() {
        sides.client.verified_chains = Arc::default();
        sides.server.verified_chains = sides.client.verified_chains.clone();
        assert_eq!(sides.connect().unwrap(), full(CHAIN + 1));
        assert_eq!(sides.connect().unwrap(), full(1));
        assert_eq!(sides.client.verified_chains.stats().entries, 2);

        // the client presents the chain that it has accepted as the server's
        let resolver = certified(&chain(Role::Server), Authority::get().key());
        sides.server.cert_resolver = resolver.clone();
        assert_eq!(sides.connect().unwrap().1, [CHAIN + 1, 1]);
        sides.client.client_auth_cert_resolver = resolver;
        let error = format!("{:?}", sides.connect().unwrap_err());
        assert!(error.contains("InvalidPurpose"), "{error}");
    }
}
