//! Tests of accepted early data and the conditions for it.

use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{PROVIDERS, product, product3};
use harness::peers::endpoints::{ThisBuffered, Wrapper};
use harness::peers::servers::{Server, Settings, hello, servers};
use harness::scripted::{OfferedPsk, ScriptedClient};
use harness::table;
use harness::wire::client_hello::{ALPN, protocols};
use rustls::ContentType;

use super::{MAX, accepted, early_data, end_or_start, finish, offer, send, settings};

#[test]
fn early_data_is_read_separately_from_later_data() {
    for (settings, server) in servers(settings) {
        let mut client = accepted(&settings, &server);
        assert!(client.server.is_handshaking());
        for piece in [&b"one "[..], b"", b"two"] {
            send(&mut client, piece);
        }
        assert_eq!(client.received_by_server(), b"");
        assert_eq!(early_data(&mut *client.server), b"one two");
        send(&mut client, b" three");
        client.end_early_data().unwrap();
        finish(&mut client);
        // the rest is still buffered
        assert_eq!(early_data(&mut *client.server), b" three");
        assert_eq!(early_data(&mut *client.server), b"");
    }
}

/// The tickets contain the limit, which the client obeys.
#[test]
fn tickets_contain_the_early_data_limit() {
    for (provider, max, sealed) in product3(PROVIDERS, [0, 1, 16_384, u32::MAX], [false, true]) {
        let settings = Settings {
            max_early_data_size: max,
            sealed,
            ..Settings::new(provider)
        };
        for server in settings.servers() {
            for ticket in server.tickets(&settings) {
                // RFC 9846 §8: a ticket that can be used twice allows no early data
                let expected = (max != 0 && !sealed).then_some(max);
                assert_eq!(ticket.max_early_data_size, expected);
            }
        }
    }
}

/// Checks the parameters that must match (RFC 9846 §4.3.10) and the time window (§8.3).
#[test]
fn early_data_is_accepted_only_if_all_conditions_hold() {
    type Change = fn(&mut OfferedPsk);
    const AES: u16 = 0x1301;
    const CHACHA: u16 = 0x1303;
    // the suite, the protocol, the seconds until the offer, and a change to it
    type Case = (&'static str, u16, &'static [u8], i64, Change, bool);
    const CASES: [Case; 12] = table! {
        "unchanged": AES, b"h2", 0, |_| {}, true;
        "another protocol": AES, b"http/1.1", 0, |_| {}, false;
        "no protocol": AES, b"", 0, |_| {}, false;
        "another suite": CHACHA, b"h2", 0, |_| {}, false;
        "not offered": AES, b"h2", 0, |offer| offer.early_data = false, false;
        "not the first": AES, b"h2", 0, add_another, false;
        "of the declared age": AES, b"h2", 3600, |offer| add_age(offer, 3_600_000), true;
        "a minute late": AES, b"h2", 60, |_| {}, true;
        "more than a minute late": AES, b"h2", 61, |_| {}, false;
        "a minute early": AES, b"h2", 0, |offer| add_age(offer, 60_000), true;
        "more than a minute early": AES, b"h2", 0, |offer| add_age(offer, 60_001), false;
        "an age that wraps": AES, b"h2", 0, |offer| add_age(offer, u32::MAX), false;
    };
    for (settings, (what, suite, protocol, waits, change, is_accepted)) in
        product(PROVIDERS.map(settings), CASES)
    {
        for server in settings.servers() {
            if suite == CHACHA && matches!(server, Server::Upstream(_)) {
                continue; // it does not even resume
            }
            let mut offer = offer(&settings, &server);
            change(&mut offer);
            settings.clock.advance(waits);
            let mut hello = hello().edit(|hello| hello.cipher_suites = vec![suite]);
            hello = match protocol {
                b"" => hello.without(ALPN),
                protocol => hello.with(ALPN, protocols(&[protocol])),
            };
            let client = server.connect(&settings, hello, Some(&offer));
            settings.clock.advance(-waits);
            let mut client = client.unwrap();
            assert!(client.is_resumed, "{what}");
            assert_eq!(client.early_data_accepted(), is_accepted, "{what}");
            if offer.early_data {
                send(&mut client, b"early");
            }
            end_or_start(&mut client, is_accepted);
            finish(&mut client);
            let expected: &[u8] = if is_accepted { b"early" } else { b"" };
            assert_eq!(early_data(&mut *client.server), expected, "{what}");
        }
    }
}

fn add_another(offer: &mut OfferedPsk) {
    offer.identities.insert(0, (b"another".to_vec(), 0));
}

fn add_age(offer: &mut OfferedPsk, milliseconds: u32) {
    offer.identities[0].1 = offer.identities[0].1.wrapping_add(milliseconds);
}

