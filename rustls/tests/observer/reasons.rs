//! Each reason why a session is not resumed, or early data is rejected, as both sides report it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::peers::callbacks::Clock;
use harness::peers::configs::this::roots;
use harness::peers::configs::{self, ClientAuth, PROVIDERS, Provider, Versions, product};
use harness::peers::endpoints::{Endpoint, ThisBuffered, exchange};
use harness::peers::events::{Event, Events, Facts, What};
use harness::peers::roles::this::Config;
use harness::peers::servers::{Server, Settings, hello, request_another_share};
use harness::providers::tickets::this::Tickets;
use harness::providers::transparent::{self, Resumes, Setup};
use harness::quic::{self, Framed, Version};
use harness::scripted::tls12::server::Script;
use harness::scripted::{Identity, OfferedPsk, ScriptedClient};
use harness::verifiers::this::Verifier;
use harness::wire::client_hello::{ClientHello, EXTENDED_MASTER_SECRET};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Tls12Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::observer::{EarlyData, EarlyDataRejected, NotResumed, TicketAction};
use rustls::pki_types::UnixTime;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, CipherSuite, ClientConfig, NamedGroup, ServerConfig, SupportedCipherSuite,
};

use super::pairs::{Api, KEY_TYPE, Pair, Wire, failed, finished};

const DAY: i64 = 24 * 60 * 60;

/// Returns the facts of a handshake that has finished or failed.
fn facts(events: &[Event]) -> &Facts {
    match failed(events) {
        Some(failed) if failed.during_handshake => &failed.handshake,
        _ => finished(events),
    }
}

/// Returns the reason against a ticket.
fn refused(events: &[Event]) -> Option<NotResumed> {
    events.iter().find_map(|event| match &event.what {
        What::Ticket(ticket) if ticket.action == TicketAction::Refused => ticket.reason,
        _ => None,
    })
}

/// The reports of both sides.
struct Reports {
    client: Facts,
    server: Facts,
    /// The reason against a ticket in the server's event.
    refused: Option<NotResumed>,
}

fn take(pair: &Pair) -> Reports {
    let (client, server) = (pair.of_client.take_one(), pair.of_server.take_one());
    Reports {
        client: facts(&client).clone(),
        server: facts(&server).clone(),
        refused: refused(&server),
    }
}

/// Connects, also if a side rejects the other.
fn connect(pair: &Pair, api: Api) -> Reports {
    let [client, server] = pair.ends([api; 2]);
    run(pair, client, server)
}

fn run(pair: &Pair, mut client: Wire, mut server: Wire) -> Reports {
    client.send_early(b"early");
    let _ = exchange(&mut client, &mut server);
    drop((client, server));
    take(pair)
}

/// Returns the provider with only this suite.
fn only(provider: Provider, suite: CipherSuite) -> CryptoProvider {
    configs::this::provider_of(provider, suite)
}

/// Returns a suite that is not the first one, and has another hash.
fn other_suite(versions: Versions) -> CipherSuite {
    match versions {
        Versions::Tls13 => CipherSuite::TLS13_AES_128_GCM_SHA256,
        _ => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    }
}

/// Replaces the provider, the versions and the verifier of `server`.
pub(super) fn rebuild(
    server: &mut ServerConfig,
    crypto: CryptoProvider,
    versions: Versions,
    verifier: Arc<dyn ClientCertVerifier>,
) {
    let mut other = ServerConfig::builder_with_provider(crypto.into())
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(server.cert_resolver.clone());
    other.alpn_protocols = server.alpn_protocols.clone();
    other.session_storage = server.session_storage.clone();
    other.ticketer = server.ticketer.clone();
    other.max_early_data_size = server.max_early_data_size;
    other.observer = server.observer.clone();
    *server = other;
}

