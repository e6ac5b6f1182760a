//! Tests of sessions by ID and by ticket, and of the conditions for resuming them.

mod forgotten;

use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::servers::{Server, Settings};
use harness::providers::tickets::this::Tickets;
use harness::scripted::Refused;
use harness::scripted::tls12::Session;
use harness::scripted::tls12::client::ScriptedClient;
use harness::wire::client_hello::{
    ALPN, ClientHello, EXTENDED_MASTER_SECRET, SERVER_NAME, SESSION_TICKET, STATUS_REQUEST,
    host_name, protocols,
};
use rustls::HandshakeType;
use rustls::server::NoServerSessionStorage;
use rustls_upstream::server;

use super::all_settings;
use super::hello::stapling;

/// Creates a ClientHello that requests a session of this kind.
fn hello(tickets: bool) -> ClientHello {
    let hello = ClientHello::tls12();
    if tickets {
        hello.with(SESSION_TICKET, vec![])
    } else {
        hello
    }
}

/// Returns `hello` with an offer of `session`.
fn offering(hello: &ClientHello, session: &Session) -> ClientHello {
    let mut hello = hello.clone();
    if session.ticket.is_empty() {
        hello.session_id = session.id.clone();
        hello
    } else {
        // RFC 5077 §3.4: the ID is arbitrary, and the server echoes it
        hello.session_id = vec![8; 32];
        hello.with(SESSION_TICKET, session.ticket.clone())
    }
}

/// Creates a session with `server`.
fn session(server: &Server, hello: &ClientHello) -> Session {
    let mut client = server.connect_tls12(hello, None).unwrap();
    assert!(!client.is_resumed());
    client.finish().unwrap();
    client.session()
}

/// Offers `session` and completes the handshake. Returns true if the session was resumed.
fn resumes(server: &Server, hello: &ClientHello, session: &Session) -> bool {
    let mut client = server.connect_tls12(hello, Some(session)).unwrap();
    let resumed = client.is_resumed();
    client.finish().unwrap();
    assert!(client.server_finished, "{}", server.name());
    let negotiated = client.server.negotiated();
    let kind = if resumed {
        "Some(Resumed)"
    } else {
        "Some(Full)"
    };
    assert!(negotiated.ends_with(kind), "{negotiated}");
    resumed
}

/// Runs `test` with all providers, kinds of session, and servers, and prints them.
fn for_each_kind(test: impl Fn(&Settings, &Server)) {
    for settings in all_settings() {
        for server in settings.servers() {
            println!("{} with {settings:?}", server.name());
            test(&settings, &server);
        }
    }
}

/// Runs `test` with each server, a hello that offers a session of it, and this session.
fn for_each_session(test: impl Fn(&Server, &ClientHello, &Session)) {
    for_each_kind(|settings, server| {
        let hello = hello(settings.sealed);
        let session = session(server, &hello);
        assert_eq!(session.ticket.is_empty(), !settings.sealed);
        test(server, &offering(&hello, &session), &session);
    });
}

