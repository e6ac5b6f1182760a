//! The workloads: the program that runs under callgrind.

use core::hint::black_box;
use std::io::{self, IoSlice, Read, Write};
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, Versions};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, ServerConfig, ServerConnection,
};

use crate::roots;

/// The name of the function in which callgrind counts.
pub(crate) const COLLECTED: &str = "collected_by_callgrind";

/// The name of the function at which callgrind writes down what it counted since the last.
pub(crate) const REPORTED: &str = "reported_by_callgrind";

/// Bytes of plaintext in a record.
const SIZES: [usize; 2] = [64, 16384];

/// Sends or receives [`RECORDS`] records of so many bytes.
type Workload = fn(&Configs, usize);

const WORKLOADS: [(&str, Workload); 5] = [
    ("buffered/send", buffered_send),
    ("buffered/receive", buffered_receive),
    ("unbuffered/send", unbuffered_send),
    ("unbuffered/receive", unbuffered_receive),
    ("in-place/send", in_place_send),
];

/// The number of records sent or received while instructions are counted.
const RECORDS: usize = 16;

/// The number of uncounted runs before: they allocate buffers and bind symbols.
pub(crate) const WARM_UP: usize = 3;

/// Runs `work`, and it is counted.
#[inline(never)]
fn collected_by_callgrind(work: &mut dyn FnMut()) {
    work();
    // or the call would be the last instruction, a jump
    black_box(());
}

/// Ends what is counted for one workload.
#[inline(never)]
pub(crate) fn reported_by_callgrind(name: &str, operations: usize) {
    println!("{name} {operations}");
}

