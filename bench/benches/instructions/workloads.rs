//! The workloads: the program that runs under callgrind.

use core::hint::black_box;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product3, server_name};
use harness::peers::pairs::this::{Configs, buffered, unbuffered};
use harness::peers::roles::{ROLES, Role};
use rustls::client::Resumption;
use rustls::unbuffered::ConnectionState;
use rustls::{ClientConnection, ConnectionCommon, HandshakeKind, ServerConnection};
use rustls_observe::Counters;

/// The name of the function in which callgrind counts.
pub(crate) const COLLECTED: &str = "collected_by_callgrind";

/// The name of the function whose call makes callgrind write a profile and start the next one.
pub(crate) const REPORTED: &str = "reported_by_callgrind";

/// Bytes of plaintext in a record.
const SIZES: [usize; 2] = [64, 16384];

/// Sends or receives [`RECORDS`] records of the given plaintext size.
type Workload = fn(&Configs, usize);

const WORKLOADS: [(&str, Workload); 6] = [
    ("buffered/send", buffered_send),
    ("buffered/receive", buffered_receive),
    ("open-into/receive", open_into_receive),
    ("unbuffered/send", unbuffered_send),
    ("unbuffered/receive", unbuffered_receive),
    ("in-place/send", in_place_send),
];

/// The number of records sent or received while instructions are counted.
const RECORDS: usize = 16;

/// The number of uncounted runs before, which allocate buffers and bind symbols.
const WARM_UP: usize = 3;

/// Runs `work` while callgrind counts.
#[inline(never)]
fn collected_by_callgrind(work: &mut dyn FnMut()) {
    work();
    // keeps the call from becoming a tail call, which is a jump
    black_box(());
}

/// Ends the count of one workload.
#[inline(never)]
fn reported_by_callgrind(name: &str, operations: usize) {
    println!("{name} {operations}");
}

/// Runs all workloads whose name contains `filter`. Prints names and numbers of operations in the
/// order in which they are counted.
pub(crate) fn run_all(filter: &str) {
    for provider in PROVIDERS {
        for version in [Versions::Tls13, Versions::Tls12] {
            let label = match version {
                Versions::Tls12 => format!("{}/tls12", provider.name()),
                _ => provider.name().to_owned(),
            };
            let new_configs = || configs(provider, version);
            run_records(&label, &new_configs(), filter);
            run_handshakes(&label, new_configs, filter);
        }
    }
}

fn run_records(label: &str, configs: &Configs, filter: &str) {
    for (name, workload) in WORKLOADS {
        for size in SIZES {
            let name = format!("{label}/{name}/{size}");
            if name.contains(filter) {
                workload(configs, size);
                reported_by_callgrind(&name, RECORDS);
            }
        }
    }
}

fn run_handshakes(label: &str, new_configs: impl Fn() -> Configs, filter: &str) {
    let kinds = [
        ("", HandshakeKind::Full),
        ("-resumed", HandshakeKind::Resumed),
    ];
    for ((kind, expected), (suffix, variant), side) in product3(kinds, VARIANTS, ROLES) {
        let name = format!("{label}/handshake{kind}{suffix}/{}", side.name());
        if !name.contains(filter) {
            continue;
        }
        let mut configs = new_configs();
        if variant == Variant::Observed {
            observe(&mut configs);
        }
        for _ in 0..WARM_UP {
            handshake(&configs, variant, None);
        }
        // the warm-up has left tickets
        if expected == HandshakeKind::Full {
            configs = forgetting(configs);
        }
        let kind = handshake(&configs, variant, Some(side));
        assert_eq!(kind, Some(expected));
        reported_by_callgrind(&name, 1);
    }
}

