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
use rustls::client::{
    Resumption, Tls12Resumption, UnbufferedClientConnection, WebPkiServerVerifier,
};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ContentType, HandshakeType, NamedGroup,
    ProtocolVersion,
};

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

fn endpoints(config: &Arc<ClientConfig>) -> [(&'static str, Box<dyn Endpoint>); 2] {
    let buffered = ClientConnection::new(config.clone(), localhost()).unwrap();
    let unbuffered = UnbufferedClientConnection::new(config.clone(), localhost()).unwrap();
    [
        ("buffered", Box::new(ThisBuffered::new(buffered))),
        ("unbuffered", Box::new(ThisUnbuffered::new(unbuffered))),
    ]
}

fn buffered(config: &Arc<ClientConfig>) -> ThisBuffered {
    ThisBuffered::client_of(localhost(), config.clone())
}

/// Runs a full handshake between a new client and a server of this kind. Returns the session.
fn first(identity: &Identity, config: &Arc<ClientConfig>, kind: Kind) -> Session {
    first_with(identity, config, &kind.script())
}

fn first_with(identity: &Identity, config: &Arc<ClientConfig>, script: &Script) -> Session {
    let outcome = identity.run_tls12(&mut buffered(config), script);
    assert_eq!(outcome.error, None);
    assert!(outcome.client_finished);
    assert!(outcome.received.contains(&HandshakeType::ClientKeyExchange));
    outcome.session.unwrap()
}

fn offered(outcome: &Outcome) -> ClientHello {
    ClientHello::read(&outcome.messages[0])
}

/// Returns whether the next ClientHello offers a session by ID, and whether by ticket.
fn offers(identity: &Identity, config: &Arc<ClientConfig>) -> (bool, bool) {
    let outcome = identity.run_tls12(&mut buffered(config), &Script::new());
    let hello = offered(&outcome);
    let ticket = hello.extension(SESSION_TICKET).unwrap_or_default();
    (hello.session_id == ID, !ticket.is_empty())
}

#[test]
fn sessions_are_resumed() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for (versions, kind) in product([Versions::Tls12, Versions::Both], KINDS) {
            let config = Arc::new(this_config(&identity, provider, versions));
            let session = first(&identity, &config, kind);
            // more than once, on each API
            for (name, mut client) in endpoints(&config).into_iter().chain(endpoints(&config)) {
                let outcome = identity.run_tls12(&mut *client, &kind.resuming(&session));
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
                assert_eq!(client.peer_certificates(), [identity.certificate.to_vec()]);
            }
        }
    }
}

#[test]
fn only_resumable_sessions_are_offered() {
    let identity = Identity::new(Provider::AwsLc.this());
    for (mode, kind, offer) in [
        (Tls12Resumption::Disabled, Kind::Id, (false, false)),
        (Tls12Resumption::SessionIdOnly, Kind::Id, (true, false)),
        (Tls12Resumption::SessionIdOrTickets, Kind::Id, (true, false)),
        (
            Tls12Resumption::SessionIdOrTickets,
            Kind::Ticket,
            (false, true),
        ),
        (
            Tls12Resumption::SessionIdOrTickets,
            Kind::Both,
            (false, true),
        ),
    ] {
        let mut config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
        config.resumption = Resumption::default().tls12_resumption(mode);
        let config = Arc::new(config);
        first(&identity, &config, kind);
        assert_eq!(offers(&identity, &config), offer, "{mode:?} {kind:?}");
    }
}

/// A session with both was stored by a configuration that accepts tickets.
#[test]
fn tickets_can_be_given_up_later() {
    let identity = Identity::new(Provider::AwsLc.this());
    for (mode, offer) in [
        (Tls12Resumption::SessionIdOrTickets, (false, true)),
        (Tls12Resumption::SessionIdOnly, (true, false)),
        (Tls12Resumption::Disabled, (false, false)),
    ] {
        let config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
        let mut other = config.clone();
        first(&identity, &Arc::new(config), Kind::Both);
        other.resumption = other.resumption.tls12_resumption(mode);
        assert_eq!(offers(&identity, &Arc::new(other)), offer, "{mode:?}");
    }
}

