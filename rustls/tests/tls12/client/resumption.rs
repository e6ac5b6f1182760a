//! Tests of how a client stores and offers TLS 1.2 sessions.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::{Clock, this};
use harness::peers::configs::{PROVIDERS, Provider, Versions, product, product3};
use harness::providers::ffdhe;
use harness::scripted::bytes;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::server::{Outcome, Script, Step};
use harness::table;
use harness::wire::client_hello::{ClientHello, EXTENDED_MASTER_SECRET, SESSION_TICKET};
use harness::wire::plain_messages;
use rustls::client::{Resumption, Tls12Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::{CipherSuite, ClientConfig, ContentType, HandshakeType, NamedGroup, ProtocolVersion};

use super::hello::Only;
use super::{Client, End, clients, ours_with, this_config};

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

    /// Creates a script that resumes the session that the client offers.
    fn resuming(self, session: &Session) -> Script {
        let mut script = Script::resuming(session.clone());
        // echoes the client's ID: that of the session, or a random one sent together with a ticket
        script.hello.session_id = None;
        script
    }
}

impl Client {
    /// Runs a full handshake. Returns the session.
    fn first(&self, script: &Script) -> Session {
        let outcome = self.run(script);
        assert_eq!(outcome.error, None);
        assert!(outcome.client_finished);
        assert!(outcome.received.contains(&HandshakeType::ClientKeyExchange));
        outcome.session.unwrap()
    }

    /// Returns whether the next ClientHello offers a session by ID, and whether by ticket.
    fn offers(&self) -> (bool, bool) {
        let hello = ClientHello::read(&plain_messages(&self.connection().take_output()));
        let ticket = hello.extension(SESSION_TICKET).unwrap_or_default();
        (hello.session_id == ID, !ticket.is_empty())
    }

    /// Returns the same client of this crate with a changed configuration.
    fn changed(&self, change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut end = self.end.clone();
        match &mut end {
            clients::Client::Buffered(config) | clients::Client::Unbuffered(config) => {
                change(Arc::make_mut(config));
            }
            clients::Client::Upstream(_) => panic!("not of this crate"),
        }
        Self {
            name: self.name,
            identity: self.identity.clone(),
            end,
        }
    }
}

const NOTHING: (bool, bool) = (false, false);

fn offered(outcome: &Outcome) -> ClientHello {
    ClientHello::read(&outcome.messages[0])
}

/// Returns this crate's clients.
fn ours(provider: Provider, versions: Versions) -> [Client; 2] {
    ours_with(provider, versions, |_| ())
}

/// Returns this crate's clients of TLS 1.2, for each provider and kind.
fn of_each_kind() -> impl Iterator<Item = (Kind, Client)> {
    product(PROVIDERS, KINDS).flat_map(|(provider, kind)| {
        let clients = ours(provider, Versions::Tls12).into_iter();
        clients.map(move |client| (kind, client))
    })
}

