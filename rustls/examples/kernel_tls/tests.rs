//! Tests connections through the kernel, with each cipher and version. On a kernel without TLS, the
//! tests only check the error.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::{env, fs, process, thread};

use clap::Parser;
use harness::peers::configs::this::provider_of;
use harness::peers::configs::{KeyType, Provider, Versions};
use harness::peers::endpoints::{Endpoint, ThisUnbuffered, handshake};
use harness::peers::os::loopback;
use harness::peers::roles::this::Config;
use harness::peers::roles::{Role, upstream};
use harness::wire::bare_records::Records;
use harness::wire::message;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::kernel::KernelConnection;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::ServerConnectionData;
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedCipherSuite};

use super::stream::*;
use crate::fetch::Options;

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Returns false if the kernel has no TLS. In that case, also checks the error.
fn kernel_has_tls() -> bool {
    let Err(error) = enable(&loopback().unwrap().0) else {
        return true;
    };
    assert!(error.to_string().contains("modprobe tls"), "{error}");
    eprintln!("skipped: {error}");
    false
}

/// True if the kernel can replace keys. Only such kernels have this counter.
fn can_replace_keys() -> bool {
    fs::read_to_string("/proc/net/tls_stat").is_ok_and(|stat| stat.contains("TlsTxRekeyOk"))
}

fn config(role: Role, suite: SupportedCipherSuite) -> Config {
    let provider = provider_of(Provider::AwsLc, suite.suite());
    Config::new(role, Versions::Both, provider, KEY_TYPE).extractable()
}

/// Creates a client whose records the kernel encrypts and decrypts, and its server's socket. Bytes
/// that the server sends after the handshake have arrived.
fn client(config: Config, server: &mut dyn Endpoint) -> (KernelStream, TcpStream) {
    let (near, mut far) = loopback().unwrap();
    enable(&near).unwrap();
    let mut client = ThisUnbuffered::client(config.client());
    loop {
        server.receive(&client.take_output()).unwrap();
        if !client.is_handshaking() && !server.is_handshaking() {
            break;
        }
        client.receive(&server.take_output()).unwrap();
    }
    far.write_all(&server.take_output()).unwrap();
    let kernel = client.conn.dangerous_into_kernel_connection().unwrap();
    (KernelStream::new(near, kernel).unwrap(), far)
}

/// A server that can send any record, and a client whose records the kernel encrypts and decrypts.
struct AnyServer {
    client: KernelStream,
    keys: KernelConnection<ServerConnectionData>,
    records: Records,
    socket: TcpStream,
}