#[test]
fn a_resumed_connection_sends_a_new_ticket() {
    for_each_kind(|settings, server| {
        if !settings.sealed {
            return;
        }
        let hello = hello(true);
        let mut last = session(server, &hello);
        for _ in 0..3 {
            let offer = offering(&hello, &last);
            let mut client = server.connect_tls12(&offer, Some(&last)).unwrap();
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

/// Without a request for a ticket, the session is stored. RFC 5077 §3.4: an ID that is sent
/// together with a ticket does not name a session, even if the server does not support tickets.
#[test]
fn a_session_without_a_request_for_a_ticket_is_stored() {
    for_each_kind(|_, server| {
        let hello = ClientHello::tls12();
        let session = session(server, &hello);
        assert!(session.ticket.is_empty());
        let offer = offering(&hello, &session);
        assert!(resumes(server, &offer, &session));
        let beside = offer.with(SESSION_TICKET, vec![1; 50]);
        assert!(!resumes(server, &beside, &session), "{}", server.name());
    });
}

#[test]
fn a_session_does_not_resume_with_another_name_or_suite() {
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
    for_each_kind(|settings, server| {
        let hello = hello(settings.sealed).and(ALPN, protocols(&[b"h2"]));
        let session = session(server, &hello);
        let offer = offering(&hello, &session).with(ALPN, protocols(&[b"http/1.1"]));
        let client = server.connect_tls12(&offer, Some(&session)).unwrap();
        assert!(client.is_resumed());
        let protocol = &client.extensions.iter().find(|(typ, _)| *typ == ALPN);
        assert_eq!(protocol.unwrap().1, protocols(&[b"http/1.1"]));
    });
}

/// RFC 7627 §5.3 requires the extended master secret in a resumed handshake exactly if the session
/// has it.
#[test]
fn resumption_requires_the_same_use_of_the_extended_master_secret() {
    for_each_kind(|settings, server| {
        let extended = hello(settings.sealed);
        let plain = extended.clone().without(EXTENDED_MASTER_SECRET);

        let of_extended = session(server, &extended);
        let offer = offering(&plain, &of_extended);
        let refused = server.connect_tls12(&offer, Some(&of_extended)).err();
        let expected = Refused {
            error: "PeerMisbehaved(ResumptionAttemptedWithVariedEms)".into(),
            alert: Some(vec![2, 47]),
        };
        assert_eq!(refused, Some(expected));

        let of_plain = session(server, &plain);
        assert!(!resumes(server, &offering(&extended, &of_plain), &of_plain));
        assert!(resumes(server, &offering(&plain, &of_plain), &of_plain));
    });
}

#[test]
fn a_changed_ticket_or_id_does_not_resume() {
    for settings in all_settings() {
        for server in &settings.servers()[..2] {
            let hello = hello(settings.sealed);
            let session = session(server, &hello);
            let len = Ord::max(session.ticket.len(), 32);
            for at in 0..len {
                let mut changed = session.clone();
                let bytes = match settings.sealed {
                    true => &mut changed.ticket,
                    false => &mut changed.id,
                };
                bytes[at] ^= 1 << (at % 8);
                let offer = offering(&hello, &changed);
                let client = server.connect_tls12(&offer, Some(&changed)).unwrap();
                assert!(!client.is_resumed(), "byte {at}");
            }
        }
    }
}

/// The client sends a Finished with another session's keys.
#[test]
fn a_session_cannot_be_resumed_without_its_secret() {
    for_each_session(|server, offer, session| {
        let resume = || server.connect_tls12(offer, Some(session)).unwrap();
        let mut client = resume();
        client.change_cipher_spec().unwrap();
        let mut finished = client.finished();
        finished[7] ^= 1;
        let refused = client.send(&finished).unwrap_err();
        assert_eq!(refused.error, "DecryptError");
        assert_eq!(refused.alert, Some(vec![2, 51]));
        // no message of a full handshake is allowed here
        let mut client = resume();
        let refused = client.send(&ScriptedClient::certificate(&[])).unwrap_err();
        assert_eq!(refused.alert, Some(vec![2, 10]));
    });
}

#[test]
fn a_server_without_a_storage_has_no_sessions() {
    for provider in PROVIDERS {
        let servers = Settings::tls12(provider).servers_with(
            |it| it.session_storage = Arc::new(NoServerSessionStorage {}),
            |it| it.session_storage = Arc::new(server::NoServerSessionStorage {}),
        );
        for server in servers {
            let session = session(&server, &ClientHello::tls12());
            assert_eq!(session.id, b"");
        }
    }
}

/// RFC 5077 §3.3: an empty ticket means that the server does not send one after all.
#[test]
fn an_oversized_ticket_is_not_sent() {
    // the message also has a lifetime and a length
    const MOST: usize = 0xffff - 4 - 2;
    for (len, sent) in [(MOST, MOST), (MOST + 1, 0), (0xffff, 0), (0x1_0000, 0)] {
        let settings = Settings::tls12(Provider::AwsLc);
        let ticketer = Arc::new(Tickets::of_len(len));
        let [server, ..] = settings.servers_with(|it| it.ticketer = ticketer.clone(), |_| ());
        assert_eq!(session(&server, &hello(true)).ticket.len(), sent, "{len}");
    }
}

/// Returns a server of this crate and another one that shares its sessions.
fn pair(settings: &Settings) -> [Server; 2] {
    let (first, mut second) = (settings.ours(), settings.ours());
    second.ticketer = first.ticketer.clone();
    second.session_storage = first.session_storage.clone();
    [first, second].map(|config| Server::Buffered(config.into()))
}

#[test]
fn sessions_resume_on_another_server_until_they_expire() {
    for settings in all_settings() {
        let (hello, [first, second]) = (hello(settings.sealed), pair(&settings));
        let start = settings.clock.seconds();
        let session = session(&first, &hello);
        let offer = offering(&hello, &session);
        // the ticketer's lifetime is twelve hours
        let lifetime = if settings.sealed { 12 } else { 24 } * 60 * 60;
        for (age, expected) in [(0, true), (lifetime, true), (lifetime + 60, false)] {
            settings.clock.set(start + age);
            assert_eq!(resumes(&second, &offer, &session), expected, "{age}");
            // setting the clock back does not make sessions younger
            settings.clock.set(start - age);
            assert_eq!(resumes(&second, &offer, &session), expected, "-{age}");
        }
        // without a time, nothing is resumed
        settings.clock.set(0);
        assert!(!resumes(&second, &offer, &session));
    }
}

/// Without a clock, a server stores no session, and does not send an ID that promises one.
#[test]
fn no_session_begins_without_a_clock() {
    for settings in PROVIDERS.map(Settings::tls12) {
        let [server, ..] = settings.servers();
        // the clock fails at zero
        for (now, len) in [(settings.clock.seconds(), 32), (0, 0)] {
            settings.clock.set(now);
            let mut client = server.connect_tls12(&hello(false), None).unwrap();
            assert_eq!(client.session_id.len(), len);
            client.finish().unwrap();
        }
    }
}

/// RFC 5077 §3.3: zero means that the lifetime is unspecified.
#[test]
fn a_ticket_without_a_lifetime_is_valid_for_a_week() {
    const WEEK: u64 = 7 * 24 * 60 * 60;
    for settings in PROVIDERS.map(Settings::tls12) {
        let copy = |bytes: &[u8]| Some(bytes.to_vec());
        let ticketer = Arc::new(Tickets::new(0, copy, copy));
        let [server, ..] = settings.servers_with(|it| it.ticketer = ticketer.clone(), |_| ());
        let clock = &settings.clock;
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
fn renewed_tickets_do_not_prolong_a_session_forever() {
    for provider in PROVIDERS {
        let settings = Settings::tls12(provider).edit(|it| it.sealed = true);
        let hello = hello(true);
        let [first, second] = pair(&settings);
        // the clock does not move, so the session was created in this second
        let start = settings.clock.seconds();
        let mut session = session(&first, &hello);
        let mut ended = None;
        for hours in (6..300).step_by(6) {
            settings.clock.set(start + hours * 3600);
            let offer = offering(&hello, &session);
            let mut client = second.connect_tls12(&offer, Some(&session)).unwrap();
            if !client.is_resumed() {
                ended = Some(hours);
                break;
            }
            client.finish().unwrap();
            session = client.session();
            // the ticket's lifetime is at most the time that is left
            let left = 7 * 24 - hours;
            let ticket = client.message_of(HandshakeType::NewSessionTicket).unwrap();
            let hint = u32::from_be_bytes(*ticket[4..].first_chunk().unwrap());
            assert_eq!(u64::from(hint), Ord::min(left, 12) * 3600);
            assert_eq!(session.ticket.is_empty(), left == 0);
        }
        assert_eq!(ended, Some(7 * 24 + 6));
    }
}

/// RFC 6066 §3: a ServerHello that resumes a session does not acknowledge a name. No status follows
/// either (§8).
#[test]
fn a_resumed_session_acknowledges_neither_name_nor_status() {
    for settings in all_settings() {
        let [server, ..] = stapling(&settings, b"response");
        let hello = hello(settings.sealed).and(STATUS_REQUEST, vec![1, 0, 0, 0, 0]);
        let acknowledged = |client: &ScriptedClient| {
            let types = client.extensions.iter().map(|(typ, _)| *typ);
            let acknowledged = types.filter(|typ| [SERVER_NAME, STATUS_REQUEST].contains(typ));
            acknowledged.count()
        };
        let mut client = server.connect_tls12(&hello, None).unwrap();
        assert_eq!(acknowledged(&client), 2);
        client.finish().unwrap();
        let session = client.session();
        let offer = offering(&hello, &session);
        let client = server.connect_tls12(&offer, Some(&session)).unwrap();
        assert!(client.is_resumed());
        assert_eq!(acknowledged(&client), 0);
    }
}

/// The IDs and tickets of one version's sessions are unknown in the other.
#[test]
fn sessions_of_tls13_do_not_resume_in_tls12() {
    for settings in all_settings() {
        let versions = Versions::Both;
        let settings = settings.edit(|it| it.versions = versions);
        let [server, ..] = settings.servers();
        let ticket = server.tickets(&settings).remove(0).ticket;
        for id in [ticket.get(..32).unwrap().to_vec(), vec![]] {
            let offer = ClientHello::tls12()
                .edit(|hello| hello.session_id = id)
                .with(SESSION_TICKET, ticket.clone());
            let client = server.connect_tls12(&offer, None).unwrap();
            assert!(!client.is_resumed());
        }
    }
}
