//! The same wrong bytes to this crate and to upstream: the same error, and the same alert.
//!
//! Both use a provider that encrypts nothing ([`endpoints::transparent`]), so that every byte of every
//! handshake message can be changed and still arrives.

mod endpoints;

use endpoints::configs::ClientAuth;
use endpoints::{Endpoint, ThisBuffered, UpstreamBuffered, transparent};

/// How a connection took what it was given: the error as printed, and what it sent (an alert, or the
/// next flight's length).
#[derive(Debug, PartialEq)]
struct Outcome {
    error: Option<String>,
    alert: Option<[u8; 2]>,
}

fn outcome(endpoint: &mut dyn Endpoint, bytes: &[u8]) -> Outcome {
    let error = endpoint.receive(bytes).err();
    let output = endpoint.take_output();
    Outcome {
        error,
        alert: last_alert(&output),
    }
}

/// The content of the last record of `output`, if that is an alert, protected or not.
fn last_alert(output: &[u8]) -> Option<[u8; 2]> {
    let mut rest = output;
    let mut last = None;
    while let [typ, _, _, high, low, tail @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (payload, tail) = tail.split_at(len);
        last = match (typ, payload) {
            (0x15, &[level, description]) => Some([level, description]),
            (0x17, &[level, description, 0x15, ..]) if len == 2 + 1 + 16 => {
                Some([level, description])
            }
            _ => None,
        };
        rest = tail;
    }
    last
}

/// The receiver of a flight, of both crates, and the flight that comes.
struct Scene {
    name: &'static str,
    /// Makes the receiver and the flight meant for it.
    ours: fn() -> (Box<dyn Endpoint>, Vec<u8>),
    theirs: fn() -> (Box<dyn Endpoint>, Vec<u8>),
}

fn our_client(auth: ClientAuth) -> Box<dyn Endpoint> {
    Box::new(ThisBuffered::new(transparent::this::client(auth)))
}

fn our_server(auth: ClientAuth) -> Box<dyn Endpoint> {
    Box::new(ThisBuffered::new(transparent::this::server(auth)))
}

fn their_client(auth: ClientAuth) -> Box<dyn Endpoint> {
    Box::new(UpstreamBuffered::new(transparent::upstream::client(auth)))
}

fn their_server(auth: ClientAuth) -> Box<dyn Endpoint> {
    Box::new(UpstreamBuffered::new(transparent::upstream::server(auth)))
}

/// A client that waits for the server's flight, and that flight, upstream's.
fn server_flight(mut client: Box<dyn Endpoint>, auth: ClientAuth) -> (Box<dyn Endpoint>, Vec<u8>) {
    let mut server = their_server(auth);
    server.receive(&client.take_output()).unwrap();
    let flight = server.take_output();
    (client, flight)
}

/// A server that waits for the client's second flight, and that flight, upstream's.
fn client_flight(mut server: Box<dyn Endpoint>, auth: ClientAuth) -> (Box<dyn Endpoint>, Vec<u8>) {
    let mut client = their_client(auth);
    server.receive(&client.take_output()).unwrap();
    client.receive(&server.take_output()).unwrap();
    let flight = client.take_output();
    (server, flight)
}

const SCENES: [Scene; 4] = [
    Scene {
        name: "ClientHello",
        ours: || {
            (
                our_server(ClientAuth::None),
                their_client(ClientAuth::None).take_output(),
            )
        },
        theirs: || {
            (
                their_server(ClientAuth::None),
                their_client(ClientAuth::None).take_output(),
            )
        },
    },
    Scene {
        name: "server's flight",
        ours: || server_flight(our_client(ClientAuth::Required), ClientAuth::Required),
        theirs: || server_flight(their_client(ClientAuth::Required), ClientAuth::Required),
    },
    Scene {
        name: "client's flight",
        ours: || client_flight(our_server(ClientAuth::Required), ClientAuth::Required),
        theirs: || client_flight(their_server(ClientAuth::Required), ClientAuth::Required),
    },
    Scene {
        name: "client's flight, unauthenticated",
        ours: || client_flight(our_server(ClientAuth::None), ClientAuth::None),
        theirs: || client_flight(their_server(ClientAuth::None), ClientAuth::None),
    },
];

/// Applies `change` to both flights at each position, and compares what comes of it.
fn compare_at_every_byte(scene: &Scene, what: &str, change: impl Fn(&mut Vec<u8>, usize)) -> usize {
    let len = (scene.ours)().1.len();
    assert_eq!(len, (scene.theirs)().1.len(), "{}", scene.name);
    let mut differences = 0;
    for at in 0..len {
        let (mut ours, mut flight) = (scene.ours)();
        change(&mut flight, at);
        let our_outcome = outcome(&mut *ours, &flight);
        let (mut theirs, mut flight) = (scene.theirs)();
        change(&mut flight, at);
        let their_outcome = outcome(&mut *theirs, &flight);
        if our_outcome != their_outcome {
            differences += 1;
            println!(
                "{} {what} at {at} of {len}:\n  ours   {our_outcome:?}\n  theirs {their_outcome:?}",
                scene.name
            );
        }
    }
    differences
}

#[test]
fn every_byte_flipped() {
    let mut differences = 0;
    for scene in &SCENES {
        for mask in [0x01, 0x80, 0xff] {
            differences += compare_at_every_byte(scene, &format!("xor {mask:#x}"), |flight, at| {
                flight[at] ^= mask;
            });
        }
    }
    assert_eq!(differences, 0);
}

#[test]
fn every_byte_zeroed_or_removed_or_doubled() {
    let mut differences = 0;
    for scene in &SCENES {
        differences += compare_at_every_byte(scene, "zero", |flight, at| flight[at] = 0);
        differences += compare_at_every_byte(scene, "removed", |flight, at| {
            flight.remove(at);
        });
        differences += compare_at_every_byte(scene, "doubled", |flight, at| {
            flight.insert(at, flight[at]);
        });
        differences += compare_at_every_byte(scene, "cut", |flight, at| flight.truncate(at));
    }
    assert_eq!(differences, 0);
}