/// A session that a server declines is offered again, because another machine of the server may
/// know it.
#[test]
fn sessions_are_resumed_more_than_once_even_after_being_declined() {
    for (provider, versions, kind) in product3(PROVIDERS, [Versions::Tls12, Versions::Both], KINDS)
    {
        for client in clients(provider, versions) {
            let what = format!("{} {kind:?}", client.name);
            let session = client.first(&kind.script());
            for resumes in [true, true, false, false, true] {
                let mut connection = client.connection();
                let script = match resumes {
                    true => kind.resuming(&session),
                    false => Script::new(),
                };
                let outcome = client.identity.run_tls12(&mut *connection, &script);
                assert_eq!(outcome.error, None, "{what}");
                assert!(outcome.client_finished, "{what}");
                let hello = offered(&outcome);
                let ticket = hello.extension(SESSION_TICKET).unwrap();
                if kind == Kind::Id {
                    assert_eq!(hello.session_id, ID, "{what}");
                    assert!(ticket.is_empty(), "{what}");
                } else {
                    // RFC 5077 §3.4: the client generates an ID
                    assert_eq!(hello.session_id.len(), 32, "{what}");
                    assert_eq!(ticket, session.ticket, "{what}");
                }
                if resumes {
                    assert_eq!(outcome.received, [HandshakeType::Finished], "{what}");
                } else {
                    let full = HandshakeType::ClientKeyExchange;
                    assert!(outcome.received.contains(&full), "{what}");
                }
                let negotiated = connection.negotiated();
                assert_eq!(negotiated.contains("Resumed"), resumes, "{what}");
                let certificate = client.identity.certificate.to_vec();
                assert_eq!(connection.peer_certificates(), [certificate], "{what}");
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
        for client in ours_with(Provider::AwsLc, Versions::Tls12, |config| {
            config.resumption = Resumption::default().tls12_resumption(mode);
        }) {
            client.first(&kind.script());
            assert_eq!(client.offers(), offer, "{} {mode:?} {kind:?}", client.name);
        }
    }
    // a configuration that accepts tickets stores both; another one later stops accepting tickets
    for client in ours(Provider::AwsLc, Versions::Tls12) {
        client.first(&Kind::Both.script());
        for (mode, offer) in [
            (SessionIdOrTickets, (false, true)),
            (SessionIdOnly, (true, false)),
            (Disabled, NOTHING),
        ] {
            let later = client.changed(|config| {
                config.resumption = config.resumption.clone().tls12_resumption(mode);
            });
            assert_eq!(later.offers(), offer, "{} {mode:?} later", client.name);
        }
    }
}

/// A session resumes only with the configuration with which it was created.
#[test]
fn a_session_resumes_only_with_its_configuration() {
    for client in ours(Provider::AwsLc, Versions::Tls12) {
        let fresh = || this_config(&client.identity, Provider::AwsLc, Versions::Tls12);
        client.first(&Kind::Id.script());
        // another verifier or resolver, even with the same settings
        let other_verifier = client.changed(|config| {
            let first = std::mem::replace(config, fresh());
            config.resumption = first.resumption;
            config.client_auth_cert_resolver = first.client_auth_cert_resolver;
        });
        let other_resolver = client.changed(|config| {
            config.client_auth_cert_resolver = fresh().client_auth_cert_resolver;
        });
        for (name, other) in [("verifier", other_verifier), ("resolver", other_resolver)] {
            assert_eq!(other.offers(), NOTHING, "{} {name}", client.name);
            assert_eq!(client.offers(), (true, false), "{} {name}", client.name);
        }
        let mut other_name = client.end.connect_to("other".try_into().unwrap());
        let hello = plain_messages(&other_name.take_output());
        assert!(ClientHello::read(&hello).session_id.is_empty());
    }
}

/// RFC 5246 §7.4.1.2: the session's suite must be among those offered. It is not offered if the
/// provider lacks it, or the groups that it needs.
#[test]
fn a_session_is_not_offered_without_its_suite_or_groups() {
    let [client, _] = ours(Provider::AwsLc, Versions::Tls12);
    let usual = Provider::AwsLc.this();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(client.identity.certificate.clone()).unwrap();
    let crypto = usual.clone().into();
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), crypto);
    let verifier = verifier.build().unwrap();
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
        let client = client.changed(|changed| *changed = config.clone());
        client.first(&Kind::Id.script());
        for (provider, is_offered) in [(&usual, true), (without, false)] {
            let mut other = with(provider, versions);
            other.resumption = config.resumption.clone();
            other.client_auth_cert_resolver = config.client_auth_cert_resolver.clone();
            let other = client.changed(|changed| *changed = other);
            assert_eq!(other.offers().0, is_offered, "{what}");
        }
    }
}