/// A session resumes only under the configuration that it was made with.
#[test]
fn sessions_do_not_cross_configurations() {
    let identity = Identity::new(Provider::AwsLc.this());
    let fresh = || this_config(&identity, Provider::AwsLc, Versions::Tls12);
    let config = fresh();
    first(&identity, &Arc::new(config.clone()), Kind::Id);

    // another verifier or resolver, even with the same settings
    let mut other_verifier = fresh();
    other_verifier.resumption = config.resumption.clone();
    other_verifier.client_auth_cert_resolver = config.client_auth_cert_resolver.clone();
    let mut other_resolver = config.clone();
    other_resolver.client_auth_cert_resolver = fresh().client_auth_cert_resolver;
    for (name, other) in [("verifier", other_verifier), ("resolver", other_resolver)] {
        assert_eq!(
            offers(&identity, &Arc::new(other)),
            (false, false),
            "{name}"
        );
        assert_eq!(offers(&identity, &Arc::new(config.clone())), (true, false));
    }
    // another name
    let other = ClientConnection::new(Arc::new(config), "other".try_into().unwrap());
    let mut other = ThisBuffered::new(other.unwrap());
    let hello = harness::wire::plain_messages(&other.take_output());
    assert!(ClientHello::read(&hello).session_id.is_empty());
}

/// RFC 5246 §7.4.1.2: the session's suite must be among those offered.
#[test]
fn a_provider_without_the_suite_of_the_session() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let provider = Provider::AwsLc.this();
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots.into(), provider.into()).build();
    let verifier = verifier.unwrap();
    let with = |keep: fn(CipherSuite) -> bool, like: Option<&ClientConfig>| {
        let mut provider = Provider::AwsLc.this();
        provider.cipher_suites.retain(|suite| keep(suite.suite()));
        let builder = ClientConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_webpki_verifier(verifier.clone());
        let mut config = builder.with_no_client_auth();
        if let Some(like) = like {
            config.resumption = like.resumption.clone();
            config.client_auth_cert_resolver = like.client_auth_cert_resolver.clone();
        }
        config
    };
    let config = with(|_| true, None);
    first(&identity, &Arc::new(config.clone()), Kind::Id);
    for (keep, offered) in [
        ((|_| true) as fn(CipherSuite) -> bool, true),
        (
            |suite| suite != CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            false,
        ),
    ] {
        let other = ClientConnection::new(Arc::new(with(keep, Some(&config))), localhost());
        let mut other = ThisBuffered::new(other.unwrap());
        let hello = harness::wire::plain_messages(&other.take_output());
        assert_eq!(ClientHello::read(&hello).session_id == ID, offered);
    }
}

/// The suite is known, but none of the groups that it needs.
#[test]
fn a_provider_without_a_group_for_the_suite_of_the_session() {
    let identity = Identity::new(Provider::AwsLc.this());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let provider = Provider::AwsLc.this();
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone().into()).build();
    let verifier = verifier.unwrap();
    let with = |provider: &CryptoProvider| {
        ClientConfig::builder_with_provider(provider.clone().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_webpki_verifier(verifier.clone())
            .with_no_client_auth()
    };
    let first_config = with(&provider);
    first(&identity, &Arc::new(first_config.clone()), Kind::Id);
    let offers_session = |provider: &CryptoProvider| {
        let mut config = with(provider);
        config.resumption = first_config.resumption.clone();
        config.client_auth_cert_resolver = first_config.client_auth_cert_resolver.clone();
        let client = ClientConnection::new(config.into(), localhost());
        let hello = ThisBuffered::new(client.unwrap()).take_output();
        let hello = harness::wire::plain_messages(&hello);
        ClientHello::read(&hello).session_id == ID
    };
    assert!(offers_session(&provider));
    // ECDHE for TLS 1.3 only
    let finite = Only(NamedGroup::FFDHE2048, ProtocolVersion::TLSv1_2);
    let groups = vec![X25519MLKEM768, Box::leak(Box::new(finite))];
    assert!(!offers_session(&ffdhe::this::provider(provider, groups)));
}

#[test]
fn another_suite_for_the_session() {
    let identity = Identity::new(Provider::AwsLc.this());
    let config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
    let script = Kind::Id.script().edit(|script| {
        script.hello.suite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384.into()
    });
    let config = Arc::new(config);
    let session = first_with(&identity, &config, &script);

    // RFC 5246 §7.4.1.3: the session's suite
    let varied = Kind::Id.resuming(&session);
    let outcome = identity.run_tls12(&mut buffered(&config), &varied);
    let end = End::of(&outcome);
    let error = end.error.unwrap_or_default();
    assert!(
        error.contains("ResumptionOfferedWithVariedCipherSuite"),
        "{error}"
    );
    assert_eq!(end.alert, Some(47));
    // the session is removed
    assert_eq!(offers(&identity, &config), (false, false));
}