/// Configurations of both sides. Their certificates are the same in each run, because the length
/// of a certificate counts. Sessions are resumed from tickets.
fn configs(provider: Provider, version: Versions) -> Configs {
    let mut crypto = provider.this();
    let suites = [
        "TLS13_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    ];
    crypto
        .cipher_suites
        .retain(|suite| suites.contains(&&format!("{:?}", suite.suite())[..]));
    let mut configs = Configs::new(version, crypto, KeyType::Ed25519);
    Arc::make_mut(&mut configs.server).ticketer = provider.this_ticketer();
    configs
}

/// Returns the same configurations without sessions and known chains. The verifiers stay warm: the
/// first handshake of a configuration prepares them.
fn forgetting(mut configs: Configs) -> Configs {
    let client = Arc::make_mut(&mut configs.client);
    client.resumption = Resumption::in_memory_sessions(256);
    client.verified_chains.clear();
    configs
}

/// Repeats `round`, which passes its work to its argument. The work of the last one is counted.
fn repeat(mut round: impl FnMut(fn(&mut dyn FnMut()))) {
    for _ in 0..WARM_UP {
        round(|work| work());
    }
    round(collected_by_callgrind);
}

/// Counts `send`, which sends a record, [`RECORDS`] times.
fn count_records(mut send: impl FnMut()) {
    repeat(|run| run(&mut || (0..RECORDS).for_each(|_| send())));
}

fn plaintext(size: usize) -> Vec<u8> {
    (0..size).map(|i| i as u8).collect()
}

/// Room for [`RECORDS`] records.
fn wire(size: usize) -> Vec<u8> {
    vec![0; RECORDS * (size + 64)]
}

/// `writer` and `write_tls`.
fn buffered_send(configs: &Configs, size: usize) {
    let mut client = buffered::Pair::connect(configs).unwrap().client;
    let plaintext = plaintext(size);
    count_records(|| {
        let taken = client.writer().write(black_box(&plaintext)).unwrap();
        assert_eq!(taken, size);
        client.write_tls(&mut Socket).unwrap();
    });
}

/// A writer that accepts everything, at no cost.
struct Socket;

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(slices.iter().map(|slice| slice.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `read_tls`, `process_new_packets` and `reader`.
fn buffered_receive(configs: &Configs, size: usize) {
    receive(configs, size, 16384, |server, wire, application| {
        buffered::take_in(server, wire, application).unwrap()
    });
}

/// `read_tls_for` and `process_new_packets_into`.
fn open_into_receive(configs: &Configs, size: usize) {
    // with room for the content type, which TLS 1.3 encrypts
    receive(configs, size, 16385, |server, mut wire, application| {
        let mut received = 0;
        while !wire.is_empty() {
            server.read_tls_for(&mut wire, application.len()).unwrap();
            received += server.process_new_packets_into(application).unwrap().0;
        }
        received
    });
}

/// Counts `take_in`, which receives the records of its second argument. The last one is the
/// application's buffer of `room` bytes. `take_in` returns the number of plaintext bytes.
fn receive(
    configs: &Configs,
    size: usize,
    room: usize,
    take_in: impl Fn(&mut ServerConnection, &[u8], &mut [u8]) -> usize,
) {
    let mut pair = buffered::Pair::connect(configs).unwrap();
    let (plaintext, mut application) = (plaintext(size), plaintext(room));
    let mut wire = Vec::with_capacity(RECORDS * (size + 64));
    repeat(|run| {
        wire.clear();
        for _ in 0..RECORDS {
            buffered::write(&mut pair.client, &plaintext, &mut wire).unwrap();
        }
        run(&mut || {
            let received = take_in(&mut pair.server, &wire, black_box(&mut application));
            assert_eq!(received, RECORDS * size);
        });
    });
}

/// `process_tls_records` and `encrypt`.
fn unbuffered_send(configs: &Configs, size: usize) {
    let mut client = unbuffered::Pair::connect(configs).unwrap().client;
    let (plaintext, mut wire) = (plaintext(size), wire(size));
    count_records(|| {
        let (plaintext, wire) = (black_box(&plaintext), black_box(&mut wire));
        unbuffered::send(&mut *client, plaintext, wire).unwrap();
    });
}

/// `process_tls_records` and `next_record`, over a buffer full of records.
fn unbuffered_receive(configs: &Configs, size: usize) {
    let mut pair = unbuffered::Pair::connect(configs).unwrap();
    let (plaintext, mut wire) = (plaintext(size), wire(size));
    repeat(|run| {
        let mut len = 0;
        for _ in 0..RECORDS {
            len += unbuffered::send(&mut *pair.client, &plaintext, &mut wire[len..]).unwrap();
        }
        run(&mut || {
            let received = unbuffered::receive(&mut *pair.server, &mut wire[..len]);
            assert_eq!(received.unwrap(), RECORDS * size);
        });
    });
}

/// `process_tls_records` and `encrypt_in_place`.
fn in_place_send(configs: &Configs, size: usize) {
    let mut client = unbuffered::Pair::connect(configs).unwrap().client;
    let mut wire = wire(size);
    let room = match client.process_tls_records(&mut []).state.unwrap() {
        ConnectionState::WriteTraffic(traffic) => traffic.in_place_room(),
        other => panic!("{other:?}"),
    };
    let payload = room.headroom..room.headroom + size;
    let record_len = payload.end + room.tailroom;
    count_records(|| {
        let ConnectionState::WriteTraffic(mut traffic) =
            client.process_tls_records(&mut []).state.unwrap()
        else {
            panic!("the connection cannot send");
        };
        let sealed = traffic.encrypt_in_place(black_box(&mut wire), payload.clone());
        assert_eq!(sealed.unwrap(), 0..record_len);
    });
}

/// Lets both sides count their events.
fn observe(configs: &mut Configs) {
    let counters = Arc::new(Counters::new());
    Arc::make_mut(&mut configs.client).observer = Some(counters.clone());
    Arc::make_mut(&mut configs.server).observer = Some(counters);
}

/// The kinds of connections whose handshakes are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Usual,
    /// They may wait for callbacks.
    Async,
    /// Counters observe them.
    Observed,
}

/// All of them, with the ends of their names.
const VARIANTS: [(&str, Variant); 3] = [
    ("", Variant::Usual),
    ("-async", Variant::Async),
    ("-observed", Variant::Observed),
];

/// Makes a handshake. One side of it is counted, including the creation and the end of the
/// connection.
fn handshake(configs: &Configs, variant: Variant, counted: Option<Role>) -> Option<HandshakeKind> {
    let is_async = variant == Variant::Async;
    let count = |side, work: &mut dyn FnMut()| {
        if counted == Some(side) {
            collected_by_callgrind(work);
        } else {
            work();
        }
    };
    let new_client = || {
        let mut client = ClientConnection::new(configs.client.clone(), server_name()).unwrap();
        client.set_async(is_async);
        client
    };
    let new_server = || {
        let mut server = ServerConnection::new(configs.server.clone()).unwrap();
        server.set_async(is_async);
        server
    };
    let (mut client, mut server) = (None, None);
    let mut pipe = Vec::with_capacity(1 << 14);
    for _ in 0..3 {
        count(Role::Client, &mut || {
            turn(client.get_or_insert_with(new_client), &mut pipe);
        });
        count(Role::Server, &mut || {
            turn(server.get_or_insert_with(new_server), &mut pipe);
        });
    }
    let (client, server) = (client.unwrap(), server.unwrap());
    assert!(!client.is_handshaking() && !server.is_handshaking());
    assert!(!client.wants_write() && !server.wants_write());
    let kind = client.handshake_kind();
    let (mut client, mut server) = (Some(client), Some(server));
    count(Role::Client, &mut || drop(client.take()));
    count(Role::Server, &mut || drop(server.take()));
    kind
}

/// Takes in the bytes in `pipe`, and replaces them by the output.
fn turn<Data>(connection: &mut ConnectionCommon<Data>, pipe: &mut Vec<u8>) {
    buffered::take_in(connection, pipe, &mut []).unwrap();
    buffered::hand_over(connection, pipe).unwrap();
}