/// RFC 7627 §5.3: the extended master secret is used in both handshakes or in neither.
#[test]
fn both_handshakes_must_agree_on_the_extended_master_secret() {
    let without = |script: Script| {
        let is_it = |typ: u16| typ == EXTENDED_MASTER_SECRET;
        script.edit(|script| script.hello.extensions.retain(|(typ, _)| !is_it(*typ)))
    };
    let change = |script, keep| if keep { script } else { without(script) };
    for (kind, client) in of_each_kind() {
        let fresh = || client.changed(|config| config.resumption = Resumption::default());
        for (extended, then_extended) in product([false, true], [false, true]) {
            let client = fresh();
            let session = client.first(&change(kind.script(), extended));
            let end = client.end(&change(kind.resuming(&session), then_extended));
            let what = format!("{} {kind:?} {extended} {then_extended}", client.name);
            if extended == then_extended {
                assert_eq!(end.error, None, "{what}");
            } else {
                end.assert_refused(&what, "ResumptionOfferedWithVariedEms", 47);
                assert_eq!(client.offers(), NOTHING, "{what}");
            }
        }
        // if it is required, a session without it is not offered either
        let client = fresh();
        client.first(&without(kind.script()));
        let demanding = client.changed(|config| config.require_ems = true);
        assert_eq!(demanding.offers(), NOTHING, "{} {kind:?}", client.name);
    }
}

/// The client rejects the answer to its offer. If it kept the session, it would offer it in every
/// connection and always fail.
#[test]
fn a_failed_resumption_discards_the_session() {
    type Wrong = fn(&mut Script);
    const WRONG: [(&str, Wrong, &str, u8); 6] = table! {
        "TLS 1.1": |it| it.hello.legacy_version = 0x0302, "ServerDoesNotSupportTls12Or13", 70;
        "compression": |it| it.hello.compression = 1, "SelectedUnofferedCompression", 47;
        "a protocol": |it| it.hello.extensions.push(bytes(16, b"\0\x03\x02xx")),
            "SelectedUnofferedApplicationProtocol", 47;
        // RFC 5246 §7.4.1.3: the session's suite
        "a suite": |it| it.hello.suite = 0xc02c, "ResumptionOfferedWithVariedCipherSuite", 47;
        "Finished": |it| it.edit_verify_data = |data| data[0] ^= 1, "DecryptError", 51;
        // the server's Finished cannot be opened
        "secret": |it| it.resumes.as_mut().unwrap().master_secret[47] ^= 1, "DecryptError", 20;
    };
    for (kind, client) in of_each_kind() {
        for (wrong, edit, error, alert) in WRONG {
            let what = format!("{} {kind:?} {wrong}", client.name);
            let session = client.first(&kind.script());
            assert_ne!(client.offers(), NOTHING, "{what}");
            let outcome = client.run(&kind.resuming(&session).edit(edit));
            End::of(&outcome).assert_refused(&what, error, alert);
            assert!(!outcome.client_finished, "{what}");
            assert_eq!(client.offers(), NOTHING, "{what}");
        }
    }
}

/// RFC 5246 §7.2.2: a fatal alert ends the session in use; a close_notify does not.
#[test]
fn a_failed_connection_ends_its_session() {
    for (kind, client) in of_each_kind() {
        let check = |script: Script, at: usize, alert: [u8; 2], is_kept: bool| {
            let alerts = Step::Raw(ContentType::Alert, alert.to_vec());
            let script = script.with_step(at, alerts);
            let end = client.end(&script.edit(|script| script.steps.push(Step::Await)));
            let what = format!("{} {kind:?} {alert:?} at {at}", client.name);
            let error = (alert == FATAL).then_some("AlertReceived(InternalError)");
            assert_eq!(end.error.as_deref(), error, "{what}");
            assert_eq!(client.offers() != NOTHING, is_kept, "{what}");
        };
        check(kind.script(), kind.script().steps.len(), FATAL, false);
        for at in 0..=4 {
            let session = client.first(&kind.script());
            assert_ne!(client.offers(), NOTHING, "{}", client.name);
            check(kind.resuming(&session), at, FATAL, false);
        }
        let session = client.first(&kind.script());
        check(kind.resuming(&session), 4, [1, 0], true);
        // the server declines the session: its ServerHello has no session ID
        check(Script::new(), 1, FATAL, true);
    }
}

/// The content of an internal_error.
const FATAL: [u8; 2] = [2, 80];

/// Creates a script that resumes `session` and sends a new ticket.
fn renewing(session: &Session, edit: impl FnOnce(&mut Script)) -> Script {
    Kind::Ticket
        .resuming(session)
        .with_step(1, Step::Send(HandshakeType::NewSessionTicket))
        .with_extension(bytes(SESSION_TICKET, &[]))
        .edit(edit)
}