/// RFC 7627 §5.3: it is used in both handshakes or in neither.
#[test]
fn the_extended_master_secret_does_not_vary() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        let without = |script: Script| {
            let is_it = |typ: u16| typ == EXTENDED_MASTER_SECRET;
            script.edit(|script| script.hello.extensions.retain(|(typ, _)| !is_it(*typ)))
        };
        for kind in KINDS {
            for (extended, then_extended) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                let config = Arc::new(this_config(&identity, provider, Versions::Tls12));
                let change = |script, keep| if keep { script } else { without(script) };
                let session = first_with(&identity, &config, &change(kind.script(), extended));
                let script = change(kind.resuming(&session), then_extended);
                let end = End::of(&identity.run_tls12(&mut buffered(&config), &script));
                if extended == then_extended {
                    assert_eq!(end.error, None);
                } else {
                    let error = end.error.unwrap_or_default();
                    assert!(error.contains("ResumptionOfferedWithVariedEms"), "{error}");
                    assert_eq!(end.alert, Some(47));
                    assert_eq!(offers(&identity, &config), (false, false));
                }
            }
            // if it is required, a session without it is not offered either
            let mut config = this_config(&identity, provider, Versions::Tls12);
            first_with(
                &identity,
                &Arc::new(config.clone()),
                &without(kind.script()),
            );
            config.require_ems = true;
            assert_eq!(offers(&identity, &Arc::new(config)), (false, false));
        }
    }
}

/// Another machine of the server may know the session.
#[test]
fn a_declined_session_is_offered_again() {
    let identity = Identity::new(Provider::AwsLc.this());
    for kind in KINDS {
        for client in clients(&identity, Provider::AwsLc, Versions::Tls12) {
            let session = client.run(&identity, &kind.script()).session.unwrap();
            for _ in 0..2 {
                let outcome = client.run(&identity, &Script::new());
                assert_eq!(outcome.error, None);
                let full = HandshakeType::ClientKeyExchange;
                assert!(outcome.received.contains(&full));
            }
            let outcome = client.run(&identity, &kind.resuming(&session));
            assert_eq!(outcome.error, None);
            assert_eq!(outcome.received, [HandshakeType::Finished]);
        }
    }
}

#[test]
fn a_session_with_a_wrong_finished_is_removed() {
    let identity = Identity::new(Provider::AwsLc.this());
    for kind in KINDS {
        let config = Arc::new(this_config(&identity, Provider::AwsLc, Versions::Tls12));
        let session = first(&identity, &config, kind);
        let wrong = kind
            .resuming(&session)
            .edit(|script| script.edit_verify_data = |data| data[0] ^= 1);
        let outcome = identity.run_tls12(&mut buffered(&config), &wrong);
        assert_eq!(outcome.error.as_deref(), Some("DecryptError"));
        assert!(!outcome.client_finished);
        assert_eq!(offers(&identity, &config), (false, false), "{kind:?}");
    }
}

/// The server has the wrong secret for the session.
#[test]
fn a_server_without_the_secret_is_refused() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for kind in KINDS {
            let config = Arc::new(this_config(&identity, provider, Versions::Tls12));
            let mut session = first(&identity, &config, kind);
            session.master_secret[47] ^= 1;
            let outcome = identity.run_tls12(&mut buffered(&config), &kind.resuming(&session));
            assert_eq!(outcome.error.as_deref(), Some("DecryptError"));
            // otherwise every connection would offer it again
            assert_eq!(offers(&identity, &config), (false, false));
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
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for kind in KINDS {
            let config = Arc::new(this_config(&identity, provider, Versions::Tls12));
            for api in [0, 1] {
                let fails = |script: Script, at: usize| {
                    let (name, mut client) = endpoints(&config).into_iter().nth(api).unwrap();
                    let outcome = identity.run_tls12(&mut *client, &with(script, at, [2, 80]));
                    let error = outcome.error.unwrap_or_default();
                    let what = format!("{name} {kind:?} at {at}");
                    assert_eq!(error, "AlertReceived(InternalError)", "{what}");
                    assert_eq!(offers(&identity, &config), (false, false), "{what}");
                };
                fails(kind.script(), kind.script().steps.len());
                for at in 0..=4 {
                    let session = first(&identity, &config, kind);
                    assert_ne!(offers(&identity, &config), (false, false));
                    fails(kind.resuming(&session), at);
                }
            }

            let session = first(&identity, &config, kind);
            let closed = with(kind.resuming(&session), 4, [1, 0]);
            let outcome = identity.run_tls12(&mut buffered(&config), &closed);
            assert_eq!(outcome.error, None);
            assert_ne!(offers(&identity, &config), (false, false), "{kind:?}");
        }
    }
}

