//! Connections through the kernel, with each cipher, version and side, and with both crates as the
//! peer. On a kernel without TLS, the tests only check the error.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use clap::Parser;
use harness::peers::configs::this::provider_of;
use harness::peers::configs::{KeyType, Provider, Versions, product3};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered};
use harness::peers::roles::{ROLES, Role, this, upstream};
use harness::wire::bare_records::Records;
use harness::wire::message;
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::ServerConnectionData;
use rustls::{CipherSuite, Error, ServerConfig, ServerConnection, StreamOwned};

use super::stream::*;
use crate::fetch::Options;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    (near, far)
}

/// Returns false if the kernel has no TLS, after a check of the error.
fn kernel_has_tls() -> bool {
    let Err(error) = enable(&sockets().0) else {
        return true;
    };
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("modprobe tls"), "{error}");
    eprintln!("skipped: {error}");
    false
}

/// A suite, our side, and the crate of the peer.
#[derive(Clone, Copy, Debug)]
struct Case {
    suite: CipherSuite,
    versions: Versions,
    role: Role,
    peer_is_upstream: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let suites = Provider::AwsLc.this().cipher_suites.into_iter();
        // the certificate is for ECDSA
        let suites = suites.filter(|suite| !format!("{suite:?}").contains("RSA"));
        let cases = product3(suites, ROLES, [false, true]);
        cases.map(|(suite, role, peer_is_upstream)| Self {
            suite: suite.suite(),
            versions: match suite.tls13() {
                Some(_) => Versions::Tls13,
                None => Versions::Tls12,
            },
            role,
            peer_is_upstream,
        })
    }

    /// A client in TLS 1.3, with this crate as its server.
    fn client() -> Self {
        let client = |case: &Self| case.role == Role::Client && case.versions == Versions::Tls13;
        Self::all().find(client).unwrap()
    }

    fn config(&self, role: Role) -> this::Config {
        let provider = provider_of(Provider::AwsLc, self.suite);
        this::Config::new(role, self.versions, provider, KeyType::EcdsaP256).extractable()
    }

    /// Returns a function that makes peers, all of one configuration.
    fn peers(&self) -> Box<dyn Fn() -> Box<dyn Endpoint>> {
        let (role, key_type) = (self.role.other(), KeyType::EcdsaP256);
        if self.peer_is_upstream {
            let provider = Provider::AwsLc.upstream();
            let config = upstream::Config::new(role, self.versions, provider, key_type);
            Box::new(move || Box::new(config.buffered()))
        } else {
            let config = self.config(role);
            Box::new(move || Box::new(config.buffered()))
        }
    }
}

/// Completes the handshake. Bytes that the peer sends after it are written to `far`.
fn connect(ours: &mut dyn Endpoint, peer: &mut dyn Endpoint, far: &mut TcpStream) {
    loop {
        peer.receive(&ours.take_output()).unwrap();
        if !ours.is_handshaking() && !peer.is_handshaking() {
            break;
        }
        ours.receive(&peer.take_output()).unwrap();
    }
    far.write_all(&peer.take_output()).unwrap();
}

/// A client whose records the kernel encrypts and decrypts, and its peer's socket.
fn client(
    config: &this::Config,
    peer: &mut dyn Endpoint,
) -> (KernelStream<ClientConnectionData>, TcpStream) {
    let (near, mut far) = sockets();
    enable(&near).unwrap();
    let mut ours = ThisUnbuffered::client(config.clone().client());
    connect(&mut ours, peer, &mut far);
    let (secrets, conn) = ours.conn.dangerous_into_kernel_connection().unwrap();
    let take = KernelConnection::handle_new_session_ticket;
    (KernelStream::new(near, secrets, conn, take).unwrap(), far)
}

/// A server that can send any record, and a client whose records the kernel encrypts and decrypts.
struct AnyServer {
    client: KernelStream<ClientConnectionData>,
    keys: KernelConnection<ServerConnectionData>,
    records: Records,
    socket: TcpStream,
}

impl AnyServer {
    fn new() -> Self {
        let case = Case::client();
        let mut server = ThisUnbuffered::server(case.config(Role::Server).server());
        let (client, socket) = client(&case.config(Role::Client), &mut server);
        let (secrets, keys) = server.conn.dangerous_into_kernel_connection().unwrap();
        Self {
            client,
            keys,
            records: Records::new(true, secrets.tx),
            socket,
        }
    }

    fn send(&mut self, typ: u8, content: &[u8]) {
        let record = self.records.seal(typ, content);
        self.socket.write_all(&record).unwrap();
    }

    /// Sends a KeyUpdate, at the end of a record with `messages`.
    fn update(&mut self, messages: &[u8]) {
        self.send(HANDSHAKE, &[messages, &message(24, &[0])].concat());
        self.records = Records::new(true, self.keys.update_tx_secret().unwrap());
    }