impl AnyServer {
    /// Runs `test`, unless the kernel has no TLS.
    fn run(test: impl FnOnce(Self)) {
        if !kernel_has_tls() {
            return;
        }
        let suite = TLS13_AES_128_GCM_SHA256;
        let mut server = ThisUnbuffered::server(config(Role::Server, suite).server());
        let (client, socket) = client(config(Role::Client, suite), &mut server);
        let (secrets, keys) = server.conn.dangerous_into_kernel_connection().unwrap();
        test(Self {
            client,
            keys,
            records: Records::new(true, secrets.tx),
            socket,
        });
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

    fn received(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 7];
        let len = self.client.read(&mut buffer)?;
        Ok(buffer[..len].to_vec())
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
fn exchange(
    stream: &mut KernelStream,
    peer: &mut dyn Endpoint,
    far: &mut TcpStream,
    len: usize,
) -> io::Result<()> {
    let data = vec![len as u8; len];
    let mut sent = 0;
    while sent < len {
        sent += peer.send(&data[sent..]);
        far.write_all(&peer.take_output()).unwrap();
    }
    let mut received = vec![0; len];
    stream.read_exact(&mut received)?;
    assert!(received == data);
    stream.socket.write_all(&data)?;
    assert!(receive(peer, far, len).unwrap() == data);
    Ok(())
}

/// Exchanges data, updates the keys three times from each side, and closes both directions.
fn use_all(
    is_tls13: bool,
    stream: &mut KernelStream,
    peer: &mut dyn Endpoint,
    far: &mut TcpStream,
) {
    for len in [1, 1000, 30_000] {
        exchange(stream, peer, far, len).unwrap();
    }
    for len in [10, 20, 30] {
        if !is_tls13 {
            stream.replace_sending_key(true).unwrap_err();
            continue;
        }
        if can_replace_keys() {
            stream.replace_sending_key(true).unwrap();
        }
        exchange(stream, peer, far, len).unwrap();
        peer.refresh_traffic_keys();
        let exchanged = exchange(stream, peer, far, len);
        if !can_replace_keys() {
            let error = exchanged.unwrap_err().to_string();
            assert!(error.contains("cannot replace keys"), "{error}");
            let error = receive(peer, far, 1).unwrap_err();
            assert!(error.contains("InternalError"), "{error}");
            return;
        }
        exchanged.unwrap();
    }
    peer.close();
    far.write_all(&peer.take_output()).unwrap();
    assert_eq!(stream.read(&mut [0; 2]).unwrap(), 0);
    stream.socket.write_all(b"still open").unwrap();
    assert_eq!(receive(peer, far, 10).unwrap(), b"still open");
    stream.close().unwrap();
    assert_eq!(receive(peer, far, 1).unwrap_err(), "the end");
    assert!(peer.peer_has_closed());
}

#[test]
fn all_records_go_through_the_kernel() {
    if !kernel_has_tls() {
        return;
    }
    let suites = Provider::AwsLc.this().cipher_suites.into_iter();
    // the certificate is for ECDSA
    let suites = suites.filter(|suite| !format!("{suite:?}").contains("RSA"));
    for suite in suites {
        let client_config = config(Role::Client, suite);
        let (versions, provider) = (Versions::Both, Provider::AwsLc.upstream());
        let server_config = upstream::Config::new(Role::Server, versions, provider, KEY_TYPE);
        let mut server = server_config.buffered();
        let (mut stream, mut far) = client(client_config.clone(), &mut server);
        let is_tls13 = suite.tls13().is_some();
        use_all(is_tls13, &mut stream, &mut server, &mut far);
        // the kernel has passed on the tickets of TLS 1.3
        let mut second = client_config.buffered();
        handshake(&mut second, &mut server_config.buffered());
        let negotiated = second.negotiated();
        assert!(negotiated.contains("Resumed"), "{suite:?}: {negotiated}");
        eprintln!("through the kernel: {suite:?}");
    }
}

#[test]
fn a_forged_record_is_answered_with_an_alert() {
    if !kernel_has_tls() {
        return;
    }
    let suite = TLS13_AES_128_GCM_SHA256;
    let mut peer = config(Role::Server, suite).buffered();
    let (mut stream, mut far) = client(config(Role::Client, suite), &mut peer);
    peer.send(b"data");
    let mut record = peer.take_output();
    *record.last_mut().unwrap() ^= 1;
    far.write_all(&record).unwrap();
    let error = stream.read(&mut [0; 100]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let error = receive(&mut peer, &mut far, 1).unwrap_err();
    assert!(error.contains("BadRecordMac"), "{error}");
}

#[test]
fn an_end_without_a_close_notify_is_an_error() {
    AnyServer::run(|mut server| {
        // a record without data does not end the stream
        server.send(DATA, b"");
        server.send(DATA, b"data");
        server.socket.shutdown(Shutdown::Write).unwrap();
        assert_eq!(server.received().unwrap(), b"data");
        let error = server.received().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    });
}

/// This is why the manual tells programs to use `recvmsg`.
#[test]
fn a_plain_read_fails_at_records_without_data() {
    AnyServer::run(|mut server| {
        server.send(DATA, b"data");
        // the tickets come first
        let error = server.client.socket.read(&mut [0; 100]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
    });
}

#[test]
fn messages_split_or_joined_by_records_are_accepted() {
    AnyServer::run(|mut server| {
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
    });
}

#[test]
fn key_updates_without_data_are_limited() {
    AnyServer::run(|mut server| {
        if !can_replace_keys() {
            return;
        }
        for _ in 0..2 {
            (0..32).for_each(|_| server.update(&[]));
            server.send(DATA, b"data");
            assert_eq!(server.received().unwrap(), b"data");
        }
        (0..32).for_each(|_| server.update(&[]));
        // an empty record does not count as data
        server.send(DATA, &[]);
        server.update(&[]);
        server.send(DATA, b"data");
        let error = server.received().unwrap_err();
        assert!(error.to_string().contains("too many"), "{error}");
    });
}

#[test]
fn wrong_records_end_the_connection() {
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
        AnyServer::run(|mut server| {
            server.send(typ, &content);
            server.send(DATA, b"data");
            let received = server.received();
            assert!(received.is_err(), "{typ} {content:?}");
        });
    }
}

/// Runs the example against a server of this crate without the kernel.
#[test]
fn a_page_is_fetched() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let ca_file = env::temp_dir().join(format!("kernel-tls-{}.pem", process::id()));
    fs::write(&ca_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Provider::AwsLc.this().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept()?;
        let conn = ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = StreamOwned::new(conn, socket);
        // the example ends early if the kernel has no TLS
        tls.read_exact(&mut [0; 4])?;
        tls.write_all(b"HTTP/1.1 200 OK\r\n\r\n<h1>It works</h1>\n")?;
        tls.conn.send_close_notify();
        tls.flush()?;
        tls.read_to_end(&mut Vec::new())
    });
    let ca_path = ca_file.to_str().unwrap();
    let options = Options::parse_from(["kernel_tls", "--port", &port, "127.0.0.1", ca_path]);
    let fetched = crate::run(&options).map_err(|error| error.to_string());
    fs::remove_file(&ca_file).unwrap();
    let served = server.join().unwrap();
    if kernel_has_tls() {
        fetched.unwrap();
        served.unwrap();
    } else {
        assert!(fetched.unwrap_err().contains("modprobe tls"));
    }
}