/// The client rejects the answer to its offer, and would do so again.
#[test]
fn a_session_ends_with_an_answer_that_is_refused() {
    type Wrong = fn(&mut Script);
    const WRONG: [(&str, Wrong); 3] = [
        ("legacy_version", |script| {
            script.hello.legacy_version = 0x0302
        }),
        ("compression", |script| script.hello.compression = 1),
        ("application protocol", |script| {
            script.hello.extensions.push(bytes(16, b"\0\x03\x02xx"));
        }),
    ];
    let identity = Identity::new(Provider::AwsLc.this());
    for kind in KINDS {
        let config = Arc::new(this_config(&identity, Provider::AwsLc, Versions::Tls12));
        for ((what, wrong), api) in product(WRONG, [0, 1]) {
            let session = first(&identity, &config, kind);
            assert_ne!(offers(&identity, &config), (false, false));
            let script = kind.resuming(&session).edit(wrong);
            let (name, mut client) = endpoints(&config).into_iter().nth(api).unwrap();
            let outcome = identity.run_tls12(&mut *client, &script);
            assert!(outcome.error.is_some(), "{name} {kind:?} {what}");
            assert_eq!(
                offers(&identity, &config),
                (false, false),
                "{name} {kind:?} {what}"
            );
        }
    }
}

#[test]
fn a_new_ticket_replaces_the_old_one() {
    let identity = Identity::new(Provider::AwsLc.this());
    let config = Arc::new(this_config(&identity, Provider::AwsLc, Versions::Tls12));
    let session = first(&identity, &config, Kind::Ticket);
    for (ticket, kept) in [(vec![0x55; 30], vec![0x55; 30]), (vec![], vec![0x55; 30])] {
        let script = Kind::Ticket
            .resuming(&session)
            .with_step(1, Step::Send(HandshakeType::NewSessionTicket))
            .with_extension(bytes(SESSION_TICKET, &[]))
            .edit(|script| script.ticket = ticket);
        let outcome = identity.run_tls12(&mut buffered(&config), &script);
        assert_eq!(outcome.error, None);
        assert!(outcome.client_finished);

        let next = identity.run_tls12(&mut buffered(&config), &Kind::Ticket.resuming(&session));
        assert_eq!(next.error, None);
        assert_eq!(offered(&next).extension(SESSION_TICKET), Some(&kept[..]));
    }
}

/// RFC 9846 §4.7.1, RFC 5246 §F.1.4: a chain of tickets does not prolong a session for ever.
#[test]
fn new_tickets_do_not_prolong_a_session_for_ever() {
    const HOUR: u64 = 60 * 60;
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        for api in [0, 1] {
            let clock = Clock::now();
            let mut config = this_config(&identity, provider, Versions::Tls12);
            config.time_provider = clock.clone();
            let config = Arc::new(config);
            let of_a_day = |script: &mut Script| script.lifetime_hint = 24 * HOUR as u32;
            let script = Kind::Ticket.script().edit(of_a_day);
            let session = first_with(&identity, &config, &script);
            for hours in (20..=180).step_by(20) {
                clock.advance(20 * HOUR as i64);
                if hours > 7 * 24 {
                    assert_eq!(offers(&identity, &config), (false, false));
                    break;
                }
                let script = Kind::Ticket
                    .resuming(&session)
                    .with_step(1, Step::Send(HandshakeType::NewSessionTicket))
                    .with_extension(bytes(SESSION_TICKET, &[]))
                    .edit(of_a_day);
                let (name, mut client) = endpoints(&config).into_iter().nth(api).unwrap();
                let outcome = identity.run_tls12(&mut *client, &script);
                assert_eq!(outcome.error, None, "{name} {hours}");
                assert_eq!(
                    outcome.received,
                    [HandshakeType::Finished],
                    "{name} {hours}"
                );
            }
        }
    }
}