/// The server's limit must not be lower than the ticket's.
#[test]
fn a_lower_limit_than_before_rejects_early_data() {
    for provider in PROVIDERS {
        for (now, accepted) in [(0, false), (MAX - 1, false), (MAX, true), (MAX + 1, true)] {
            let settings = settings(provider);
            let before = settings.ours();
            let mut after = settings.ours();
            after.session_storage = before.session_storage.clone();
            after.max_early_data_size = now;
            let offer = offer(&settings, &Server::Buffered(before.into()));
            let server = Server::Buffered(after.into());
            let mut client = server.connect(&settings, hello(), Some(&offer)).unwrap();
            assert_eq!(client.early_data_accepted(), accepted, "{now}");
            if accepted {
                // the ticket's limit applies
                let data = vec![7; MAX as usize + 1];
                let refused = client.send_raw(ContentType::ApplicationData, &data);
                let error = refused.unwrap_err().error;
                assert_eq!(error, "PeerMisbehaved(TooMuchEarlyDataReceived)");
            }
        }
    }
}

/// The server sends data before the client has finished (RFC 9846 §4.5.3).
#[test]
fn a_server_can_send_data_before_the_client_finishes() {
    for (provider, send_half_rtt_data) in product(PROVIDERS, [false, true]) {
        let settings = settings(provider).edit(|it| it.send_half_rtt_data = send_half_rtt_data);
        for server in settings.servers() {
            let mut client = accepted(&settings, &server);
            send(&mut client, b"question");
            client.server.send(b"answer");
            client.receive_output();
            let expected: &[u8] = if send_half_rtt_data { b"answer" } else { b"" };
            assert_eq!(client.plaintext, expected);
            client.end_early_data().unwrap();
            client.finish().unwrap();
            client.receive_output();
            assert_eq!(client.plaintext, b"answer");
            assert_eq!(early_data(&mut *client.server), b"question");
        }
    }
}

#[test]
fn early_secrets_are_logged() {
    for settings in PROVIDERS.map(settings) {
        let secrets = Arc::<KeyLines>::default();
        let mut config = settings.ours();
        config.key_log = secrets.clone();
        let server = Server::Buffered(config.into());
        let labels = || {
            let mut logged = secrets.take();
            logged.retain(|(label, _, _)| label.contains("EARLY"));
            assert!(logged.iter().all(|(_, _, secret)| secret.len() == 32));
            logged
                .into_iter()
                .map(|(label, _, _)| label)
                .collect::<Vec<_>>()
        };
        server.tickets(&settings);
        assert_eq!(labels(), [""; 0]);
        // the client may still have sent early data
        super::rejected(&settings, &server);
        assert_eq!(labels(), ["CLIENT_EARLY_TRAFFIC_SECRET"]);
        accepted(&settings, &server);
        assert_eq!(
            labels(),
            ["CLIENT_EARLY_TRAFFIC_SECRET", "EARLY_EXPORTER_SECRET"]
        );
    }
}

/// Readers may use buffers of any length.
#[test]
fn early_data_can_be_read_into_buffers_of_any_length() {
    let settings = settings(PROVIDERS[0]);
    for len in 1..20 {
        let (mut client, conn) = shared(&settings);
        let sent: Vec<u8> = (0..100).collect();
        let mut read = Vec::new();
        for piece in sent.chunks(30) {
            send(&mut client, piece);
            let mut conn = conn.lock().unwrap();
            let conn = conn.as_server();
            let mut early = conn.early_data().unwrap();
            let mut buf = vec![0; len];
            for _ in 0..2 {
                let got = early.read(&mut buf).unwrap();
                read.extend_from_slice(&buf[..got]);
            }
        }
        read.extend(early_data(&mut *client.server));
        assert_eq!(read, sent, "{len}");
    }
}

/// A connection that a test inspects while a script communicates with it.
struct Shared(Arc<Mutex<ThisBuffered>>);

/// Creates a client that offers early data to a shared server.
pub(super) fn shared(settings: &Settings) -> (ScriptedClient, Arc<Mutex<ThisBuffered>>) {
    let config = Arc::new(settings.ours());
    let offer = offer(settings, &Server::Buffered(config.clone()));
    let conn = Arc::new(Mutex::new(ThisBuffered::server(config)));
    let (server, provider) = (Box::new(Shared(conn.clone())), settings.provider.this());
    let client = ScriptedClient::offering(server, &provider, hello(), Some(&offer));
    (client.unwrap(), conn)
}

impl Wrapper for Shared {
    type Inner = ThisBuffered;

    fn inner(&self) -> impl Deref<Target = ThisBuffered> {
        self.0.lock().unwrap()
    }

    fn inner_mut(&mut self) -> impl DerefMut<Target = ThisBuffered> {
        self.0.lock().unwrap()
    }
}
