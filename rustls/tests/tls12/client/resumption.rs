//! TLS 1.2 sessions, as a client stores and offers them.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::{Clock, this};
use harness::peers::configs::{PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use harness::providers::ffdhe;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::server::{Outcome, Script, Step};
use harness::scripted::{Identity, bytes};
use harness::wire::client_hello::{ClientHello, EXTENDED_MASTER_SECRET, SESSION_TICKET};
use harness::wire::plain_messages;
use rustls::client::{Resumption, Tls12Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::{CipherSuite, ClientConfig, ContentType, HandshakeType, NamedGroup, ProtocolVersion};

use super::hello::Only;
use super::{End, clients, localhost, this_config};

/// A server that gives sessions an ID, a ticket, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Id,
    Ticket,
    Both,
}

const KINDS: [Kind; 3] = [Kind::Id, Kind::Ticket, Kind::Both];

const ID: [u8; 20] = [7; 20];

impl Kind {
    fn script(self) -> Script {
        match self {
            Self::Id => Script::new().with_session_id(&ID),
            Self::Ticket => Script::with_ticket(),
            Self::Both => Script::with_ticket().with_session_id(&ID),
        }
    }

    /// A script that resumes whatever the client offers.
    fn resuming(self, session: &Session) -> Script {
        let mut script = Script::resuming(session.clone());
        // echoes the client's ID: the session's own, or a random one beside a ticket
        script.hello.session_id = None;
        script
    }
}

/// A client's configuration, and the identity of the scripted servers that it trusts.
struct Peers {
    identity: Identity,
    config: Arc<ClientConfig>,
}

impl Peers {
    fn new(provider: Provider, versions: Versions) -> Self {
        Self::with(provider, versions, |_| ())
    }

    fn with(
        provider: Provider,
        versions: Versions,
        change: impl FnOnce(&mut ClientConfig),
    ) -> Self {
        let identity = Identity::new(provider.this());
        let mut config = this_config(&identity, provider, versions);
        change(&mut config);
        let config = Arc::new(config);
        Self { identity, config }
    }

    /// A verifier that trusts the identity.
    fn verifier(&self) -> Arc<WebPkiServerVerifier> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.identity.certificate.clone()).unwrap();
        let provider = self.config.crypto_provider().clone();
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
        verifier.build().unwrap()
    }

    /// The connections of a client in each API.
    fn endpoints(&self) -> [(&'static str, Box<dyn Endpoint>); 2] {
        let unbuffered = ThisUnbuffered::client_of(localhost(), self.config.clone());
        [
            ("buffered", Box::new(self.buffered())),
            ("unbuffered", Box::new(unbuffered)),
        ]
    }

    fn buffered(&self) -> ThisBuffered {
        ThisBuffered::client_of(localhost(), self.config.clone())
    }

    fn run(&self, script: &Script) -> Outcome {
        self.identity.run_tls12(&mut self.buffered(), script)
    }

    /// Runs a full handshake between a new client and a server. Returns the session.
    fn first(&self, script: &Script) -> Session {
        let outcome = self.run(script);
        assert_eq!(outcome.error, None);
        assert!(outcome.client_finished);
        assert!(outcome.received.contains(&HandshakeType::ClientKeyExchange));
        outcome.session.unwrap()
    }

    /// Returns whether the next ClientHello offers a session by ID, and whether by ticket.
    fn offers(&self) -> (bool, bool) {
        self.offers_with((*self.config).clone())
    }

    /// The same for clients with `config`.
    fn offers_with(&self, config: ClientConfig) -> (bool, bool) {
        let hello = ThisBuffered::client_of(localhost(), config).take_output();
        let hello = ClientHello::read(&plain_messages(&hello));
        let ticket = hello.extension(SESSION_TICKET).unwrap_or_default();
        (hello.session_id == ID, !ticket.is_empty())
    }
}

const NOTHING: (bool, bool) = (false, false);

fn offered(outcome: &Outcome) -> ClientHello {
    ClientHello::read(&outcome.messages[0])
}