/// The longest ticket that fits into a message, after lifetime and length.
const LONGEST: usize = 0xffff - 4 - 2;

/// A server may send a ticket longer than all extensions of a ClientHello may be.
#[test]
fn a_ticket_that_does_not_fit_is_left_out() {
    let identity = Identity::new(Provider::AwsLc.this());
    for versions in [Versions::Tls12, Versions::Both] {
        for (kind, len, offer) in [
            (Kind::Ticket, 3000, (false, true)),
            (Kind::Ticket, 0xfb00, (false, true)),
            (Kind::Ticket, LONGEST, (false, false)),
            (Kind::Both, LONGEST, (true, false)),
        ] {
            let config = Arc::new(this_config(&identity, Provider::AwsLc, versions));
            let script = kind.script().edit(|script| script.ticket = vec![7; len]);
            first_with(&identity, &config, &script);
            assert_eq!(offers(&identity, &config), offer, "{kind:?} {len}");
        }
    }
}

#[test]
fn an_empty_ticket_counts_as_none() {
    let identity = Identity::new(Provider::AwsLc.this());
    let config = Arc::new(this_config(&identity, Provider::AwsLc, Versions::Tls12));
    let script = Kind::Ticket.script().edit(|script| script.ticket = vec![]);
    first_with(&identity, &config, &script);
    assert_eq!(offers(&identity, &config), (false, false));
}

#[test]
fn sessions_end() {
    const DAY: u64 = 24 * 60 * 60;
    let identity = Identity::new(Provider::AwsLc.this());
    for (kind, hint, lifetime) in [
        (Kind::Id, 0, DAY),
        (Kind::Ticket, 0, DAY),
        (Kind::Ticket, 3600, 3600),
        // RFC 9846 §4.7.1 limits the lifetime in TLS 1.3; here it is a hint
        (Kind::Ticket, u32::MAX, 7 * DAY),
    ] {
        for (later, usable) in [(0, true), (lifetime - 1, true), (lifetime, false)] {
            let clock = Clock::now();
            let mut config = this_config(&identity, Provider::AwsLc, Versions::Tls12);
            config.time_provider = clock.clone();
            let config = Arc::new(config);
            let script = kind.script().edit(|script| script.lifetime_hint = hint);
            first_with(&identity, &config, &script);
            clock.advance(later as i64);
            let offered = offers(&identity, &config) != (false, false);
            assert_eq!(offered, usable, "{kind:?} {hint} after {later}");
        }
    }
}

/// Upstream's client behaves in the same way with these servers.
#[test]
fn upstream_agrees() {
    let identity = Identity::new(Provider::AwsLc.this());
    for kind in KINDS {
        for client in clients(&identity, Provider::AwsLc, Versions::Tls12) {
            let outcome = client.run(&identity, &kind.script());
            assert_eq!(outcome.error, None, "{}", client.name);
            let session = outcome.session.unwrap();
            for _ in 0..2 {
                let outcome = client.run(&identity, &kind.resuming(&session));
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
    let identity = Identity::new(Provider::AwsLc.this());
    for (versions, kind) in product([Versions::Tls12, Versions::Both], KINDS) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let log = calls.clone();
        let store = this::Sessions::when(move |call| {
            log.lock().unwrap().push(call);
            true
        });
        let mut config = this_config(&identity, Provider::AwsLc, versions);
        config.resumption = Resumption::store(store);
        let config = Arc::new(config);
        let run = |script: &Script| {
            let outcome = identity.run_tls12(&mut buffered(&config), script);
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
        for _ in 0..2 {
            let (outcome, calls) = run(&kind.resuming(&session));
            assert_eq!((outcome.error, calls), (None, vec![]));
        }
        // another machine of the server may know it
        let (outcome, calls) = run(&Script::new());
        assert_eq!((outcome.error, calls), (None, vec![]));
        let failed = kind
            .resuming(&session)
            .edit(|script| script.edit_verify_data = |data| data[0] ^= 1);
        let (_, calls) = run(&failed);
        assert_eq!(calls, ["remove_tls12_session"]);
    }
}
