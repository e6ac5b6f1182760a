//! Sessions by ID and by ticket, and the conditions for resuming them.

mod clients;
mod forgotten;

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions};
use harness::providers::tickets::this::Tickets;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::Reader;
use harness::wire::client_hello::{
    ALPN, ClientHello, EXTENDED_MASTER_SECRET, PSK_KEY_EXCHANGE_MODES, SERVER_NAME, SESSION_TICKET,
    STATUS_REQUEST, host_name, protocols,
};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ContentType, HandshakeType};

use super::{End, Server, Setup, servers, servers_with};

/// A ClientHello that requests a session of this kind.
pub(crate) fn hello(tickets: bool) -> ClientHello {
    let hello = ClientHello::tls12();
    if tickets {
        hello.with(SESSION_TICKET, vec![])
    } else {
        hello
    }
}

/// `hello` with an offer of `session`.
pub(crate) fn offering(hello: &ClientHello, session: &Session) -> ClientHello {
    let mut hello = hello.clone();
    if session.ticket.is_empty() {
        hello.session_id = session.id.clone();
        hello
    } else {
        // RFC 5077 §3.4: any ID will do, and the server echoes it
        hello.session_id = vec![8; 32];
        hello.with(SESSION_TICKET, session.ticket.clone())
    }
}

/// Makes a session with `server`.
pub(crate) fn session(server: &Server, hello: &ClientHello) -> Session {
    let mut client = server.connect(hello, None).unwrap();
    assert!(!client.is_resumed());
    client.finish().unwrap();
    client.session()
}

/// Offers `session` and completes the handshake. True if the session was resumed.
fn resumes(server: &Server, hello: &ClientHello, session: &Session) -> bool {
    let mut client = server.connect(hello, Some(session)).unwrap();
    let resumed = client.is_resumed();
    client.finish().unwrap();
    assert!(client.server_finished, "{}", server.name);
    let kind = if resumed {
        "Some(Resumed)"
    } else {
        "Some(Full)"
    };
    let negotiated = client.server.negotiated();
    assert!(negotiated.ends_with(kind), "{negotiated}");
    resumed
}

/// Runs `test` with all providers, kinds of session, and servers.
fn for_each_kind(test: impl Fn(Setup, &Server)) {
    for setup in Setup::all() {
        for server in servers(setup) {
            test(setup, &server);
        }
    }
}

/// Runs `test` with each server, a hello that offers a session of it, and this session.
fn for_each_session(test: impl Fn(&Server, &ClientHello, &Session)) {
    for_each_kind(|setup, server| {
        let hello = hello(setup.tickets);
        let session = session(server, &hello);
        assert_eq!(session.ticket.is_empty(), !setup.tickets);
        test(server, &offering(&hello, &session), &session);
    });
}

#[test]
fn a_session_is_resumed_any_number_of_times() {
    for_each_session(|server, offer, session| {
        for _ in 0..3 {
            assert!(resumes(server, offer, session));
        }
    });
}

#[test]
fn a_resumed_session_gives_a_ticket_again() {
    for_each_kind(|setup, server| {
        if !setup.tickets {
            return;
        }
        let hello = hello(true);
        let mut last = session(server, &hello);
        for _ in 0..3 {
            let offer = offering(&hello, &last);
            let mut client = server.connect(&offer, Some(&last)).unwrap();
            assert!(client.is_resumed());
            assert_eq!(client.session_id, [8; 32]);
            client.finish().unwrap();
            assert!(client.message_of(HandshakeType::NewSessionTicket).is_some());
            let next = client.session();
            assert_ne!(next.ticket, last.ticket);
            last = next;
        }
    });
}

/// Without a request, the session is stored instead of a ticket. RFC 5077 §3.4: an ID beside a
/// ticket names no session, whether or not the server supports tickets.
#[test]
fn a_session_without_a_request_for_a_ticket() {
    for_each_kind(|_, server| {
        let hello = ClientHello::tls12();
        let session = session(server, &hello);
        assert!(session.ticket.is_empty());
        let offer = offering(&hello, &session);
        assert!(resumes(server, &offer, &session));
        let beside = offer.with(SESSION_TICKET, vec![1; 50]);
        assert!(!resumes(server, &beside, &session), "{}", server.name);
    });
}