/// Replaces the provider and the versions of `client`.
fn rebuild_client(
    client: &mut ClientConfig,
    crypto: CryptoProvider,
    versions: Versions,
    verifier: &Arc<dyn ServerCertVerifier>,
) {
    let mut other = ClientConfig::builder_with_provider(crypto.into())
        .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_no_client_auth();
    other.client_auth_cert_resolver = client.client_auth_cert_resolver.clone();
    other.alpn_protocols = client.alpn_protocols.clone();
    other.resumption = client.resumption.clone();
    other.enable_early_data = client.enable_early_data;
    other.observer = client.observer.clone();
    *client = other;
}

fn nobody() -> Arc<dyn ClientCertVerifier> {
    WebPkiClientVerifier::no_client_auth()
}

/// A clock that does not know the time.
#[derive(Debug)]
struct NoClock;

impl TimeProvider for NoClock {
    fn current_time(&self) -> Option<UnixTime> {
        None
    }
}

fn later() -> Arc<Clock> {
    let clock = Clock::now();
    clock.advance(8 * DAY);
    clock
}

/// Each change of the server after the session was made, for sessions of these versions in the
/// storage or in tickets.
type Change = fn(&mut ServerConfig, Provider, Versions);

const TICKETS: &[bool] = &[true];
const STORED: &[bool] = &[false];
const BOTH: &[bool] = &[true, false];

const SERVERS: &[(NotResumed, &[bool], Change)] = &[
    (
        NotResumed::UnreadableTicket,
        TICKETS,
        |server, provider, _| {
            server.ticketer = provider.this_ticketer();
        },
    ),
    (
        NotResumed::NoSessions,
        TICKETS,
        |server, provider, versions| {
            let crypto = provider.this();
            let ticketer = configs::this::server_of(versions, crypto, KEY_TYPE, ClientAuth::None);
            server.ticketer = ticketer.ticketer;
            server.session_storage = Arc::new(NoServerSessionStorage {});
        },
    ),
    (NotResumed::NoSessions, BOTH, |server, _, _| {
        server.time_provider = Arc::new(NoClock);
    }),
    (NotResumed::NotStored, STORED, |server, _, _| {
        server.session_storage = ServerSessionMemoryCache::new(32);
    }),
    (NotResumed::OtherFormat, STORED, |server, _, _| {
        let garbage = Tickets::new(3600, |_| None, |_| Some(vec![1, 2, 3]));
        server.session_storage = Arc::new(garbage);
    }),
    (NotResumed::OtherFormat, TICKETS, |server, _, _| {
        let garbage = Tickets::new(3600, |_| None, |_| Some(vec![1, 2, 3]));
        server.ticketer = Arc::new(garbage);
    }),
    (
        NotResumed::OtherCipherSuite,
        BOTH,
        |server, provider, versions| {
            let other = only(provider, other_suite(versions));
            rebuild(server, other, versions, nobody());
        },
    ),
    (NotResumed::Expired, BOTH, |server, _, _| {
        server.time_provider = later()
    }),
    (
        NotResumed::OtherPolicy,
        BOTH,
        |server, provider, versions| {
            let crypto = Arc::new(provider.this());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(KEY_TYPE), crypto);
            let verifier = verifier.allow_unauthenticated().build().unwrap();
            rebuild(server, provider.this(), versions, verifier);
        },
    ),
    (
        NotResumed::OtherCertificate,
        BOTH,
        |server, provider, versions| {
            let client = &KEY_TYPE.identities().client;
            let other = ServerConfig::builder_with_provider(provider.this().into())
                .with_protocol_versions(&versions.choose(&TLS12, &TLS13))
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(client.chain.clone(), client.key())
                .unwrap();
            server.cert_resolver = other.cert_resolver;
        },
    ),
];