#[test]
fn sessions_are_resumed() {
    for provider in PROVIDERS {
        for (versions, kind) in product([Versions::Tls12, Versions::Both], KINDS) {
            let peers = Peers::new(provider, versions);
            let session = peers.first(&kind.script());
            // more than once, on each API
            for (name, mut client) in peers.endpoints().into_iter().chain(peers.endpoints()) {
                let script = kind.resuming(&session);
                let outcome = peers.identity.run_tls12(&mut *client, &script);
                assert_eq!(outcome.error, None, "{name} {kind:?}");
                assert!(outcome.client_finished, "{name} {kind:?}");
                assert_eq!(outcome.received, [HandshakeType::Finished]);

                let hello = offered(&outcome);
                let ticket = hello.extension(SESSION_TICKET).unwrap();
                if kind == Kind::Id {
                    assert_eq!(hello.session_id, ID);
                    assert!(ticket.is_empty());
                } else {
                    // RFC 5077 §3.4: an ID of the client's own
                    assert_eq!(hello.session_id.len(), 32);
                    assert_eq!(ticket, session.ticket);
                }
                assert!(client.negotiated().contains("Resumed"), "{kind:?}");
                let certificate = peers.identity.certificate.to_vec();
                assert_eq!(client.peer_certificates(), [certificate]);
            }
        }
    }
}

#[test]
fn only_resumable_sessions_are_offered() {
    use Tls12Resumption::{Disabled, SessionIdOnly, SessionIdOrTickets};
    for (mode, kind, offer) in [
        (Disabled, Kind::Id, NOTHING),
        (SessionIdOnly, Kind::Id, (true, false)),
        (SessionIdOrTickets, Kind::Id, (true, false)),
        (SessionIdOrTickets, Kind::Ticket, (false, true)),
        (SessionIdOrTickets, Kind::Both, (false, true)),
    ] {
        let peers = Peers::with(Provider::AwsLc, Versions::Tls12, |config| {
            config.resumption = Resumption::default().tls12_resumption(mode);
        });
        peers.first(&kind.script());
        assert_eq!(peers.offers(), offer, "{mode:?} {kind:?}");
    }
    // a configuration that accepts tickets stores both; another one gives up tickets later
    for (mode, offer) in [
        (SessionIdOrTickets, (false, true)),
        (SessionIdOnly, (true, false)),
        (Disabled, NOTHING),
    ] {
        let peers = Peers::new(Provider::AwsLc, Versions::Tls12);
        let mut other = (*peers.config).clone();
        peers.first(&Kind::Both.script());
        other.resumption = other.resumption.tls12_resumption(mode);
        assert_eq!(peers.offers_with(other), offer, "{mode:?} later");
    }
}

/// A session resumes only under the configuration that it was made with.
#[test]
fn sessions_do_not_cross_configurations() {
    let peers = Peers::new(Provider::AwsLc, Versions::Tls12);
    let fresh = || this_config(&peers.identity, Provider::AwsLc, Versions::Tls12);
    let config = &*peers.config;
    peers.first(&Kind::Id.script());

    // another verifier or resolver, even with the same settings
    let mut other_verifier = fresh();
    other_verifier.resumption = config.resumption.clone();
    other_verifier.client_auth_cert_resolver = config.client_auth_cert_resolver.clone();
    let mut other_resolver = config.clone();
    other_resolver.client_auth_cert_resolver = fresh().client_auth_cert_resolver;
    for (name, other) in [("verifier", other_verifier), ("resolver", other_resolver)] {
        assert_eq!(peers.offers_with(other), NOTHING, "{name}");
        assert_eq!(peers.offers(), (true, false), "{name}");
    }
    // another name
    let mut other = ThisBuffered::client_of("other".try_into().unwrap(), config.clone());
    let hello = plain_messages(&other.take_output());
    assert!(ClientHello::read(&hello).session_id.is_empty());
}

