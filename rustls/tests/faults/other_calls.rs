//! Callbacks that panic or fail in calls that `callbacks` does not make: exporters and kernel
//! connections.

use std::io::{Read, Write};
use std::sync::Arc;

use harness::peers::configs::Versions;
use harness::peers::endpoints::{ThisBuffered, ThisUnbuffered, handshake};
use harness::wire::bare_records::Keys;
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ClientConnection, Connection, Error, ServerConnection};

use crate::bomb::{self, Wrong, survives};
use crate::callbacks::OVER;
use crate::rigged::{Rig, Setup};

pub(crate) const TLS13: Setup = Setup {
    versions: Versions::Tls13,
    tickets: false,
    retry: false,
    early_data: false,
    quic: false,
};

pub(crate) fn connected(rig: &Rig) -> (ClientConnection, ServerConnection) {
    let mut client = ThisBuffered::client(rig.client.clone());
    let mut server = ThisBuffered::server(rig.server.clone());
    handshake(&mut client, &mut server);
    match (client.conn, server.conn) {
        (Connection::Client(client), Connection::Server(server)) => (client, server),
        _ => unreachable!("each end keeps its side"),
    }
}

/// Asserts that `call` panics when the first call of `name` does.
pub(crate) fn panics<T>(name: &'static str, call: impl FnOnce() -> T) {
    panics_at(name, 0, call);
}

/// Asserts that `call` panics when call number `at` of `name` does.
#[track_caller]
pub(crate) fn panics_at<T>(name: &'static str, at: usize, call: impl FnOnce() -> T) {
    bomb::arm(name, at, Wrong::Panics);
    assert!(survives(call).is_none());
    assert!(bomb::disarm());
    bomb::forget_calls();
}

#[track_caller]
fn assert_over<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert_eq!(result.unwrap_err().to_string(), OVER);
    assert!(bomb::calls().is_empty(), "{:?}", bomb::calls());
}

/// Plaintext that was decrypted before a panic can still be read.
#[test]
fn buffered_plaintext_can_be_read_after_a_panic() {
    let (mut client, mut server) = connected(&Rig::new(TLS13));
    let mut records = Vec::new();
    for data in [b"one", b"two"] {
        server.writer().write_all(data).unwrap();
        server.write_tls(&mut records).unwrap();
    }
    client.read_tls(&mut &records[..]).unwrap();
    bomb::arm("MessageDecrypter::decrypt", 1, Wrong::Panics);
    assert!(survives(|| client.process_new_packets()).is_none());
    assert!(bomb::disarm());
    bomb::forget_calls();
    let mut read = [0; 10];
    assert_eq!(client.reader().read(&mut read).unwrap(), 3);
    assert_eq!(read[..3], *b"one");
    assert_over(client.process_new_packets());
}

/// An exporter does not change the state, so the connection survives a panic in it.
#[test]
fn connections_survive_panics_in_exporters() {
    let (client, server) = connected(&Rig::new(TLS13));
    let export = || client.export_keying_material([0; 32], b"label", None);
    panics("HkdfExpander::expand_slice", export);
    let of_server = server.export_keying_material([0; 32], b"label", None);
    assert_eq!(export(), of_server);
    assert!(of_server.is_ok());
}

type Kernels = (
    KernelConnection<ClientConnectionData>,
    KernelConnection<ServerConnectionData>,
);

fn kernels(rig: &Rig) -> Kernels {
    let mut client = ThisUnbuffered::client(rig.client.clone());
    let mut server = ThisUnbuffered::server(rig.server.clone());
    handshake(&mut client, &mut server);
    let client = client.conn.dangerous_into_kernel_connection().unwrap();
    let server = server.conn.dangerous_into_kernel_connection().unwrap();
    (client.1, server.1)
}

#[test]
fn kernel_connections_fail_if_a_callback_panics() {
    let rig = Rig::new(TLS13);
    type Call = fn(&mut KernelConnection<ClientConnectionData>) -> Result<(), Error>;
    const CALLS: [(&str, Call); 4] = [
        ("HkdfExpander::expand_block", |it| {
            it.update_tx_secret().map(drop)
        }),
        ("HkdfExpander::expand_block", |it| {
            it.update_rx_secret().map(drop)
        }),
        ("Hkdf::expander_for_okm", |it| {
            it.update_tx_secret().map(drop)
        }),
        ("ClientSessionStore::insert_tls13_ticket", |it| {
            // lifetime, age_add, nonce, ticket, extensions
            it.handle_new_session_ticket(b"\0\0\x0e\x10\0\0\0\0\x01\x07\0\x02ab\0\0")
        }),
    ];
    for (name, call) in CALLS {
        let (mut kernel, _) = kernels(&rig);
        panics(name, || call(&mut kernel).unwrap());
        assert_over(kernel.update_tx_secret().map(|_| ()));
        // no secrets are left that use the configuration
        assert_eq!(Arc::strong_count(&rig.client), 1);
        assert_over(kernel.update_rx_secret().map(|_| ()));
        assert_over(kernel.handle_new_session_ticket(&[]));
    }
}

/// A key that the provider did not export is not skipped.
#[test]
fn kernel_connections_do_not_skip_keys() {
    let (mut client, mut server) = kernels(&Rig::new(TLS13));
    for is_sender in [true, false] {
        bomb::arm("Tls13AeadAlgorithm::extract_keys", 0, Wrong::Fails);
        let updated = match is_sender {
            true => client.update_tx_secret(),
            false => server.update_rx_secret(),
        };
        assert!(updated.is_err() && bomb::disarm());
        let sending = Keys::from(client.update_tx_secret().unwrap());
        assert_eq!(sending, server.update_rx_secret().unwrap().into());
    }
}