#[test]
fn a_server_reports_why_it_does_not_resume_a_session() {
    for ((reason, kinds, change), provider) in product(SERVERS.iter().copied(), PROVIDERS) {
        let kinds = product(Versions::EACH, kinds.iter().copied());
        for ((versions, in_tickets), api) in product(kinds, [Api::Buffered, Api::Unbuffered]) {
            let what = format!("{reason:?} {provider:?} {versions:?} {in_tickets} {api:?}");
            let pair = Pair::with(provider, versions, ClientAuth::None, |_, server| {
                if in_tickets {
                    server.ticketer = provider.this_ticketer();
                }
            });
            connect(&pair, api);
            let changed = pair.edit(|_| (), |server| change(server, provider, versions));
            let reports = connect(&changed, api);
            assert_eq!(reports.server.not_resumed, Some(reason), "{what}");
            // a session ID is no ticket
            let is_ticket = in_tickets || versions == Versions::Tls13;
            assert_eq!(reports.refused, is_ticket.then_some(reason), "{what}");
            let of_client = reports.client.not_resumed;
            assert_eq!(of_client, Some(NotResumed::RefusedByServer), "{what}");
            assert!(reports.server.resumed_from.is_none() && reports.client.resumed_from.is_none());
        }
    }
}

#[test]
fn another_server_name_is_reported_as_the_reason() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let pair = Pair::of(provider, versions);
        connect(&pair, Api::Buffered);
        let unnamed = pair.edit(|client| client.enable_sni = false, |_| ());
        let reports = connect(&unnamed, Api::Buffered);
        let expected = Some(NotResumed::OtherServerName);
        assert_eq!(reports.server.not_resumed, expected);
    }
}

/// Each session renews the ticket, but not for ever. This client does not heed the lifetime.
#[test]
fn a_chain_of_sessions_that_began_too_long_ago_is_not_resumed() {
    const HOUR: i64 = 60 * 60;
    let settings = Settings::new(Provider::AwsLc);
    let (server, events) = scripted(&settings, |_| ());
    let mut ticket = server.tickets(&settings).remove(0);
    let _ = events.take_one();
    for hours in (20..200).step_by(20) {
        settings.clock.advance(20 * HOUR);
        let offer = ticket.offer(20 * 60 * 60 * 1000);
        let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
        client.start_handshake();
        client.finish().unwrap();
        ticket = client.tickets().remove(0);
        drop(client);
        let reason = facts(&events.take_one()).not_resumed;
        if hours > 7 * 24 {
            assert_eq!(reason, Some(NotResumed::TooLongAgo));
            return;
        }
        assert_eq!(reason, None);
    }
    panic!("sessions are prolonged for ever");
}

#[test]
fn a_client_that_is_no_longer_accepted_is_reported_as_the_reason() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let revoked = Arc::new(AtomicBool::new(false));
        let is_revoked = revoked.clone();
        let crypto = provider.this();
        let verifier = Verifier::checking_signatures(crypto.signature_verification_algorithms)
            .with_certificates(move |_| match is_revoked.load(Ordering::SeqCst) {
                true => Err(CertificateError::Revoked.into()),
                false => Ok(()),
            });
        let auth = ClientAuth::Required;
        let pair = Pair::with(provider, versions, auth, |_, server| {
            rebuild(server, crypto, versions, Arc::new(verifier));
        });
        connect(&pair, Api::Buffered);
        revoked.store(true, Ordering::SeqCst);
        let reports = connect(&pair, Api::Buffered);
        let expected = Some(NotResumed::ClientNotAccepted);
        assert_eq!(reports.server.not_resumed, expected, "{versions:?}");
    }
}

/// Returns the server and its observer for scripted clients.
fn scripted(settings: &Settings, edit: impl FnOnce(&mut ServerConfig)) -> (Server, Arc<Events>) {
    let events = Events::new();
    let mut config = settings.ours();
    config.observer = Some(events.clone());
    edit(&mut config);
    (Server::Buffered(config.into()), events)
}

#[test]
fn a_missing_key_exchange_mode_is_reported_as_the_reason() {
    for settings in Settings::all() {
        let (server, events) = scripted(&settings, |_| ());
        let mut offer = server.tickets(&settings).remove(0).offer(0);
        let _ = events.take_one();
        offer.modes = vec![0];
        let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
        client.finish().unwrap();
        drop(client);
        let events = events.take_one();
        let expected = Some(NotResumed::NoKeyExchangeMode);
        assert_eq!(facts(&events).not_resumed, expected);
        assert_eq!(refused(&events), expected);
    }
}