#[test]
fn data_flows_on_a_resumed_session() {
    for_each_session(|server, offer, session| {
        let mut client = server.connect(offer, Some(session)).unwrap();
        client.finish().unwrap();
        client
            .send_raw(ContentType::ApplicationData, b"to the server")
            .unwrap();
        assert_eq!(client.received_by_server(), b"to the server");
        client.server.send(b"to the client");
        client.receive_output();
        assert_eq!(client.plaintext, b"to the client");
        if let Some(exported) = client.server.exported() {
            assert_ne!(exported, [0; 32]);
        }
    });
}

#[test]
fn another_name_or_suite_gets_a_session_of_its_own() {
    for_each_session(|server, offer, session| {
        let another_name = offer.clone().with(SERVER_NAME, host_name(b"other.example"));
        let no_name = offer.clone().without(SERVER_NAME);
        let another_suite = offer
            .clone()
            .edit(|hello| hello.cipher_suites = vec![0xc02c]);
        for (what, other) in [
            ("another name", another_name),
            ("no name", no_name),
            ("another suite", another_suite),
        ] {
            assert!(!resumes(server, &other, session), "{what}");
        }
        assert!(resumes(server, offer, session));
    });
}

#[test]
fn the_application_protocol_is_negotiated_again() {
    for_each_kind(|setup, server| {
        let hello = hello(setup.tickets).and(ALPN, protocols(&[b"h2"]));
        let session = session(server, &hello);
        let offer = offering(&hello, &session).with(ALPN, protocols(&[b"http/1.1"]));
        let client = server.connect(&offer, Some(&session)).unwrap();
        assert!(client.is_resumed());
        let protocol = &client.extensions.iter().find(|(typ, _)| *typ == ALPN);
        assert_eq!(protocol.unwrap().1, protocols(&[b"http/1.1"]));
    });
}

/// RFC 7627 §5.3.
#[test]
fn the_extended_master_secret_is_kept() {
    for_each_kind(|setup, server| {
        let extended = hello(setup.tickets);
        let plain = extended.clone().without(EXTENDED_MASTER_SECRET);

        let of_extended = session(server, &extended);
        let offer = offering(&plain, &of_extended);
        let refused = server.connect(&offer, Some(&of_extended)).err().unwrap();
        assert_eq!(
            refused.error,
            "PeerMisbehaved(ResumptionAttemptedWithVariedEms)"
        );
        assert_eq!(refused.alert, Some(vec![2, 47]));

        let of_plain = session(server, &plain);
        assert!(!resumes(server, &offering(&extended, &of_plain), &of_plain));
        assert!(resumes(server, &offering(&plain, &of_plain), &of_plain));
    });
}

#[test]
fn a_changed_ticket_or_id_is_no_session() {
    for setup in Setup::all() {
        for server in &servers(setup)[..2] {
            let hello = hello(setup.tickets);
            let session = session(server, &hello);
            let len = if setup.tickets {
                session.ticket.len()
            } else {
                32
            };
            for at in 0..len {
                let mut changed = session.clone();
                let bytes = match setup.tickets {
                    true => &mut changed.ticket,
                    false => &mut changed.id,
                };
                bytes[at] ^= 1 << (at % 8);
                let offer = offering(&hello, &changed);
                let client = server.connect(&offer, Some(&changed)).unwrap();
                assert!(!client.is_resumed(), "byte {at}");
            }
        }
    }
}

/// The client sends a Finished with another session's keys.
#[test]
fn a_session_needs_its_secret() {
    for_each_session(|server, offer, session| {
        let resume = || server.connect(offer, Some(session)).unwrap();
        let mut client = resume();
        client.change_cipher_spec().unwrap();
        let mut finished = client.finished();
        finished[7] ^= 1;
        let refused = client.send(&finished).unwrap_err();
        assert_eq!(
            (&*refused.error, refused.alert),
            ("DecryptError", Some(vec![2, 51]))
        );
        // no message of a full handshake is allowed here
        let mut client = resume();
        let refused = client.send(&ScriptedClient::certificate(&[])).unwrap_err();
        assert_eq!(refused.alert, Some(vec![2, 10]));
    });
}