#[test]
fn a_new_ticket_replaces_the_old_one() {
    for client in ours(Provider::AwsLc, Versions::Tls12) {
        let session = client.first(&Kind::Ticket.script());
        // an empty ticket is ignored
        for ticket in [vec![0x55; 30], vec![]] {
            let outcome = client.run(&renewing(&session, |script| script.ticket = ticket));
            assert_eq!(outcome.error, None);
            assert!(outcome.client_finished);
            let next = client.run(&Kind::Ticket.resuming(&session));
            assert_eq!(next.error, None);
            let kept = &[0x55; 30][..];
            assert_eq!(offered(&next).extension(SESSION_TICKET), Some(kept));
        }
    }
}

/// RFC 9846 §4.7.1, RFC 5246 §F.1.4: a chain of tickets does not prolong a session forever.
#[test]
fn new_tickets_do_not_prolong_a_session_forever() {
    const HOUR: u64 = 60 * 60;
    let of_a_day = |script: &mut Script| script.lifetime_hint = 24 * HOUR as u32;
    for provider in PROVIDERS {
        let clock = Clock::now();
        let start = clock.seconds();
        for client in ours_with(provider, Versions::Tls12, |config| {
            config.time_provider = clock.clone();
        }) {
            clock.set(start);
            let session = client.first(&Kind::Ticket.script().edit(of_a_day));
            for hours in (20..=180).step_by(20) {
                clock.advance(20 * HOUR as i64);
                if hours > 7 * 24 {
                    assert_eq!(client.offers(), NOTHING, "{}", client.name);
                    break;
                }
                let outcome = client.run(&renewing(&session, of_a_day));
                let what = format!("{} {hours}", client.name);
                assert_eq!(outcome.error, None, "{what}");
                assert_eq!(outcome.received, [HandshakeType::Finished], "{what}");
            }
        }
    }
}

/// The length of the longest ticket that fits into a message, after lifetime and length.
const LONGEST: usize = 0xffff - 4 - 2;

/// A server may send a ticket that is longer than all extensions of a ClientHello may be. An empty
/// ticket is ignored.
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
            for client in ours(Provider::AwsLc, versions) {
                client.first(&kind.script().edit(|script| script.ticket = vec![7; len]));
                assert_eq!(client.offers(), offer, "{} {kind:?} {len}", client.name);
            }
        }
    }
}

#[test]
fn sessions_expire_after_their_lifetime() {
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
            let start = clock.seconds();
            for client in ours_with(Provider::AwsLc, Versions::Tls12, |config| {
                config.time_provider = clock.clone();
            }) {
                clock.set(start);
                client.first(&kind.script().edit(|script| script.lifetime_hint = hint));
                clock.set(start + later);
                let offered = client.offers() != NOTHING;
                assert_eq!(offered, usable, "{kind:?} {hint} after {later}");
            }
        }
    }
}

/// Checks the calls that a store receives.
#[test]
fn the_store_changes_only_for_new_and_failed_sessions() {
    for (versions, kind) in product([Versions::Tls12, Versions::Both], KINDS) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = calls.clone();
        let store = this::Sessions::when(move |call| {
            log.lock().unwrap().push(call);
            true
        });
        let [client, _] = ours_with(Provider::AwsLc, versions, |config| {
            config.resumption = Resumption::store(store.clone());
        });
        let run = |script: &Script| {
            let outcome = client.run(script);
            let calls = std::mem::take(&mut *calls.lock().unwrap());
            let expected: &[_] = match versions {
                Versions::Both => &["take_tls13_ticket", "tls12_session", "kx_hint"],
                _ => &["take_tls13_ticket", "tls12_session"],
            };
            let (first, later_calls) = calls.split_at(expected.len());
            assert_eq!(first, expected);
            (outcome, later_calls.to_vec())
        };
        let (outcome, calls) = run(&kind.script());
        assert_eq!(calls, ["set_tls12_session"]);
        let session = outcome.session.unwrap();
        // the session is resumed twice and then declined by another machine of the server, which
        // may know it later
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
