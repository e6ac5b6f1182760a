//! Events of connections that go wrong: the application's code panics, one half of a split
//! connection fails, a connection cannot start. Each event comes once, and its facts are true.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, server_name, this as configs,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, exchange, handshake};
use harness::verifiers::this::Verifier;
use rustls::client::WebPkiServerVerifier;
use rustls::observer::{
    ConnectionClosed, ConnectionFailed, EarlyData, EarlyDataRejected, HandshakeFacts, KeysUpdated,
    Observed, Observer, SessionEvent, TicketEvent,
};
use rustls::server::{Acceptor, ServerSessionMemoryCache};
use rustls::{CertificateError, ClientConfig, ClientConnection, ServerConfig, quic};

use super::kit::Lines;
use crate::cases::{Case, cases, tls13_cases};
use crate::split::kit::{APPLICATION_DATA, Bare, Halves, split};

const KEY: KeyType = KeyType::Ed25519;

/// Keeps each event, and then panics if it is one of `panics_at`.
#[derive(Debug, Default)]
struct Notes {
    notes: Mutex<Vec<String>>,
    panics_at: &'static [&'static str],
}

impl Notes {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn panicking(panics_at: &'static [&'static str]) -> Arc<Self> {
        let notes = Mutex::default();
        Arc::new(Self { notes, panics_at })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap())
    }

    /// Takes the events from the first failure.
    fn take_end(&self) -> Vec<String> {
        let mut notes = self.take();
        let failed = notes.iter().position(|note| note.starts_with("failed"));
        notes.split_off(failed.unwrap_or(notes.len()))
    }

    fn note(&self, event: &'static str, text: String) {
        self.notes.lock().unwrap().push(format!("{event}{text}"));
        if self.panics_at.contains(&event) {
            // no message on the terminal
            resume_unwind(Box::new(event));
        }
    }
}

impl Observer for Notes {
    fn handshake_begun(&self, _: &Observed<'_>) {
        self.note("begun", String::new());
    }

    fn handshake_finished(&self, _: &Observed<'_>, it: &HandshakeFacts<'_>) {
        let reason = it.not_resumed.map(|it| format!(" {}", it.label()));
        self.note("finished", reason.unwrap_or_default());
    }

    fn failed(&self, _: &Observed<'_>, it: &ConnectionFailed<'_>) {
        let (label, fault, alert) = (it.label, it.fault.label(), it.alert);
        self.note("failed", format!(" {label} {fault} {alert:?}"));
    }

    fn keys_updated(&self, _: &Observed<'_>, it: &KeysUpdated) {
        self.note("keys", format!(" {}", it.direction.label()));
    }

    fn ticket(&self, _: &Observed<'_>, _: &TicketEvent) {
        self.note("ticket", String::new());
    }

    fn session(&self, _: &Observed<'_>, _: &SessionEvent) {
        self.note("session", String::new());
    }

    fn closed(&self, _: &Observed<'_>, it: &ConnectionClosed) {
        let (sent, received) = (it.close_notify_sent, it.close_notify_received);
        let end = it.end.label();
        self.note("closed", format!(" {end} {sent} {received}"));
    }
}

fn client(provider: Provider, versions: Versions) -> ClientConfig {
    configs::client_of(versions, provider.this(), KEY, ClientAuth::None)
}

fn server(provider: Provider, versions: Versions) -> ServerConfig {
    configs::server_of(versions, provider.this(), KEY, ClientAuth::None)
}

impl Case {
    /// Returns the configuration with `notes` as its observer.
    fn observed(self, notes: &Arc<Notes>) -> ThisBuffered {
        let config = self.config().edit(
            |client| client.observer = Some(notes.clone()),
            |server| server.observer = Some(notes.clone()),
        );
        config.buffered()
    }

    /// Returns both halves of an observed connection, and records that they receive.
    fn split_observed(self, notes: &Arc<Notes>) -> (Halves, Bare) {
        let (mut conn, mut peer) = (self.observed(notes), self.peer());
        self.role.handshake(&mut conn, &mut peer);
        (split(conn.conn), self.bare(peer))
    }
}

/// Runs `call`, which must panic because of the observer.
fn panics<T>(call: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
}