#[test]
fn without_a_storage_there_is_no_session() {
    for provider in PROVIDERS {
        let servers = servers_with(
            Setup::new(provider),
            |ours| ours.session_storage = Arc::new(NoServerSessionStorage {}),
            |theirs| {
                theirs.session_storage =
                    Arc::new(rustls_upstream::server::NoServerSessionStorage {});
            },
        );
        for server in servers {
            let session = session(&server, &ClientHello::tls12());
            assert_eq!(session.id, b"");
        }
    }
}

/// RFC 5077 §3.3: an empty ticket means that the server sends none after all.
#[test]
fn an_oversized_ticket_is_not_sent() {
    // the message also has a lifetime and a length
    const MOST: usize = 0xffff - 4 - 2;
    for (len, sent) in [(MOST, MOST), (MOST + 1, 0), (0xffff, 0), (0x1_0000, 0)] {
        let setup = Setup::new(Provider::AwsLc);
        let (server, _) = this_server(setup, |config| {
            config.ticketer = Arc::new(Tickets::of_len(len))
        });
        assert_eq!(session(&server, &hello(true)).ticket.len(), sent, "{len}");
    }
}

/// Two servers with the same storage and ticketer, and a clock.
struct Pair {
    clock: Arc<Clock>,
    first: Server,
    second: Server,
}