    fn received(&mut self) -> std::io::Result<Vec<u8>> {
        let mut buffer = vec![0; 7];
        let len = self.client.receive(&mut buffer)?;
        buffer.truncate(len);
        Ok(buffer)
    }
}

fn send(peer: &mut dyn Endpoint, far: &mut TcpStream, data: &[u8]) {
    let mut sent = 0;
    while sent < data.len() {
        sent += peer.send(&data[sent..]);
        far.write_all(&peer.take_output()).unwrap();
    }
}

/// Passes bytes on until the peer has received `len` bytes of data, or fails.
fn receive(peer: &mut dyn Endpoint, far: &mut TcpStream, len: usize) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    let mut bytes = [0; 4096];
    while data.len() < len {
        let read = far.read(&mut bytes).unwrap();
        if read == 0 {
            return Err("the end".to_owned());
        }
        peer.receive(&bytes[..read])?;
        peer.read_into(&mut data);
    }
    Ok(data)
}

/// Exchanges data through the kernel in both directions.
fn exchange<Data>(
    stream: &mut KernelStream<Data>,
    peer: &mut dyn Endpoint,
    far: &mut TcpStream,
    len: usize,
) -> std::io::Result<()> {
    let data = vec![len as u8; len];
    send(peer, far, &data);
    let mut received = Vec::new();
    let mut buffer = vec![0; 5000];
    while received.len() < len {
        let read = stream.receive(&mut buffer)?;
        assert_ne!(read, 0);
        received.extend_from_slice(&buffer[..read]);
    }
    assert!(received == data);
    stream.socket().write_all(&data)?;
    assert!(receive(peer, far, len).unwrap() == data);
    Ok(())
}