#[test]
fn a_client_that_cannot_start_is_reported_as_failed_and_closed() {
    for provider in PROVIDERS {
        let notes = Notes::new();
        let mut config = client(provider, Versions::Both);
        config.observer = Some(notes.clone());
        config.alpn_protocols = vec![Vec::new()];
        ClientConnection::new(config.into(), server_name()).unwrap_err();
        assert_eq!(
            notes.take(),
            [
                "begun",
                "failed general local None",
                "closed failed false false"
            ]
        );
    }
}

#[test]
fn a_failure_of_the_receiving_half_is_reported() {
    for case in cases() {
        println!("{case:?}");
        let notes = Notes::new();
        let (mut halves, mut peer) = case.split_observed(&notes);
        let mut forged = peer.seals.seal(APPLICATION_DATA, b"forged");
        *forged.last_mut().unwrap() ^= 1;
        halves.receive(&forged).unwrap_err();
        // the alert
        assert_eq!(halves.output().len(), forged.len() - b"forged".len() + 2);
        drop(halves);
        assert_eq!(
            notes.take_end(),
            [
                "failed decrypt_error peer Some(Sent(BadRecordMac))",
                "closed failed false false"
            ]
        );
    }
}

#[test]
fn an_alert_that_no_half_sends_is_not_reported() {
    for case in cases() {
        println!("{case:?}");
        let notes = Notes::new();
        let (mut halves, mut peer) = case.split_observed(&notes);
        halves.sender.send_close_notify();
        let mut forged = peer.seals.seal(APPLICATION_DATA, b"forged");
        *forged.last_mut().unwrap() ^= 1;
        halves.receive(&forged).unwrap_err();
        drop(halves);
        assert_eq!(
            notes.take_end(),
            ["failed decrypt_error peer None", "closed failed true false"]
        );
    }
}

#[test]
fn a_panic_in_one_half_is_reported_by_that_half() {
    for case in tls13_cases() {
        for receiver_first in [true, false] {
            println!("{case:?} {receiver_first}");
            let notes = Notes::panicking(&["keys"]);
            let (mut halves, _) = case.split_observed(&notes);
            panics(|| halves.sender.refresh_traffic_keys());
            halves.receiver.process().unwrap_err();
            let Halves {
                sender, receiver, ..
            } = halves;
            if receiver_first {
                drop(receiver);
                assert_eq!(notes.take_end(), <[&str; 0]>::default());
                drop(sender);
            } else {
                drop(sender);
                drop(receiver);
            }
            assert_eq!(
                notes.take_end(),
                [
                    "failed general application None",
                    "closed failed false false"
                ]
            );
        }
    }
}

#[test]
fn a_panic_in_a_kernel_connection_is_reported_when_it_is_dropped() {
    for provider in PROVIDERS {
        let notes = Notes::panicking(&["keys"]);
        let mut config = client(provider, Versions::Tls13);
        config.enable_secret_extraction = true;
        config.observer = Some(notes.clone());
        let mut client = ThisUnbuffered::client(config);
        let mut server = ThisBuffered::server(server(provider, Versions::Tls13));
        handshake(&mut client, &mut server);
        let (_, mut client) = client.conn.dangerous_into_kernel_connection().unwrap();
        panics(|| client.update_tx_secret());
        assert!(client.update_tx_secret().is_err());
        drop(client);
        assert_eq!(
            notes.take_end(),
            [
                "failed general application None",
                "closed failed false false"
            ]
        );
    }
}

#[test]
fn a_connection_that_fails_in_a_panic_reports_no_close_notify() {
    for case in cases() {
        println!("{case:?}");
        let notes = Notes::panicking(&["finished"]);
        let (mut conn, mut peer) = (case.observed(&notes), case.peer());
        panics(|| case.role.handshake(&mut conn, &mut peer));
        drop(conn);
        assert_eq!(
            notes.take_end(),
            [
                "failed general application None",
                "closed failed false false"
            ]
        );
    }
}

#[test]
fn an_observer_that_panics_at_each_event_gets_all_of_them() {
    const ALL: &[&str] = &["begun", "failed", "closed"];
    for provider in PROVIDERS {
        let notes = Notes::panicking(ALL);
        let mut config = server(provider, Versions::Both);
        config.observer = Some(notes.clone());
        drop(ThisBuffered::server(config));
        assert_eq!(
            notes.take(),
            [
                "begun",
                "failed dropped application None",
                "closed dropped false false"
            ]
        );

        let mut config = client(provider, Versions::Both);
        config.observer = Some(notes.clone());
        let config = Arc::new(config);
        panics(|| ClientConnection::new(config, server_name()));
        assert_eq!(
            notes.take(),
            [
                "begun",
                "failed dropped application None",
                "closed dropped false false"
            ]
        );
    }
}