impl Pair {
    /// The second server starts as a copy of the first, then `changed` is applied to it.
    fn new(setup: Setup, changed: impl FnOnce(&mut rustls::ServerConfig)) -> Self {
        let clock = Clock::now();
        let (first, config) = this_server(setup, |config| config.time_provider = clock.clone());
        let (second, _) = this_server(setup, |second| {
            second.time_provider = clock.clone();
            second.ticketer = config.ticketer.clone();
            second.session_storage = config.session_storage.clone();
            changed(second);
        });
        Self {
            clock,
            first,
            second,
        }
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    now.unwrap().as_secs()
}

/// This crate's server with a changed configuration, and that configuration.
fn this_server(
    setup: Setup,
    change: impl FnOnce(&mut rustls::ServerConfig),
) -> (Server, Arc<rustls::ServerConfig>) {
    let mut config = setup.config();
    change(&mut config);
    let config = Arc::new(config);
    let server = Server {
        name: "this",
        provider: setup.provider.this(),
        end: End::Buffered(config.clone()),
    };
    (server, config)
}

#[test]
fn sessions_are_shared_between_servers_with_equal_demands() {
    for setup in Setup::all() {
        let hello = hello(setup.tickets);
        let pair = Pair::new(setup, |_| ());
        let session = session(&pair.first, &hello);
        assert!(resumes(&pair.second, &offering(&hello, &session), &session));
    }
}

#[test]
fn sessions_end_with_their_lifetime() {
    for setup in Setup::all() {
        let hello = hello(setup.tickets);
        let pair = Pair::new(setup, |_| ());
        let session = session(&pair.first, &hello);
        let offer = offering(&hello, &session);
        let start = now();
        // the ticketer's lifetime is twelve hours
        let lifetime = if setup.tickets { 12 } else { 24 } * 60 * 60;
        for (age, expected) in [(lifetime - 60, true), (lifetime + 60, false)] {
            pair.clock.set(start + age);
            assert_eq!(resumes(&pair.second, &offer, &session), expected, "{age}");
            // setting the clock back does not make sessions younger
            pair.clock.set(start - age);
            assert_eq!(resumes(&pair.second, &offer, &session), expected, "-{age}");
        }
        // without a clock, nothing is resumed
        pair.clock.set(0);
        assert!(!resumes(&pair.second, &offer, &session));
    }
}

/// Without a clock, a server stores no session, and promises none by an id.
#[test]
fn no_session_begins_without_a_clock() {
    for setup in PROVIDERS.map(Setup::new) {
        // the clock fails at zero
        for (clock, len) in [(Clock::now(), 32), (Clock::at(0), 0)] {
            let (server, _) = this_server(setup, |config| config.time_provider = clock);
            let mut client = server.connect(&hello(false), None).unwrap();
            assert_eq!(client.session_id.len(), len);
            client.finish().unwrap();
        }
    }
}

/// RFC 5077 §3.3: zero means that the lifetime is unspecified.
#[test]
fn a_ticket_without_a_lifetime_is_good_for_a_week() {
    const WEEK: u64 = 7 * 24 * 60 * 60;
    for provider in PROVIDERS {
        let clock = Clock::now();
        let (server, _) = this_server(Setup::new(provider), |config| {
            config.time_provider = clock.clone();
            let copy = |bytes: &[u8]| Some(bytes.to_vec());
            config.ticketer = Arc::new(Tickets::new(0, copy, copy));
        });
        let hello = hello(true);
        let start = clock.seconds();
        let session = session(&server, &hello);
        let offer = offering(&hello, &session);
        for (age, expected) in [(1, true), (WEEK, true), (WEEK + 1, false)] {
            clock.set(start + age);
            assert_eq!(resumes(&server, &offer, &session), expected, "{age}");
        }
    }
}

#[test]
fn renewed_tickets_do_not_prolong_a_session_for_ever() {
    for provider in PROVIDERS {
        let setup = Setup {
            tickets: true,
            ..Setup::new(provider)
        };
        let hello = hello(true);
        let pair = Pair::new(setup, |_| ());
        // the clock stands still, so the session is of this second
        let start = pair.clock.seconds();
        let mut session = session(&pair.first, &hello);
        let mut ended = None;
        for hours in (6..300).step_by(6) {
            pair.clock.set(start + hours * 3600);
            let offer = offering(&hello, &session);
            let mut client = pair.second.connect(&offer, Some(&session)).unwrap();
            if !client.is_resumed() {
                ended = Some(hours);
                break;
            }
            client.finish().unwrap();
            session = client.session();
            // the ticket promises at most the time that is left
            let left = 7 * 24 - hours;
            let ticket = client.message_of(HandshakeType::NewSessionTicket).unwrap();
            let hint = u32::from_be_bytes(*ticket[4..].first_chunk().unwrap());
            assert_eq!(u64::from(hint), Ord::min(left, 12) * 3600);
            assert_eq!(session.ticket.is_empty(), left == 0);
        }
        assert_eq!(ended, Some(7 * 24 + 6));
    }
}

/// RFC 6066 §3: a ServerHello that resumes a session acknowledges no name. No status follows either
/// (§8).
#[test]
fn a_resumed_session_acknowledges_neither_name_nor_status() {
    for setup in Setup::all() {
        let identity = &KeyType::EcdsaP256.identities().server;
        let (server, _) = this_server(setup, |config| {
            let provider = config.crypto_provider().clone();
            let key = CertifiedKey::from_der(identity.chain.clone(), identity.key(), &provider);
            let mut key = key.unwrap();
            key.ocsp = Some(b"response".to_vec());
            config.cert_resolver = Arc::new(SingleCertAndKey::from(key));
        });
        let hello = hello(setup.tickets).and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
        let acknowledged = |client: &ScriptedClient| {
            let types = client.extensions.iter().map(|(typ, _)| *typ);
            let acknowledged = types.filter(|typ| [SERVER_NAME, STATUS_REQUEST].contains(typ));
            acknowledged.count()
        };
        let mut client = server.connect(&hello, None).unwrap();
        assert_eq!(acknowledged(&client), 2);
        client.finish().unwrap();
        let session = client.session();
        let offer = offering(&hello, &session);
        let client = server.connect(&offer, Some(&session)).unwrap();
        assert!(client.is_resumed());
        assert_eq!(acknowledged(&client), 0);
    }
}

/// The identifiers of one version's sessions mean nothing in the other.
#[test]
fn sessions_of_tls13_do_not_resume_in_tls12() {
    for setup in Setup::all() {
        let versions = Versions::Both;
        let (server, _) = this_server(Setup { versions, ..setup }, |_| ());
        let mut tls13 = harness::scripted::ScriptedClient::new(
            server.connection(),
            &server.provider,
            ClientHello::new().and(PSK_KEY_EXCHANGE_MODES, vec![1, 1]),
        );
        tls13.finish().unwrap();
        tls13.receive_output();
        let mut messages = tls13.flight.iter();
        let new = messages.find(|message| message[0] == HandshakeType::NewSessionTicket.into());
        let mut new = Reader(&new.unwrap()[4 + 4 + 4..]);
        let _nonce = new.vector(1);
        let ticket = new.vector(2).to_vec();
        for id in [ticket.get(..32).unwrap().to_vec(), vec![]] {
            let offer = ClientHello::tls12()
                .edit(|hello| hello.session_id = id)
                .with(SESSION_TICKET, ticket.clone());
            let client = server.connect(&offer, None).unwrap();
            assert!(!client.is_resumed());
        }
    }
}