/// RFC 5246 §7.4.1.2: the session's suite must be among those offered. It is not if the provider
/// lacks it, or the groups that it needs.
#[test]
fn a_provider_without_the_suite_of_the_session_or_its_groups() {
    let mut peers = Peers::new(Provider::AwsLc, Versions::Tls12);
    let verifier = peers.verifier();
    let usual = Provider::AwsLc.this();
    let with = |provider: &CryptoProvider, versions| {
        ClientConfig::builder_with_provider(provider.clone().into())
            .with_protocol_versions(versions)
            .unwrap()
            .with_webpki_verifier(verifier.clone())
            .with_no_client_auth()
    };
    let mut without_suite = usual.clone();
    let suite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    without_suite.cipher_suites.retain(|it| it.suite() != suite);
    // ECDHE for TLS 1.3 only
    let finite = Only(NamedGroup::FFDHE2048, ProtocolVersion::TLSv1_2);
    let groups = vec![X25519MLKEM768, Box::leak(Box::new(finite))];
    let without_groups = ffdhe::this::provider(usual.clone(), groups);
    for (what, versions, without) in [
        ("suite", &[&rustls::version::TLS12][..], &without_suite),
        ("groups", rustls::DEFAULT_VERSIONS, &without_groups),
    ] {
        let config = with(&usual, versions);
        peers.config = Arc::new(config.clone());
        peers.first(&Kind::Id.script());
        for (provider, is_offered) in [(&usual, true), (without, false)] {
            let mut other = with(provider, versions);
            other.resumption = config.resumption.clone();
            other.client_auth_cert_resolver = config.client_auth_cert_resolver.clone();
            assert_eq!(peers.offers_with(other).0, is_offered, "{what}");
        }
    }
}

/// RFC 7627 §5.3: it is used in both handshakes or in neither.
#[test]
fn the_extended_master_secret_does_not_vary() {
    let without = |script: Script| {
        let is_it = |typ: u16| typ == EXTENDED_MASTER_SECRET;
        script.edit(|script| script.hello.extensions.retain(|(typ, _)| !is_it(*typ)))
    };
    let change = |script, keep| if keep { script } else { without(script) };
    for (provider, kind) in product(PROVIDERS, KINDS) {
        for (extended, then_extended) in product([false, true], [false, true]) {
            let peers = Peers::new(provider, Versions::Tls12);
            let session = peers.first(&change(kind.script(), extended));
            let end = End::of(&peers.run(&change(kind.resuming(&session), then_extended)));
            let what = format!("{kind:?} {extended} {then_extended}");
            if extended == then_extended {
                assert_eq!(end.error, None, "{what}");
            } else {
                end.assert_refused(&what, "ResumptionOfferedWithVariedEms", 47);
                assert_eq!(peers.offers(), NOTHING, "{what}");
            }
        }
        // if it is required, a session without it is not offered either
        let peers = Peers::new(provider, Versions::Tls12);
        peers.first(&without(kind.script()));
        let mut config = (*peers.config).clone();
        config.require_ems = true;
        assert_eq!(peers.offers_with(config), NOTHING, "{kind:?}");
    }
}

/// Another machine of the server may know the session.
#[test]
fn a_declined_session_is_offered_again() {
    for kind in KINDS {
        for client in clients(Provider::AwsLc, Versions::Tls12) {
            let session = client.run(&kind.script()).session.unwrap();
            for _ in 0..2 {
                let outcome = client.run(&Script::new());
                assert_eq!(outcome.error, None);
                let full = HandshakeType::ClientKeyExchange;
                assert!(outcome.received.contains(&full));
            }
            let outcome = client.run(&kind.resuming(&session));
            assert_eq!(outcome.error, None);
            assert_eq!(outcome.received, [HandshakeType::Finished]);
        }
    }
}

/// The client rejects the answer to its offer, and would do so again: every connection would offer
/// the session.
#[test]
fn a_session_ends_with_an_answer_that_is_refused() {
    type Wrong = fn(&mut Script);
    const WRONG: [(Wrong, &str, u8); 6] = [
        (
            |it| it.hello.legacy_version = 0x0302,
            "ServerDoesNotSupportTls12Or13",
            70,
        ),
        (
            |it| it.hello.compression = 1,
            "SelectedUnofferedCompression",
            47,
        ),
        (
            |it| it.hello.extensions.push(bytes(16, b"\0\x03\x02xx")),
            "SelectedUnofferedApplicationProtocol",
            47,
        ),
        // RFC 5246 §7.4.1.3: the session's suite
        (
            |it| it.hello.suite = 0xc02c,
            "ResumptionOfferedWithVariedCipherSuite",
            47,
        ),
        (
            |it| it.edit_verify_data = |data| data[0] ^= 1,
            "DecryptError",
            51,
        ),
        // the server has the wrong secret for the session: its Finished cannot be opened
        (
            |it| it.resumes.as_mut().unwrap().master_secret[47] ^= 1,
            "DecryptError",
            20,
        ),
    ];
    for (provider, kind) in product(PROVIDERS, KINDS) {
        let peers = Peers::new(provider, Versions::Tls12);
        for ((wrong, error, alert), api) in product(WRONG, [0, 1]) {
            let session = peers.first(&kind.script());
            assert_ne!(peers.offers(), NOTHING);
            let script = kind.resuming(&session).edit(wrong);
            let (name, mut client) = peers.endpoints().into_iter().nth(api).unwrap();
            let outcome = peers.identity.run_tls12(&mut *client, &script);
            let what = format!("{name} {kind:?}");
            End::of(&outcome).assert_refused(&what, error, alert);
            assert!(!outcome.client_finished, "{what} {error}");
            assert_eq!(peers.offers(), NOTHING, "{what} {error}");
        }
    }
}