#[test]
fn a_session_of_another_version_is_reported_as_refused() {
    for provider in PROVIDERS {
        for (first, second) in [
            (Versions::Tls12, Versions::Tls13),
            (Versions::Tls13, Versions::Tls12),
        ] {
            println!("{provider:?} {first:?}");
            let notes = Notes::new();
            let mut config = client(provider, Versions::Both);
            config.observer = Some(notes.clone());
            let config = Arc::new(config);
            for (versions, expected) in
                [(first, "finished"), (second, "finished refused_by_server")]
            {
                let mut client = ThisBuffered::client(config.clone());
                let mut server = ThisBuffered::server(server(provider, versions));
                handshake(&mut client, &mut server);
                drop(client);
                let notes = notes.take();
                assert!(notes.iter().any(|note| note == expected), "{notes:?}");
            }
        }
    }
}

/// Keeps the signature schemes in a failure.
#[derive(Debug, Default)]
struct Schemes(Mutex<Vec<String>>);

impl Observer for Schemes {
    fn failed(&self, _: &Observed<'_>, it: &ConnectionFailed<'_>) {
        let it = &it.handshake;
        let signatures = (it.server_signature, it.client_signature);
        let chain = it.peer_chain;
        let text = format!("{signatures:?} {chain:?}");
        self.0.lock().unwrap().push(text);
    }
}

#[test]
fn no_scheme_is_reported_for_a_rejected_signature() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls12, Versions::Tls13] {
            println!("{provider:?} {versions:?}");
            let schemes = Arc::new(Schemes::default());
            let mut config = client(provider, versions);
            config.observer = Some(schemes.clone());
            let inner = WebPkiServerVerifier::builder_with_provider(
                configs::roots(KEY),
                Arc::new(provider.this()),
            );
            let verifier = Verifier::like_server_verifier(inner.build().unwrap());
            let verifier = verifier.with_signatures(|_| Err(CertificateError::BadSignature.into()));
            config
                .dangerous()
                .set_certificate_verifier(Arc::new(verifier));
            let mut client = ThisBuffered::client(config);
            let mut server = ThisBuffered::server(server(provider, versions));
            exchange(&mut client, &mut server).unwrap_err();
            drop(client);
            assert_eq!(*schemes.0.lock().unwrap(), ["(None, None) None"]);
        }
    }
}

/// Keeps the number of bytes that a finished handshake has received.
#[derive(Debug, Default)]
struct Received(Mutex<Vec<(u64, u64)>>);

impl Observer for Received {
    fn handshake_finished(&self, _: &Observed<'_>, it: &HandshakeFacts<'_>) {
        let received = (it.received.records, it.received.bytes);
        self.0.lock().unwrap().push(received);
    }
}

/// The observer of the configuration comes after the ClientHello.
#[test]
fn the_client_hello_that_an_acceptor_reads_counts_as_received() {
    for provider in PROVIDERS {
        for versions in [Versions::Tls12, Versions::Tls13] {
            for with_observer in [false, true] {
                println!("{provider:?} {versions:?} {with_observer}");
                let received = Arc::new(Received::default());
                let mut config = server(provider, versions);
                config.observer = Some(received.clone());
                let mut client = ThisBuffered::client(client(provider, versions));
                let sent = client.take_output();
                let mut acceptor = Acceptor::default();
                if with_observer {
                    acceptor.set_observer(received.clone());
                }
                acceptor.read_tls(&mut &sent[..]).unwrap();
                let accepted = acceptor.accept().unwrap().unwrap();
                let conn = accepted.into_connection(config.into()).unwrap();
                let mut server = ThisBuffered::new(conn);
                client.receive(&server.take_output()).unwrap();
                let answer = client.take_output();
                server.receive(&answer).unwrap();
                assert!(!server.is_handshaking());
                let records = |bytes: &[u8]| harness::wire::records(bytes).len() as u64;
                let expected = (
                    records(&sent) + records(&answer),
                    (sent.len() + answer.len()) as u64,
                );
                assert_eq!(*received.0.lock().unwrap(), [expected]);
            }
        }
    }
}

