//! Messages after the handshake: RFC 9846 §4.7.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::scripted::{Extension, SUITE, Script, bytes, extensions};
use harness::table;
use harness::wire::{message, vector};
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls13ClientSessionValue,
};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{Error, HandshakeType, InvalidMessage, PeerMisbehaved};

use crate::handshake_client::clients::{config, our_client, provider};
use crate::handshake_client::{ACCEPTED, Peers, illegal, script, undecodable, unexpected};

fn after(messages: Vec<Vec<u8>>) -> Script {
    script(|script| script.post_handshake = messages)
}

fn ticket(lifetime: u32, ticket: &[u8], ticket_extensions: &[Extension]) -> Vec<u8> {
    let body = [
        &lifetime.to_be_bytes()[..],
        &[1, 2, 3, 4],
        &vector(1, b"nonce"),
        &vector(2, ticket),
        &vector(2, &extensions(ticket_extensions, &[])),
    ]
    .concat();
    message(HandshakeType::NewSessionTicket.into(), &body)
}

fn key_update(request: u8) -> Vec<u8> {
    message(HandshakeType::KeyUpdate.into(), &[request])
}

#[test]
fn malformed_tickets_are_refused() {
    let peers = Peers::new();
    let with = |extensions: &[Extension]| after(vec![ticket(1, b"ticket", extensions)]);
    let allowed = bytes(42, &[0, 0, 0, 1]);
    peers.both_accept([after(vec![
        ticket(1, b"ticket", &[]),
        ticket(0, b"ticket", &[]),
        ticket(604_801, b"ticket", &[]),
        ticket(1, b"ticket", &[bytes(0xfafa, &[])]),
        ticket(1, b"ticket", std::slice::from_ref(&allowed)),
    ])]);
    let empty = after(vec![ticket(1, b"", &[])]);
    let short = with(&[bytes(42, &[0, 0, 0])]);
    let twice = with(&vec![allowed; 2]);
    peers.both_refuse(table! {
        "an empty ticket": empty, undecodable(InvalidMessage::EmptyTicketValue);
        "a short early_data": short, undecodable(InvalidMessage::MissingData("u32"));
        "early_data twice": twice, illegal(InvalidMessage::DuplicateExtension(42));
    });
    let alpn = with(&[bytes(16, &[0, 3, 2, b'h', b'2'])]);
    peers.only_we_refuse(table! {
        "ALPN": alpn, illegal(PeerMisbehaved::DisallowedEncryptedExtension);
    });
}

/// A clock that works once: for the check of the certificate, but not for the time of a ticket.
#[derive(Debug)]
struct OneMoment(AtomicBool);

impl TimeProvider for OneMoment {
    fn current_time(&self) -> Option<UnixTime> {
        let first = self.0.swap(false, Ordering::Relaxed);
        first.then(UnixTime::now)
    }
}

/// Runs the script on a client with this clock, if any. Returns the number of tickets that it
/// counted, and those that it stored, the newest first.
fn stored(
    script: &Script,
    clock: Option<Arc<dyn TimeProvider>>,
) -> (u32, Vec<Tls13ClientSessionValue>) {
    let peers = Peers::new();
    let store = Arc::new(ClientSessionMemoryCache::new(32));
    let mut config = config(&peers.identity, provider());
    config.resumption = Resumption::store(store.clone());
    if let Some(clock) = clock {
        config.time_provider = clock;
    }
    let mut client = our_client(config);
    assert_eq!(peers.identity.run(&mut client, script), ACCEPTED);
    let name = ServerName::try_from("localhost").unwrap();
    let stored = std::iter::from_fn(|| store.take_tls13_ticket(&name)).collect();
    (client.as_client().tls13_tickets_received(), stored)
}

#[test]
fn tickets_are_counted_and_stored_unless_they_expire_immediately() {
    let script = after(vec![
        ticket(10, b"first", &[]),
        ticket(0, b"gone", &[]),
        ticket(10, b"second", &[bytes(42, &[0, 0, 1, 0])]),
    ]);
    let (counted, stored) = stored(&script, None);
    assert_eq!(counted, 3);
    let early_data: Vec<_> = stored.iter().map(|it| it.max_early_data_size()).collect();
    assert_eq!(early_data, [0x100, 0]);
    assert_eq!(stored[0].suite().common.suite, SUITE);
}

#[test]
fn a_ticket_without_a_known_time_is_dropped() {
    let script = after(vec![ticket(10, b"ticket", &[])]);
    let clock = OneMoment(AtomicBool::new(true));
    let (counted, stored) = stored(&script, Some(Arc::new(clock)));
    assert_eq!((counted, stored.len()), (1, 0));
}

/// post_handshake_auth was not offered.
#[test]
fn a_certificate_request_after_the_handshake_is_unexpected() {
    let schemes = extensions(&[bytes(13, &[0, 2, 4, 3])], &[]);
    let request = [vector(1, &[1]), vector(2, &schemes)].concat();
    let got_type = HandshakeType::CertificateRequest;
    let request = after(vec![message(got_type.into(), &request)]);
    let expect_types = vec![HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate];
    let error = Error::InappropriateHandshakeMessage {
        expect_types,
        got_type,
    };
    Peers::new().both_refuse(table! { "a request": request, unexpected(error); });
}

#[test]
fn malformed_key_updates_are_refused() {
    let peers = Peers::new();
    let with = |message| after(vec![message]);
    peers.both_accept([1, 0].map(|request| with(key_update(request))));
    let pending = || unexpected(PeerMisbehaved::KeyEpochWithPendingFragment);
    peers.both_refuse(table! {
        "an unknown request": with(key_update(2)), illegal(InvalidMessage::InvalidKeyUpdate);
        // RFC 9846 §5.1: nothing may follow that is encrypted with the old keys
        "two of them": with(key_update(0).repeat(2)), pending();
        "the start of another": with([key_update(0), vec![24]].concat()), pending();
    });
}