/// RFC 5246 §7.2.2: a fatal alert ends the session; a close_notify does not.
#[test]
fn a_session_ends_with_a_connection_that_fails() {
    let with = |script: Script, at: usize, alert: [u8; 2]| {
        let alert = Step::Raw(ContentType::Alert, alert.to_vec());
        let script = script.with_step(at, alert);
        script.edit(|script| script.steps.push(Step::Await))
    };
    for (provider, kind) in product(PROVIDERS, KINDS) {
        let peers = Peers::new(provider, Versions::Tls12);
        for api in [0, 1] {
            let fails = |script: Script, at: usize| {
                let (name, mut client) = peers.endpoints().into_iter().nth(api).unwrap();
                let script = with(script, at, [2, 80]);
                let outcome = peers.identity.run_tls12(&mut *client, &script);
                let error = outcome.error.unwrap_or_default();
                let what = format!("{name} {kind:?} at {at}");
                assert_eq!(error, "AlertReceived(InternalError)", "{what}");
                assert_eq!(peers.offers(), NOTHING, "{what}");
            };
            fails(kind.script(), kind.script().steps.len());
            for at in 0..=4 {
                let session = peers.first(&kind.script());
                assert_ne!(peers.offers(), NOTHING);
                fails(kind.resuming(&session), at);
            }
        }

        let session = peers.first(&kind.script());
        let outcome = peers.run(&with(kind.resuming(&session), 4, [1, 0]));
        assert_eq!(outcome.error, None);
        assert_ne!(peers.offers(), NOTHING, "{kind:?}");
    }
}

/// A script that resumes `session` and sends a new ticket.
fn renewing(session: &Session, edit: impl FnOnce(&mut Script)) -> Script {
    Kind::Ticket
        .resuming(session)
        .with_step(1, Step::Send(HandshakeType::NewSessionTicket))
        .with_extension(bytes(SESSION_TICKET, &[]))
        .edit(edit)
}

#[test]
fn a_new_ticket_replaces_the_old_one() {
    let peers = Peers::new(Provider::AwsLc, Versions::Tls12);
    let session = peers.first(&Kind::Ticket.script());
    for (ticket, kept) in [(vec![0x55; 30], vec![0x55; 30]), (vec![], vec![0x55; 30])] {
        let outcome = peers.run(&renewing(&session, |script| script.ticket = ticket));
        assert_eq!(outcome.error, None);
        assert!(outcome.client_finished);

        let next = peers.run(&Kind::Ticket.resuming(&session));
        assert_eq!(next.error, None);
        assert_eq!(offered(&next).extension(SESSION_TICKET), Some(&kept[..]));
    }
}

/// RFC 9846 §4.7.1, RFC 5246 §F.1.4: a chain of tickets does not prolong a session for ever.
#[test]
fn new_tickets_do_not_prolong_a_session_for_ever() {
    const HOUR: u64 = 60 * 60;
    let of_a_day = |script: &mut Script| script.lifetime_hint = 24 * HOUR as u32;
    for (provider, api) in product(PROVIDERS, [0, 1]) {
        let clock = Clock::now();
        let peers = Peers::with(provider, Versions::Tls12, |config| {
            config.time_provider = clock.clone();
        });
        let session = peers.first(&Kind::Ticket.script().edit(of_a_day));
        for hours in (20..=180).step_by(20) {
            clock.advance(20 * HOUR as i64);
            if hours > 7 * 24 {
                assert_eq!(peers.offers(), NOTHING);
                break;
            }
            let (name, mut client) = peers.endpoints().into_iter().nth(api).unwrap();
            let script = renewing(&session, of_a_day);
            let outcome = peers.identity.run_tls12(&mut *client, &script);
            assert_eq!(outcome.error, None, "{name} {hours}");
            assert_eq!(
                outcome.received,
                [HandshakeType::Finished],
                "{name} {hours}"
            );
        }
    }
}