#[test]
fn a_missing_extended_master_secret_is_reported_as_the_reason() {
    let settings = Settings::tls12(Provider::AwsLc);
    let (server, events) = scripted(&settings, |_| ());
    let extended = ClientHello::tls12();
    let plain = extended.clone().without(EXTENDED_MASTER_SECRET);
    let mut client = server.connect_tls12(&plain, None).unwrap();
    client.finish().unwrap();
    let session = client.session();
    drop(client);
    let _ = events.take_one();
    let mut offer = extended;
    offer.session_id = session.id.clone();
    let mut client = server.connect_tls12(&offer, Some(&session)).unwrap();
    client.finish().unwrap();
    drop(client);
    let expected = Some(NotResumed::NoExtendedMasterSecret);
    assert_eq!(facts(&events.take_one()).not_resumed, expected);
}

/// Each change of the client after the session was made.
type ClientChange = fn(&mut ClientConfig, Provider, Versions, &Arc<dyn ServerCertVerifier>);

fn server_verifier(provider: Provider) -> Arc<dyn ServerCertVerifier> {
    let crypto = Arc::new(provider.this());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots(KEY_TYPE), crypto);
    verifier.build().unwrap()
}

const CLIENTS: &[(NotResumed, &[Versions], ClientChange)] = &[
    // the time is also missing for the server's certificate, so the handshake fails
    (
        NotResumed::NoSessions,
        &Versions::EACH,
        |client, _, _, _| client.time_provider = Arc::new(NoClock),
    ),
    (NotResumed::Expired, &Versions::EACH, |client, _, _, _| {
        client.time_provider = later();
    }),
    (
        NotResumed::OtherPolicy,
        &Versions::EACH,
        |client, provider, _, _| {
            let other = server_verifier(provider);
            client.dangerous().set_certificate_verifier(other);
        },
    ),
    (
        NotResumed::VersionDisabled,
        &Versions::EACH,
        |client, provider, versions, verifier| {
            let other = match versions {
                Versions::Tls12 => Versions::Tls13,
                _ => Versions::Tls12,
            };
            rebuild_client(client, provider.this(), other, verifier);
        },
    ),
    (
        NotResumed::OtherCipherSuite,
        &Versions::EACH,
        |client, provider, versions, verifier| {
            let other = only(provider, other_suite(versions));
            rebuild_client(client, other, versions, verifier);
        },
    ),
];

#[test]
fn a_client_reports_why_it_does_not_offer_a_session() {
    for ((reason, versions, change), provider) in product(CLIENTS.iter().copied(), PROVIDERS) {
        for (versions, api) in product(versions.iter().copied(), [Api::Buffered, Api::Unbuffered]) {
            let what = format!("{reason:?} {provider:?} {versions:?} {api:?}");
            let verifier = server_verifier(provider);
            let pair = Pair::with(provider, versions, ClientAuth::None, |client, _| {
                rebuild_client(client, provider.this(), versions, &verifier);
            });
            connect(&pair, api);
            let changed = pair.edit(
                |client| change(client, provider, versions, &verifier),
                |server| rebuild(server, provider.this(), Versions::Both, nobody()),
            );
            let reports = connect(&changed, api);
            assert_eq!(reports.client.not_resumed, Some(reason), "{what}");
            // the server knows of no session
            assert_eq!(reports.server.not_resumed, None, "{what}");
            assert_eq!(reports.refused, None, "{what}");
        }
    }
}

/// Returns the report of a client that does not offer its session because of `change`.
fn unoffered(pair: &Pair, api: Api, change: impl FnOnce(&mut ClientConfig)) -> Reports {
    connect(pair, api);
    let reports = connect(&pair.edit(change, |_| ()), api);
    assert_eq!(reports.server.not_resumed, None);
    assert_eq!(reports.refused, None);
    reports
}