/// Data, three rounds of new keys that each side begins, and both close_notify.
fn use_all<Data>(
    case: &Case,
    mut stream: KernelStream<Data>,
    peer: &mut dyn Endpoint,
    far: &mut TcpStream,
) {
    for len in [1, 1000, 30_000] {
        exchange(&mut stream, peer, far, len).unwrap();
    }
    for len in [10, 20, 30] {
        if case.versions == Versions::Tls12 {
            stream.replace_keys().unwrap_err();
            continue;
        }
        if can_replace_keys() {
            stream.replace_keys().unwrap();
        } else {
            let error = stream.replace_keys().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
        exchange(&mut stream, peer, far, len).unwrap();
        peer.refresh_traffic_keys();
        let exchanged = exchange(&mut stream, peer, far, len);
        if !can_replace_keys() {
            let error = exchanged.unwrap_err();
            assert!(error.to_string().contains("the peer has replaced its key"));
            let error = receive(peer, far, 1).unwrap_err();
            assert!(error.contains("InternalError"), "{error}");
            return;
        }
        exchanged.unwrap();
    }
    peer.close();
    far.write_all(&peer.take_output()).unwrap();
    assert_eq!(stream.receive(&mut [0; 2]).unwrap(), 0);
    stream.socket().write_all(b"still open").unwrap();
    assert_eq!(receive(peer, far, 10).unwrap(), b"still open");
    stream.close().unwrap();
    assert_eq!(receive(peer, far, 1).unwrap_err(), "the end");
    assert!(peer.peer_has_closed());
}

#[test]
fn everything_goes_through_the_kernel() {
    if !kernel_has_tls() {
        return;
    }
    for case in Case::all() {
        let peers = case.peers();
        let mut peer = peers();
        let config = case.config(case.role);
        match case.role {
            Role::Client => {
                let (stream, mut far) = client(&config, &mut *peer);
                use_all(&case, stream, &mut *peer, &mut far);
                // the kernel has passed on the tickets of TLS 1.3
                let (mut second, mut peer) = (config.buffered(), peers());
                case.role.handshake(&mut second, &mut *peer);
                let negotiated = second.negotiated();
                assert!(negotiated.contains("Resumed"), "{case:?}: {negotiated}");
            }
            Role::Server => {
                let (near, mut far) = sockets();
                enable(&near).unwrap();
                let mut ours = ThisUnbuffered::server(config.server());
                connect(&mut ours, &mut *peer, &mut far);
                let (secrets, conn) = ours.conn.dangerous_into_kernel_connection().unwrap();
                let take = |_: &mut _, _: &_| Err(Error::General("clients send none".into()));
                let stream = KernelStream::new(near, secrets, conn, take).unwrap();
                use_all(&case, stream, &mut *peer, &mut far);
            }
        }
        eprintln!("through the kernel: {case:?}");
    }
    if !can_replace_keys() {
        eprintln!("no new keys: this kernel cannot replace them");
    }
}

#[test]
fn forged_record_is_answered_with_an_alert() {
    if !kernel_has_tls() {
        return;
    }
    let case = Case::client();
    let mut peer = case.peers()();
    let (mut stream, mut far) = client(&case.config(Role::Client), &mut *peer);
    peer.send(b"data");
    let mut record = peer.take_output();
    *record.last_mut().unwrap() ^= 1;
    far.write_all(&record).unwrap();
    let error = stream.receive(&mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let error = receive(&mut *peer, &mut far, 1).unwrap_err();
    assert!(error.contains("BadRecordMac"), "{error}");
}

#[test]
fn end_without_a_close_notify_is_an_error() {
    if !kernel_has_tls() {
        return;
    }
    let mut server = AnyServer::new();
    // a record without data is no end
    server.send(DATA, b"");
    server.send(DATA, b"data");
    server.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.received().unwrap(), b"data");
    let error = server.received().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

/// So a program must use `recvmsg`, as the manual says.
#[test]
fn plain_read_fails_at_records_without_data() {
    if !kernel_has_tls() {
        return;
    }
    let mut server = AnyServer::new();
    server.send(DATA, b"data");
    // the tickets come first
    let error = server.client.socket().read(&mut [0; 100]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
}

#[test]
fn messages_may_be_cut_and_joined_by_records() {
    if !kernel_has_tls() {
        return;
    }
    let mut server = AnyServer::new();
    let ticket = message(4, &[0, 0, 1, 0, 0, 0, 0, 1, 1, 5, 0, 1, 7, 0, 0]);
    let twice = [&ticket[..], &ticket].concat();
    for record in [&twice[..], &ticket[..1], &ticket[1..6], &ticket[6..]] {
        server.send(HANDSHAKE, record);
    }
    server.send(DATA, b"data");
    assert_eq!(server.received().unwrap(), b"data");
    if can_replace_keys() {
        server.update(&ticket);
        server.send(DATA, b"more");
        assert_eq!(server.received().unwrap(), b"more");
    }
}

#[test]
fn key_updates_without_data_are_limited() {
    if !kernel_has_tls() || !can_replace_keys() {
        return;
    }
    let mut server = AnyServer::new();
    for _ in 0..2 {
        (0..32).for_each(|_| server.update(&[]));
        server.send(DATA, b"data");
        assert_eq!(server.received().unwrap(), b"data");
    }
    (0..32).for_each(|_| server.update(&[]));
    // an empty record is no data
    server.send(DATA, &[]);
    server.update(&[]);
    server.send(DATA, b"data");
    let error = server.received().unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
}

#[test]
fn wrong_records_end_the_connection() {
    if !kernel_has_tls() {
        return;
    }
    let key_update = message(24, &[0]);
    let wrong = [
        (HANDSHAKE, message(1, &[0; 40])),
        (HANDSHAKE, message(4, &[0; 3])),
        (HANDSHAKE, message(24, &[2])),
        (HANDSHAKE, [&key_update[..], &key_update].concat()),
        (HANDSHAKE, vec![4, 1, 0, 0]),
        (HANDSHAKE, vec![4]), // followed by data
        (ALERT, vec![1]),
        (ALERT, vec![2, 40]),
    ];
    for (typ, content) in wrong {
        let mut server = AnyServer::new();
        server.send(typ, &content);
        server.send(DATA, b"data");
        let received = server.received();
        assert!(received.is_err(), "{typ} {content:?}");
    }
}

/// Runs the example against a server of this crate without the kernel.
#[test]
fn page_is_fetched() {
    let names = ["127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let name = format!("{}-{}.pem", env!("CARGO_CRATE_NAME"), std::process::id());
    let ca_file = std::env::temp_dir().join(name);
    std::fs::write(&ca_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Provider::AwsLc.this().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let conn = ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = StreamOwned::new(conn, socket);
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            // the example ends early where the kernel has no TLS
            if tls.read(&mut byte)? == 0 {
                break;
            }
            request.extend(byte);
        }
        tls.write_all(b"HTTP/1.1 200 OK\r\n\r\n<h1>It works</h1>\n")?;
        tls.conn.send_close_notify();
        tls.flush()
    });
    let file: &Path = &ca_file;
    let arguments = ["kernel_tls", "--port", &port, "127.0.0.1"].map(Into::into);
    let arguments = arguments.into_iter().chain([file.as_os_str().to_owned()]);
    let fetched = crate::run(&Options::parse_from(arguments));
    std::fs::remove_file(&ca_file).unwrap();
    if kernel_has_tls() {
        fetched.unwrap();
        server.join().unwrap().unwrap();
    } else {
        let error = fetched.unwrap_err().to_string();
        assert!(error.contains("modprobe tls"), "{error}");
        server.join().unwrap().unwrap_err();
    }
}
