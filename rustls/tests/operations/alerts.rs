//! Tests of alerts that arrive while a connection waits, between any two messages of the peer. Here
//! each message has its own record; the flights of the other tests are one record.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use harness::operations::ends::{Api, End};
use harness::operations::kinds::{KINDS, Kind, MORE_KINDS, OPERATIONS};
use harness::operations::schedules::resumable;
use harness::operations::{Plan, When};
use harness::peers::configs::{KeyType, Provider, product};
use harness::peers::endpoints::{ThisBuffered, Wrapper};
use harness::scripted::{Identity, Script, ScriptedClient};
use harness::wire::client_hello::ClientHello;
use harness::wire::{self, Record};
use rustls::{AlertDescription, ContentType, Error, HandshakeType, Side};

use crate::operations::interruptions::ALERT;

const SEEN: Error = Error::AlertReceived(AlertDescription::HandshakeFailure);

/// The content of the alert.
const CONTENT: [u8; 2] = [2, 40];

const CHANGE_CIPHER_SPEC: u8 = 20;

/// Only the peer's Finished follows its change_cipher_spec.
#[test]
fn an_alert_before_the_tls12_finished_ends_a_pending_operation() {
    let mut seen = 0;
    let kinds = KINDS.iter().chain(MORE_KINDS);
    for kind in kinds.filter(|kind| !kind.runs_over(Api::Quic)) {
        // both sides sign, and both have a resolver
        for (operation, side) in product(OPERATIONS, [Side::Client, Side::Server]) {
            let plan = Arc::new(Plan::new(When::Never).only(operation));
            let Some((mut waiting, is_finished)) = message_by_message(kind, &plan, side) else {
                continue;
            };
            let received = waiting.receive(&ALERT);
            if is_finished {
                assert_eq!(received, Ok(()), "{kind:?} {operation}");
                assert!(waiting.is_waiting());
                continue;
            }
            assert_eq!(received, Err(SEEN), "{kind:?} {operation}");
            assert!(!waiting.is_waiting());
            assert_eq!(plan.dropped(), 1);
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen}");
}

/// Connects until the end of `side` waits. Returns that end, and true if it has received the peer's
/// Finished.
fn message_by_message(kind: &Kind, plan: &Arc<Plan>, side: Side) -> Option<(End, bool)> {
    let mut world = resumable(kind, Api::Buffered, plan);
    if side == Side::Client {
        world.server = kind
            .world(Api::Buffered, &Arc::new(Plan::new(When::NoFuture)))
            .server;
    }
    let mut ends = Vec::from(Api::Buffered.ends(&world, true));
    let (mut is_encrypted, mut has_changed) = ([false; 2], [false; 2]);
    loop {
        let mut moved = false;
        for from in 0..2 {
            let to = 1 - from;
            let output = ends[from].output().concat();
            for record in messages(&output, &mut is_encrypted[from]) {
                ends[to].receive(&record.to_bytes()).unwrap();
                moved = true;
                has_changed[to] |= record.typ == CHANGE_CIPHER_SPEC;
                if ends[to].is_waiting() {
                    return Some((ends.swap_remove(to), has_changed[to]));
                }
            }
        }
        if !moved {
            return None;
        }
    }
}

/// Returns the records in `bytes`, split after each message until they are encrypted.
fn messages(bytes: &[u8], is_encrypted: &mut bool) -> Vec<Record> {
    let mut records = Vec::new();
    for record in wire::records(bytes) {
        *is_encrypted |= record.typ == CHANGE_CIPHER_SPEC;
        if *is_encrypted {
            records.push(record);
            continue;
        }
        let mut rest = &record.payload[..];
        while let [_, high, middle, low, ..] = *rest {
            let len = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
            let (message, behind) = rest.split_at(len);
            rest = behind;
            records.push(Record {
                payload: message.to_vec(),
                ..record.clone()
            });
        }
        assert!(rest.is_empty(), "a message ends in another record");
    }
    records
}

/// An endpoint that never polls its operations.
struct Waiting(ThisBuffered);

impl Waiting {
    fn new(conn: impl Into<rustls::Connection>) -> Self {
        let mut end = ThisBuffered::new(conn);
        end.conn.set_async(true);
        Self(end)
    }
}

impl Wrapper for Waiting {
    type Inner = ThisBuffered;

    fn inner(&self) -> impl Deref<Target = ThisBuffered> {
        &self.0
    }

    fn inner_mut(&mut self) -> impl DerefMut<Target = ThisBuffered> {
        &mut self.0
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let conn = &mut self.0.conn;
        while !bytes.is_empty() {
            conn.read_tls(&mut bytes).unwrap();
            let processed = conn.process_new_packets();
            processed.map_err(|error| format!("{error:?}"))?;
        }
        Ok(())
    }
}

/// The client's messages wait until its certificate and its signature are available.
#[test]
fn an_alert_after_a_clients_message_ends_a_pending_operation() {
    let identity = KeyType::EcdsaP256.identities();
    let provider = Provider::Ring.this();
    let key = identity.client.key();
    let key = provider.key_provider.load_private_key(key).unwrap();
    for (operation, waits_at) in [
        ("verify_client_cert", HandshakeType::Certificate),
        ("verify_tls13_signature", HandshakeType::CertificateVerify),
    ] {
        let plan = Arc::new(Plan::new(When::Never).only(operation));
        let world = MORE_KINDS[0].world(Api::Buffered, &plan);
        let server = rustls::ServerConnection::new(world.server).unwrap();
        let server = Box::new(Waiting::new(server));
        let mut client = ScriptedClient::new(server, &provider, ClientHello::new());

        let chain: Vec<&[u8]> = identity.client.chain.iter().map(AsRef::as_ref).collect();
        client
            .send(&ScriptedClient::certificate(&[], &chain, &[]))
            .unwrap();
        if waits_at == HandshakeType::CertificateVerify {
            assert!(plan.futures().is_empty());
            let verify = client.certificate_verify(&*key, 0x0403);
            client.send(&verify).unwrap();
        }
        assert!(plan.futures().contains(operation));
        assert_eq!(plan.dropped(), 0);
        let refused = client.send_raw(ContentType::Alert, &CONTENT).unwrap_err();
        assert_eq!(refused.error, format!("{SEEN:?}"));
        assert_eq!(plan.dropped(), 1);
    }
}

/// After the server's Finished, its next records have other keys.
#[test]
fn an_alert_after_a_servers_message_ends_a_pending_operation() {
    let script = Script::with_request();
    let upto = |last| {
        let mut flight = script.flight.iter();
        let position = flight.position(|typ| *typ == last).unwrap();
        script.flight[..=position].to_vec()
    };
    for (operation, last, is_seen) in [
        ("resolve", HandshakeType::CertificateRequest, true),
        (
            "verify_tls13_signature",
            HandshakeType::CertificateVerify,
            true,
        ),
        ("verify_server_cert", HandshakeType::CertificateVerify, true),
        ("sign", HandshakeType::Finished, false),
    ] {
        let plan = Arc::new(Plan::new(When::Never).only(operation));
        let world = KINDS[1].world(Api::Buffered, &plan);
        let identity = KeyType::EcdsaP256.identities();
        let client = harness::peers::configs::server_name();
        let client = rustls::ClientConnection::new(world.client, client).unwrap();
        let mut client = Waiting::new(client);
        let script = Script {
            flight: upto(last),
            certificates: (identity.server.chain.iter())
                .map(|certificate| (Some(certificate.to_vec()), Vec::new()))
                .collect(),
            alert: Some(CONTENT),
            ..script.clone()
        };
        let key = rcgen::KeyPair::try_from(&identity.server.key()).unwrap();
        let certificate = identity.server.chain[0].clone();
        let server = Identity::with_key(Provider::Ring.this(), certificate, &key);
        let outcome = server.run(&mut client, &script);
        let error = is_seen.then(|| format!("{SEEN:?}"));
        assert_eq!(outcome.error, error, "{operation}");
        assert!(plan.futures().contains(operation));
        assert_eq!(plan.dropped(), usize::from(is_seen));
    }
}