/// A session that only has a ticket.
#[test]
fn a_client_that_uses_no_tickets_reports_a_session_of_another_format() {
    for (provider, api) in product(PROVIDERS, [Api::Buffered, Api::Unbuffered]) {
        let auth = ClientAuth::None;
        let pair = Pair::with(provider, Versions::Tls12, auth, |_, server| {
            server.ticketer = provider.this_ticketer();
        });
        let reports = unoffered(&pair, api, |client| {
            let resumption = client.resumption.clone();
            client.resumption = resumption.tls12_resumption(Tls12Resumption::SessionIdOnly);
        });
        assert_eq!(reports.client.not_resumed, Some(NotResumed::OtherFormat));
    }
}

/// Early data is not offered either.
#[test]
fn a_client_reports_a_ticket_that_is_too_long_to_offer() {
    let cases = product(PROVIDERS, Versions::EACH);
    for ((provider, versions), api) in product(cases, [Api::Buffered, Api::Unbuffered]) {
        let auth = ClientAuth::None;
        let pair = Pair::with(provider, versions, auth, |client, server| {
            client.enable_early_data = true;
            server.ticketer = Arc::new(Tickets::of_len(65_000));
            server.max_early_data_size = 1000;
        });
        let reports = unoffered(&pair, api, |client| {
            client.alpn_protocols.extend(vec![vec![b'x'; 250]; 3]);
        });
        assert_eq!(reports.client.not_resumed, Some(NotResumed::TooLong));
        assert_eq!(reports.client.early_data, EarlyData::NotOffered);
        assert_eq!(reports.server.early_data, EarlyData::NotOffered);
    }
}

/// A HelloRetryRequest may choose a suite with another hash.
#[test]
fn a_client_reports_a_session_that_a_retry_made_unusable() {
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13);
        connect(&pair, Api::Buffered);
        let retrying = pair.edit(
            |_| (),
            |server| {
                let mut crypto = only(provider, other_suite(Versions::Tls13));
                request_another_share(&mut crypto);
                rebuild(server, crypto, Versions::Tls13, nobody());
            },
        );
        let reports = connect(&retrying, Api::Buffered);
        let expected = Some(NotResumed::OtherCipherSuite);
        assert_eq!(reports.client.not_resumed, expected);
        assert_eq!(reports.server.not_resumed, None);
    }
}

#[test]
fn a_client_reports_a_session_without_the_required_extended_master_secret() {
    for provider in PROVIDERS {
        let identity = Identity::new(provider.this());
        let events = Events::new();
        let certificate = &identity.certificate;
        let crypto = provider.this();
        let mut config = configs::this::client_trusting(certificate, Versions::Tls12, crypto);
        config.observer = Some(events.clone());
        let connect = |config: &ClientConfig, script: &Script| {
            let localhost = "localhost".try_into().unwrap();
            let mut client = ThisBuffered::client_of(localhost, config.clone());
            let outcome = identity.run_tls12(&mut client, script);
            assert_eq!(outcome.error, None);
            drop(client);
            facts(&events.take_one()).not_resumed
        };
        let extended = Script::new().with_session_id(b"session");
        let plain = extended.clone().edit(|script| {
            let extensions = &mut script.hello.extensions;
            extensions.retain(|(typ, _)| *typ != EXTENDED_MASTER_SECRET);
        });
        assert_eq!(connect(&config, &plain), None);
        config.require_ems = true;
        let expected = Some(NotResumed::NoExtendedMasterSecret);
        assert_eq!(connect(&config, &extended), expected);
    }
}

/// A server may choose another version than that of the session.
#[test]
fn a_client_reports_that_the_server_refused_a_session_of_another_version() {
    for ((before, after), provider) in product(
        [
            (Versions::Tls12, Versions::Tls13),
            (Versions::Tls13, Versions::Tls12),
        ],
        PROVIDERS,
    ) {
        let pair = Pair::of(provider, Versions::Both);
        let at = |versions| {
            pair.edit(
                |_| (),
                |server| rebuild(server, provider.this(), versions, nobody()),
            )
        };
        connect(&at(before), Api::Buffered);
        let reports = connect(&at(after), Api::Buffered);
        let expected = Some(NotResumed::RefusedByServer);
        assert_eq!(reports.client.not_resumed, expected, "{before:?} {after:?}");
    }
}

