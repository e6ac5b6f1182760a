//! Sessions and tickets of one provider are used with another, over TLS and QUIC.

use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Versions, product};
use harness::peers::endpoints::{ThisBuffered, handshake, send_and_check};
use harness::quic::{self, QuicEndpoint, Version};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, fastest, ring};
use rustls::server::ProducesTickets;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, ServerConfig, SignatureScheme};

const SECRET: [u8; 32] = [0x5e; 32];
const EPOCH: u32 = 6 * 60 * 60;

/// A provider, and tickets that the other providers can open.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Fastest,
    AwsLc,
    Ring,
}

const KINDS: [Kind; 3] = [Kind::Fastest, Kind::AwsLc, Kind::Ring];

impl Kind {
    fn provider(self) -> CryptoProvider {
        match self {
            Self::Fastest => fastest::default_provider(),
            Self::AwsLc => aws_lc_rs::default_provider(),
            Self::Ring => ring::default_provider(),
        }
    }

    fn ticketer(self) -> Arc<dyn ProducesTickets> {
        let ticketer = match self {
            Self::Fastest => fastest::Ticketer::for_fleet(&SECRET, EPOCH),
            Self::AwsLc => aws_lc_rs::Ticketer::for_fleet(&SECRET, EPOCH),
            Self::Ring => ring::Ticketer::for_fleet(&SECRET, EPOCH),
        };
        ticketer.unwrap()
    }

    /// Creates a client that shares its sessions with all others that have the same `shared`.
    fn client(self, versions: Versions, shared: &Shared) -> Arc<ClientConfig> {
        let mut config = ClientConfig::builder_with_provider(self.provider().into())
            .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(shared.verifier.clone())
            .with_client_cert_resolver(shared.resolver.clone());
        config.resumption = shared.resumption.clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        config.into()
    }

    fn server(self, versions: Versions) -> ServerConfig {
        let auth = ClientAuth::None;
        let mut config =
            configs::this::server_of(versions, self.provider(), KeyType::EcdsaP256, auth);
        config.ticketer = self.ticketer();
        config
    }
}

/// The parts that clients must share to resume each other's sessions.
struct Shared {
    verifier: Arc<dyn ServerCertVerifier>,
    resolver: Arc<dyn ResolvesClientCert>,
    resumption: Resumption,
}

impl Shared {
    fn new() -> Self {
        let roots = configs::this::roots(KeyType::EcdsaP256);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider);
        Self {
            verifier: verifier.build().unwrap(),
            resolver: Arc::new(NoCertificate),
            resumption: Resumption::in_memory_sessions(8),
        }
    }
}

#[derive(Debug)]
struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// Returns pairs of kinds for the clients, or the servers, of two consecutive connections.
fn pairs() -> impl Iterator<Item = ([Kind; 2], [Kind; 2])> {
    let same = |kind| [kind, kind];
    product(KINDS, KINDS).flat_map(move |(first, second)| {
        let changes = KINDS.map(|kind| (same(kind), [first, second]));
        changes
            .into_iter()
            .chain(KINDS.map(|kind| ([first, second], same(kind))))
    })
}

#[test]
fn clients_and_servers_with_another_provider_resume() {
    for (versions, (clients, servers)) in product(
        [Versions::Tls12, Versions::Tls13],
        pairs().collect::<Vec<_>>(),
    ) {
        let shared = Shared::new();
        let kinds = [0, 1].map(|at| {
            let mut client = ThisBuffered::client(clients[at].client(versions, &shared));
            let mut server = ThisBuffered::server(servers[at].server(versions));
            handshake(&mut client, &mut server);
            send_and_check(&mut server, &mut client, b"data");
            client.conn.handshake_kind().unwrap() == HandshakeKind::Resumed
        });
        assert_eq!(
            kinds,
            [false, true],
            "{versions:?}, {clients:?}, {servers:?}"
        );
    }
}

#[test]
fn clients_and_servers_with_another_provider_resume_over_quic() {
    for (clients, servers) in pairs() {
        let shared = Shared::new();
        let resumed = [0, 1].map(|at| {
            let client = clients[at].client(Versions::Tls13, &shared);
            let server = Arc::new(servers[at].server(Versions::Tls13));
            let mut client = quic::this::client(&client, Version::V1, b"client").unwrap();
            let mut server = quic::this::server(&server, Version::V1, b"server").unwrap();
            quic::handshake(&mut client, &mut server);
            client.negotiated().contains("Resumed")
        });
        assert_eq!(resumed, [false, true], "{clients:?}, {servers:?}");
    }
}

#[test]
fn tickets_of_one_provider_are_opened_by_the_others() {
    for (maker, opener) in product(KINDS, KINDS) {
        let ticket = maker.ticketer().encrypt(b"session").unwrap();
        let opened = opener.ticketer().decrypt(&ticket);
        assert_eq!(
            opened.as_deref(),
            Some(&b"session"[..]),
            "{maker:?}, {opener:?}"
        );
    }
    let own = fastest::Ticketer::new().unwrap();
    let ticket = own.encrypt(b"session").unwrap();
    assert_eq!(own.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
}