/// Runs all workloads whose name contains `filter`. Prints names and numbers of operations in the
/// order in which they are counted.
pub(crate) fn run_all(filter: &str) {
    for provider in PROVIDERS {
        let label = match provider {
            Provider::AwsLc => "aws-lc-rs",
            Provider::Ring => "ring",
        };
        for version in [Versions::Tls13, Versions::Tls12] {
            let label = match version {
                Versions::Tls12 => format!("{label}/tls12"),
                _ => label.to_owned(),
            };
            run_records(&label, &Configs::new(provider, version), filter);
            run_handshakes(&label, || Configs::new(provider, version), filter);
            if version == Versions::Tls13 {
                roots::run_all(&label, provider, filter);
            }
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
    for (kind, handshake_kind) in [
        ("handshake", HandshakeKind::Full),
        ("handshake-resumed", HandshakeKind::Resumed),
    ] {
        for side in [Side::Client, Side::Server] {
            let name = format!("{label}/{kind}/{side:?}").to_lowercase();
            if !name.contains(filter) {
                continue;
            }
            let configs = new_configs();
            for _ in 0..WARM_UP {
                handshake(&configs, None);
            }
            let counted = match handshake_kind {
                // the clients before have left tickets
                HandshakeKind::Resumed => handshake(&configs, Some(side)),
                _ => handshake(&configs.forgetting(), Some(side)),
            };
            assert_eq!(counted, Some(handshake_kind));
            reported_by_callgrind(&name, 1);
        }
    }
}

/// Configurations of both sides. Their certificates are the same in each run, because the length
/// of a certificate counts. Sessions are resumed from tickets.
pub(crate) struct Configs {
    pub(crate) client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Configs {
    fn new(provider: Provider, version: Versions) -> Self {
        Self::with_key(provider, version, KeyType::Ed25519)
    }

    /// The same configurations without sessions and known chains. Their verifiers have digested
    /// their rules, which the first handshake of a configuration does.
    fn forgetting(self) -> Self {
        let mut client = Arc::unwrap_or_clone(self.client);
        client.resumption = Resumption::in_memory_sessions(256);
        client.verified_chains.clear();
        Self {
            client: Arc::new(client),
            ..self
        }
    }

    pub(crate) fn with_key(provider: Provider, version: Versions, key: KeyType) -> Self {
        let mut crypto = provider.this();
        let suites = [
            "TLS13_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        ];
        crypto
            .cipher_suites
            .retain(|suite| suites.contains(&&format!("{:?}", suite.suite())[..]));
        let auth = ClientAuth::None;
        let client = configs::this::client_of(version, crypto.clone(), key, auth);
        let mut server = configs::this::server_of(version, crypto, key, auth);
        server.ticketer = match provider {
            Provider::AwsLc => rustls::crypto::aws_lc_rs::Ticketer::new().unwrap(),
            Provider::Ring => rustls::crypto::ring::Ticketer::new().unwrap(),
        };
        Self {
            client: Arc::new(client),
            server: Arc::new(server),
        }
    }

    fn client(&self) -> ClientConnection {
        ClientConnection::new(self.client.clone(), configs::server_name()).unwrap()
    }

    fn server(&self) -> ServerConnection {
        ServerConnection::new(self.server.clone()).unwrap()
    }

    fn buffered_pair(&self) -> (ClientConnection, ServerConnection) {
        let (mut client, mut server) = (self.client(), self.server());
        let mut pipe = Vec::new();
        loop {
            turn(&mut client, &mut pipe);
            if pipe.is_empty() {
                break;
            }
            turn(&mut server, &mut pipe);
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        (client, server)
    }

    fn unbuffered_pair(&self) -> (UnbufferedClientConnection, UnbufferedServerConnection) {
        let name = configs::server_name();
        let mut client = UnbufferedClientConnection::new(self.client.clone(), name).unwrap();
        let mut server = UnbufferedServerConnection::new(self.server.clone()).unwrap();
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        loop {
            advance!(client, &mut to_client, &mut to_server);
            if to_server.is_empty() {
                break;
            }
            advance!(server, &mut to_server, &mut to_client);
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        (client, server)
    }
}

/// Has an unbuffered connection take in `$incoming` and append what it has to send to `$outgoing`.
macro_rules! advance {
    ($connection:expr, $incoming:expr, $outgoing:expr) => {{
        let (incoming, outgoing): (&mut Vec<u8>, &mut Vec<u8>) = ($incoming, $outgoing);
        loop {
            let UnbufferedStatus { discard, state, .. } = $connection.process_tls_records(incoming);
            let mut is_waiting = false;
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut data) => {
                    let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) else {
                        panic!("nothing to encode");
                    };
                    let used = outgoing.len();
                    outgoing.resize(used + size.required_size, 0);
                    data.encode(&mut outgoing[used..]).unwrap();
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => {
                    is_waiting = true;
                }
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
            if is_waiting {
                break;
            }
        }
    }};
}
use advance;

/// `pipe` in, and `pipe` out.
fn turn<Data>(connection: &mut ConnectionCommon<Data>, pipe: &mut Vec<u8>) {
    let mut incoming = &pipe[..];
    while !incoming.is_empty() {
        connection.read_tls(&mut incoming).unwrap();
        connection.process_new_packets().unwrap();
    }
    pipe.clear();
    while connection.wants_write() {
        connection.write_tls(pipe).unwrap();
    }
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
    let (mut client, _server) = configs.buffered_pair();
    let plaintext = plaintext(size);
    let mut send = || {
        for _ in 0..RECORDS {
            let taken = client.writer().write(black_box(&plaintext)).unwrap();
            assert_eq!(taken, size);
            client.write_tls(&mut Socket).unwrap();
        }
    };
    (0..WARM_UP).for_each(|_| send());
    collected_by_callgrind(&mut send);
}

/// Accepts everything, like a socket with room, so that the work of a writer is not counted.
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
    let (mut client, mut server) = configs.buffered_pair();
    let (plaintext, mut application) = (plaintext(size), plaintext(16384));
    let mut wire = Vec::with_capacity(RECORDS * (size + 64));
    for round in 0..=WARM_UP {
        wire.clear();
        for _ in 0..RECORDS {
            client.writer().write_all(&plaintext).unwrap();
            client.write_tls(&mut wire).unwrap();
        }
        let mut receive = || {
            let (mut pipe, mut received) = (&wire[..], 0);
            while !pipe.is_empty() {
                server.read_tls(&mut pipe).unwrap();
                let state = server.process_new_packets().unwrap();
                let mut waiting = state.plaintext_bytes_to_read();
                while waiting != 0 {
                    let read = server.reader().read(black_box(&mut application)).unwrap();
                    waiting -= read;
                    received += read;
                }
            }
            assert_eq!(received, RECORDS * size);
        };
        if round < WARM_UP {
            receive();
        } else {
            collected_by_callgrind(&mut receive);
        }
    }
}

/// `process_tls_records` and `encrypt`.
fn unbuffered_send(configs: &Configs, size: usize) {
    let (mut client, _server) = configs.unbuffered_pair();
    let (plaintext, mut wire) = (plaintext(size), wire(size));
    let mut send = || {
        for _ in 0..RECORDS {
            seal(&mut client, black_box(&plaintext), black_box(&mut wire));
        }
    };
    (0..WARM_UP).for_each(|_| send());
    collected_by_callgrind(&mut send);
}

fn seal(client: &mut UnbufferedClientConnection, plaintext: &[u8], out: &mut [u8]) -> usize {
    match client.process_tls_records(&mut []).state.unwrap() {
        ConnectionState::WriteTraffic(mut traffic) => traffic.encrypt(plaintext, out).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// `process_tls_records` and `next_record`, over a buffer full of records.
fn unbuffered_receive(configs: &Configs, size: usize) {
    let (mut client, mut server) = configs.unbuffered_pair();
    let (plaintext, mut wire) = (plaintext(size), wire(size));
    for round in 0..=WARM_UP {
        let mut len = 0;
        for _ in 0..RECORDS {
            len += seal(&mut client, &plaintext, &mut wire[len..]);
        }
        let mut receive = || {
            let (mut start, mut received) = (0, 0);
            while start < len {
                let status = server.process_tls_records(&mut wire[start..len]);
                start += status.discard;
                match status.state.unwrap() {
                    ConnectionState::ReadTraffic(mut traffic) => {
                        let record = traffic.next_record().unwrap().unwrap();
                        received += black_box(record.payload).len();
                    }
                    ConnectionState::WriteTraffic(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(received, RECORDS * size);
        };
        if round < WARM_UP {
            receive();
        } else {
            collected_by_callgrind(&mut receive);
        }
    }
}

/// `process_tls_records` and `encrypt_in_place`.
fn in_place_send(configs: &Configs, size: usize) {
    let (mut client, _server) = configs.unbuffered_pair();
    let mut wire = wire(size);
    let room = match client.process_tls_records(&mut []).state.unwrap() {
        ConnectionState::WriteTraffic(traffic) => traffic.in_place_room(),
        other => panic!("{other:?}"),
    };
    let payload = room.headroom..room.headroom + size;
    let record_len = payload.end + room.tailroom;
    let mut send = || {
        for _ in 0..RECORDS {
            match client.process_tls_records(&mut []).state.unwrap() {
                ConnectionState::WriteTraffic(mut traffic) => {
                    let sealed = traffic.encrypt_in_place(black_box(&mut wire), payload.clone());
                    assert_eq!(sealed.unwrap(), 0..record_len);
                }
                other => panic!("{other:?}"),
            }
        }
    };
    (0..WARM_UP).for_each(|_| send());
    collected_by_callgrind(&mut send);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A handshake; one side of it is counted, from the making of the connection on.
fn handshake(configs: &Configs, counted: Option<Side>) -> Option<HandshakeKind> {
    handshake_of(&|| configs.client(), configs, counted)
}

/// The same, of a client that `new_client` makes.
pub(crate) fn handshake_of(
    new_client: &dyn Fn() -> ClientConnection,
    configs: &Configs,
    counted: Option<Side>,
) -> Option<HandshakeKind> {
    let count = |side, work: &mut dyn FnMut()| {
        if counted == Some(side) {
            collected_by_callgrind(work);
        } else {
            work();
        }
    };
    let (mut client, mut server) = (None, None);
    let mut pipe = Vec::with_capacity(1 << 14);
    for _ in 0..3 {
        count(Side::Client, &mut || {
            turn(client.get_or_insert_with(new_client), &mut pipe);
        });
        count(Side::Server, &mut || {
            turn(server.get_or_insert_with(|| configs.server()), &mut pipe);
        });
    }
    let (client, server) = (client.unwrap(), server.unwrap());
    assert!(!client.is_handshaking() && !server.is_handshaking());
    assert!(!client.wants_write() && !server.wants_write());
    client.handshake_kind()
}