#[test]
fn another_version_of_quic_is_reported_as_the_reason() {
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13);
        let connect_over = |of_client, of_server| {
            let (Config::Client(client), Config::Server(server)) = (&pair.client, &pair.server)
            else {
                panic!("a client and a server");
            };
            let client = quic::this::client(client, of_client, b"client").unwrap();
            let server = quic::this::server(server, of_server, b"server").unwrap();
            let [client, server] = [Framed::boxed(client), Framed::boxed(server)];
            run(&pair, Wire::new(client, true), Wire::new(server, true))
        };
        let expected = Some(NotResumed::OtherCarrier);
        connect_over(Version::V1, Version::V1);
        let reports = connect_over(Version::V2, Version::V2);
        assert_eq!(reports.client.not_resumed, expected);
        assert_eq!(reports.refused, None);
        // the versions have the same messages, so a client may offer the session all the same
        connect_over(Version::V1, Version::V1);
        let reports = connect_over(Version::V1, Version::V2);
        assert_eq!(reports.server.not_resumed, expected);
        assert_eq!(reports.refused, expected);
        let of_client = reports.client.not_resumed;
        assert_eq!(of_client, Some(NotResumed::RefusedByServer));
    }
}

/// Each change after the session that rejects early data, with the reason of the server and that of
/// the client.
const EARLY: &[(EarlyDataRejected, EarlyDataRejected, Change)] = &[
    (
        EarlyDataRejected::NotResumed,
        EarlyDataRejected::NotResumed,
        |server, _, _| server.session_storage = ServerSessionMemoryCache::new(32),
    ),
    (
        EarlyDataRejected::HelloRetryRequest,
        EarlyDataRejected::HelloRetryRequest,
        |server, provider, versions| {
            let mut crypto = provider.this();
            let groups = &mut crypto.kx_groups;
            groups.retain(|group| group.name() == NamedGroup::secp384r1);
            rebuild(server, crypto, versions, nobody());
        },
    ),
    (
        EarlyDataRejected::NotAllowed,
        EarlyDataRejected::ByServer,
        |server, _, _| server.max_early_data_size = 0,
    ),
    (
        EarlyDataRejected::OtherProtocol,
        EarlyDataRejected::ByServer,
        |server, _, _| server.alpn_protocols.clear(),
    ),
    (
        EarlyDataRejected::OtherCipherSuite,
        EarlyDataRejected::OtherCipherSuite,
        |server, provider, versions| {
            // the session's suite is still supported, but another one comes first
            let mut crypto = provider.this();
            let suites = &mut crypto.cipher_suites;
            suites.retain(|suite| suite.suite() != CipherSuite::TLS13_AES_256_GCM_SHA384);
            let is_first = |suite: &SupportedCipherSuite| {
                suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
            };
            suites.sort_by_key(|suite| !is_first(suite));
            rebuild(server, crypto, versions, nobody());
            server.ignore_client_order = true;
        },
    ),
    (
        EarlyDataRejected::Replayable,
        EarlyDataRejected::ByServer,
        |server, _, _| {
            let stored = server.session_storage.clone();
            let opens = Tickets::new(3600, |_| None, move |ticket| stored.get(ticket));
            server.ticketer = Arc::new(opens);
        },
    ),
    (
        EarlyDataRejected::TicketAge,
        EarlyDataRejected::ByServer,
        |server, _, _| {
            let clock = Clock::now();
            clock.advance(100);
            server.time_provider = clock;
        },
    ),
];

#[test]
fn both_sides_report_why_early_data_was_rejected() {
    let cases = product(EARLY.iter().copied(), PROVIDERS);
    for (((of_server, of_client, change), provider), api) in
        product(cases, [Api::Buffered, Api::Unbuffered])
    {
        let suite = match of_server {
            EarlyDataRejected::OtherCipherSuite => CipherSuite::TLS13_AES_128_GCM_SHA256,
            _ => CipherSuite::TLS13_AES_256_GCM_SHA384,
        };
        let pair = Pair::with(
            provider,
            Versions::Tls13,
            ClientAuth::None,
            |client, server| {
                client.enable_early_data = true;
                server.max_early_data_size = 1000;
                rebuild(server, only(provider, suite), Versions::Tls13, nobody());
            },
        );
        connect(&pair, api);
        let changed = pair.edit(|_| (), |server| change(server, provider, Versions::Tls13));
        let reports = connect(&changed, api);
        let what = format!("{of_server:?} {provider:?} {api:?}");
        let rejected = EarlyData::Rejected(of_server);
        assert_eq!(reports.server.early_data, rejected, "{what}");
        let rejected = EarlyData::Rejected(of_client);
        assert_eq!(reports.client.early_data, rejected, "{what}");
    }
}