/// The connection has left the acceptor, whose observer it keeps.
#[test]
fn an_alert_to_an_accepted_client_is_reported() {
    for provider in PROVIDERS {
        let notes = Notes::new();
        let mut client = ThisBuffered::client(client(provider, Versions::Tls12));
        let mut acceptor = Acceptor::default();
        acceptor.set_observer(notes.clone());
        acceptor.read_tls(&mut &client.take_output()[..]).unwrap();
        let accepted = acceptor.accept().unwrap().unwrap();
        let config = server(provider, Versions::Tls12).into();
        let mut server = ThisBuffered::new(accepted.into_connection(config).unwrap());
        // data before the handshake is complete
        server.receive(&[23, 3, 3, 0, 1, 0]).unwrap_err();
        drop(server);
        assert_eq!(
            notes.take_end(),
            [
                "failed inappropriate_message peer Some(Sent(UnexpectedMessage))",
                "closed failed false false"
            ]
        );
    }
}

/// Over QUIC, a panic has an alert, although the failure is reported later.
#[test]
fn after_a_panic_over_quic_the_failure_has_the_alert() {
    for provider in PROVIDERS {
        let notes = Notes::panicking(&["begun"]);
        let client = client(provider, Versions::Tls13);
        let mut config = server(provider, Versions::Tls13);
        config.observer = Some(notes.clone());
        let (version, parameters) = (quic::Version::V1, b"parameters".to_vec());
        let mut client =
            quic::ClientConnection::new(client.into(), version, server_name(), parameters.clone())
                .unwrap();
        let mut hello = Vec::new();
        client.write_hs(&mut hello);
        let mut server = quic::ServerConnection::new(config.into(), version, parameters).unwrap();
        panics(|| server.read_hs(&hello));
        let alert = server.alert().unwrap();
        drop(server);
        let expected = format!("failed general application Some(Sent({alert:?}))");
        assert_eq!(notes.take_end(), [&expected, "closed failed false false"]);
    }
}

/// Keeps the early data of finished handshakes.
#[derive(Debug, Default)]
struct Early(Mutex<Vec<EarlyData>>);

impl Observer for Early {
    fn handshake_finished(&self, _: &Observed<'_>, it: &HandshakeFacts<'_>) {
        self.0.lock().unwrap().push(it.early_data);
    }
}

/// The server resumes the session with another cipher suite, so it must not accept early data.
#[test]
fn early_data_of_another_suite_is_reported_as_rejected() {
    let (aes, chacha) = (0x1301_u16, 0x1303_u16);
    for provider in PROVIDERS {
        let (of_client, of_server) = (Arc::new(Early::default()), Arc::new(Early::default()));
        let mut config = client(provider, Versions::Tls13);
        config.enable_early_data = true;
        config.observer = Some(of_client.clone());
        let config = Arc::new(config);
        let storage = ServerSessionMemoryCache::new(8);
        for suite in [aes, chacha] {
            let mut crypto = provider.this();
            crypto
                .cipher_suites
                .sort_by_key(|it| u16::from(it.suite()) != suite);
            let mut server = configs::server(crypto, KEY, ClientAuth::None);
            server.ignore_client_order = true;
            server.session_storage = storage.clone();
            server.max_early_data_size = 1000;
            server.observer = Some(of_server.clone());
            let mut server = ThisBuffered::server(server);
            let mut client = ThisBuffered::client(config.clone());
            handshake(&mut client, &mut server);
        }
        let rejected = EarlyData::Rejected(EarlyDataRejected::OtherCipherSuite);
        for early in [of_client, of_server] {
            let early = early.0.lock().unwrap();
            assert_eq!(*early, [EarlyData::NotOffered, rejected], "{provider:?}");
        }
    }
}

#[test]
fn an_address_is_reported_as_the_server_name() {
    for (address, expected) in [("192.0.2.1", "192.0.2.1"), ("2001:db8:0::1", "2001:db8::1")] {
        let lines = Lines::new();
        let mut config = client(Provider::AwsLc, Versions::Both);
        config.observer = Some(lines.clone());
        ClientConnection::new(config.into(), address.try_into().unwrap()).unwrap();
        let begun = format!("begun Client records Some({expected:?})");
        assert_eq!(lines.take()[0], begun);
    }
}