/// The longest ticket that fits into a message, after lifetime and length.
const LONGEST: usize = 0xffff - 4 - 2;

/// A server may send a ticket longer than all extensions of a ClientHello may be. An empty one
/// counts as none.
#[test]
fn an_empty_ticket_or_one_that_does_not_fit_is_left_out() {
    for versions in [Versions::Tls12, Versions::Both] {
        for (kind, len, offer) in [
            (Kind::Ticket, 0, NOTHING),
            (Kind::Ticket, 3000, (false, true)),
            (Kind::Ticket, 0xfb00, (false, true)),
            (Kind::Ticket, LONGEST, NOTHING),
            (Kind::Both, LONGEST, (true, false)),
        ] {
            let peers = Peers::new(Provider::AwsLc, versions);
            peers.first(&kind.script().edit(|script| script.ticket = vec![7; len]));
            assert_eq!(peers.offers(), offer, "{kind:?} {len}");
        }
    }
}

#[test]
fn sessions_end() {
    const DAY: u64 = 24 * 60 * 60;
    for (kind, hint, lifetime) in [
        (Kind::Id, 0, DAY),
        (Kind::Ticket, 0, DAY),
        (Kind::Ticket, 3600, 3600),
        // RFC 9846 §4.7.1 limits the lifetime in TLS 1.3; here it is a hint
        (Kind::Ticket, u32::MAX, 7 * DAY),
    ] {
        for (later, usable) in [(0, true), (lifetime - 1, true), (lifetime, false)] {
            let clock = Clock::now();
            let peers = Peers::with(Provider::AwsLc, Versions::Tls12, |config| {
                config.time_provider = clock.clone();
            });
            peers.first(&kind.script().edit(|script| script.lifetime_hint = hint));
            clock.advance(later as i64);
            let offered = peers.offers() != NOTHING;
            assert_eq!(offered, usable, "{kind:?} {hint} after {later}");
        }
    }
}

/// Upstream's client behaves in the same way with these servers.
#[test]
fn upstream_agrees() {
    for kind in KINDS {
        for client in clients(Provider::AwsLc, Versions::Tls12) {
            let outcome = client.run(&kind.script());
            assert_eq!(outcome.error, None, "{}", client.name);
            let session = outcome.session.unwrap();
            for _ in 0..2 {
                let outcome = client.run(&kind.resuming(&session));
                assert_eq!(outcome.error, None, "{} {kind:?}", client.name);
                assert_eq!(outcome.received, [HandshakeType::Finished]);
                let ticket = offered(&outcome).extension(SESSION_TICKET).map(<[u8]>::len);
                assert_eq!(ticket, Some(if kind == Kind::Id { 0 } else { 48 }));
            }
        }
    }
}

/// The calls that a store receives.
#[test]
fn calls_to_the_store() {
    for (versions, kind) in product([Versions::Tls12, Versions::Both], KINDS) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = calls.clone();
        let store = this::Sessions::when(move |call| {
            log.lock().unwrap().push(call);
            true
        });
        let peers = Peers::with(Provider::AwsLc, versions, |config| {
            config.resumption = Resumption::store(store);
        });
        let run = |script: &Script| {
            let outcome = peers.run(script);
            let calls = std::mem::take(&mut *calls.lock().unwrap());
            let asked: &[_] = match versions {
                Versions::Both => &["take_tls13_ticket", "tls12_session", "kx_hint"],
                _ => &["take_tls13_ticket", "tls12_session"],
            };
            let (first, later_calls) = calls.split_at(asked.len());
            assert_eq!(first, asked);
            (outcome, later_calls.to_vec())
        };
        let (outcome, calls) = run(&kind.script());
        assert_eq!(calls, ["set_tls12_session"]);
        let session = outcome.session.unwrap();
        // twice resumed, then refused by another machine of the server, which may know it later
        let resuming = kind.resuming(&session);
        for script in [&resuming, &resuming, &Script::new()] {
            let (outcome, calls) = run(script);
            assert_eq!((outcome.error, calls), (None, vec![]));
        }
        let failed = resuming.edit(|script| script.edit_verify_data = |data| data[0] ^= 1);
        let (_, calls) = run(&failed);
        assert_eq!(calls, ["remove_tls12_session"]);
    }
}