#[test]
fn early_data_rejected_by_the_application_is_reported() {
    for provider in PROVIDERS {
        let pair = Pair::of(provider, Versions::Tls13).edit(
            |client| client.enable_early_data = true,
            |server| server.max_early_data_size = 1000,
        );
        connect(&pair, Api::Buffered);
        let mut server = pair.server.buffered();
        server.as_server().reject_early_data();
        let client = Api::Buffered.end(&pair.client);
        let reports = run(&pair, client, Wire::new(Box::new(server), false));
        let rejected = EarlyData::Rejected(EarlyDataRejected::ByApplication);
        assert_eq!(reports.server.early_data, rejected);
    }
}

/// A session that was created over records is resumed over QUIC, or the reverse, but without early
/// data. Clients of this crate do not offer it then.
#[test]
fn a_session_of_another_carrier_has_no_early_data() {
    const TRANSPORT_PARAMETERS: u16 = 57;
    let setup = Setup::usual(ClientAuth::None).resuming(Resumes::Stored);
    let provider = transparent::this::provider();
    for first_is_quic in [true, false] {
        let events = Events::new();
        let mut config = ServerConfig::clone(&transparent::this::Configs::new(setup).server);
        config.alpn_protocols = vec![b"h2".to_vec()];
        config.max_early_data_size = u32::MAX;
        config.observer = Some(events.clone());
        let config = Arc::new(config);
        let connect = |is_quic, offer: Option<&OfferedPsk>| {
            let server: Box<dyn Endpoint> = match is_quic {
                true => Framed::boxed(quic::this::server(&config, Version::V1, b"server").unwrap()),
                false => Box::new(ThisBuffered::server(config.clone())),
            };
            let hello = match is_quic {
                true => hello()
                    .with(TRANSPORT_PARAMETERS, b"client".to_vec())
                    .edit(|hello| hello.session_id.clear()),
                false => hello(),
            };
            let client = ScriptedClient::offering(server, &provider, hello, offer);
            let mut client = client.unwrap();
            client.start_handshake();
            client.finish().unwrap();
            let tickets = client.tickets();
            drop(client);
            (events.take_one(), tickets)
        };
        let (_, mut tickets) = connect(first_is_quic, None);
        let offer = tickets.remove(0).offer_early(0);
        let (events, _) = connect(!first_is_quic, Some(&offer));
        let rejected = EarlyData::Rejected(EarlyDataRejected::OtherCarrier);
        assert_eq!(facts(&events).early_data, rejected);
        assert_eq!(facts(&events).not_resumed, None);
        assert!(facts(&events).resumed_from.is_some());
    }
}

/// Early data belongs to the first session that a client offers.
#[test]
fn early_data_of_another_session_is_reported_as_rejected() {
    let mut settings = Settings::new(Provider::AwsLc);
    settings.max_early_data_size = 1000;
    let (server, events) = scripted(&settings, |_| ());
    let mut offer = server.tickets(&settings).remove(0).offer_early(0);
    let _ = events.take_one();
    offer.identities.insert(0, (b"another".to_vec(), 0));
    let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
    client.start_handshake();
    client.finish().unwrap();
    drop(client);
    let events = events.take_one();
    let rejected = EarlyData::Rejected(EarlyDataRejected::OtherSession);
    assert_eq!(facts(&events).early_data, rejected);
    // the second session is resumed
    assert_eq!(facts(&events).not_resumed, None);
    assert_eq!(refused(&events), None);
}
