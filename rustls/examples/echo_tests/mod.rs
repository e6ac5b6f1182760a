//! Clients that test the echo servers. `crate::echo_one` is the server under test.

use std::io::{ErrorKind, Read, Result, Write, copy, repeat};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use harness::peers::configs::{ClientAuth, KeyType, Provider, server_name, this};
use harness::peers::endpoints::Transfer;
use rustls::{ClientConnection, ServerConfig, StreamOwned};

type Client = StreamOwned<ClientConnection, TcpStream>;

/// Connects a client to a server in a separate thread. `change` modifies the server's
/// configuration.
pub(crate) fn client_of(
    change: impl FnOnce(&mut ServerConfig),
) -> (Client, JoinHandle<Result<()>>) {
    let (provider, key_type) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
    let client = this::client(provider.clone(), key_type, ClientAuth::None);
    let mut server = this::server(provider, key_type, ClientAuth::None);
    change(&mut server);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    let served = thread::spawn(move || crate::echo_one(server.into(), far));
    let conn = ClientConnection::new(client.into(), server_name()).unwrap();
    (StreamOwned::new(conn, near), served)
}

/// Connects a client and completes the handshake.
fn greeted_client() -> (Client, JoinHandle<Result<()>>) {
    let (mut client, served) = client_of(|_| {});
    client.write_all(b"x").unwrap();
    client.read_exact(&mut [0]).unwrap();
    (client, served)
}

/// Sends a close_notify and reads until the server's.
fn close(mut client: Client, served: JoinHandle<Result<()>>) {
    client.conn.send_close_notify();
    client.flush().unwrap();
    // fails without the server's close_notify
    assert_eq!(client.read_to_end(&mut Vec::new()).unwrap(), 0);
    drop(client);
    served.join().unwrap().unwrap();
}

#[test]
fn data_is_echoed_until_a_close_notify() {
    let (mut client, served) = greeted_client();
    for len in [1, 1000, 100_000] {
        client.conn.refresh_traffic_keys().unwrap();
        let data = vec![len as u8; len];
        client.write_all(&data).unwrap();
        let mut echo = vec![0; len];
        client.read_exact(&mut echo).unwrap();
        assert_eq!(echo, data);
    }
    close(client, served);
}

/// The server may read the data together with the end of the handshake.
#[test]
fn data_sent_with_the_finished_is_echoed() {
    let (mut client, served) = client_of(|_| {});
    while client.conn.is_handshaking() {
        while client.conn.wants_write() {
            client.conn.write_tls(&mut client.sock).unwrap();
        }
        client.conn.read_tls(&mut client.sock).unwrap();
        client.conn.process_new_packets().unwrap();
    }
    client.conn.writer().write_all(b"early bird").unwrap();
    client.sock.write_all(&client.conn.output()).unwrap();
    let mut echo = [0; 10];
    client.read_exact(&mut echo).unwrap();
    assert_eq!(&echo, b"early bird");
    close(client, served);
}

/// The echo of data that arrives together with the close_notify is complete.
#[test]
fn a_half_closed_connection_gets_the_rest_of_the_echo() {
    let (mut client, served) = greeted_client();
    client.conn.writer().write_all(&[7; 40_000]).unwrap();
    client.conn.send_close_notify();
    client.flush().unwrap();
    client.sock.shutdown(Shutdown::Write).unwrap();
    let mut echo = Vec::new();
    client.read_to_end(&mut echo).unwrap();
    assert_eq!(echo, [7; 40_000]);
    served.join().unwrap().unwrap();
}

/// The alert is sent although the server has no data to write.
#[test]
fn a_forged_record_is_answered_with_an_alert() {
    let (mut client, served) = greeted_client();
    let forged = [&b"\x17\x03\x03\x00\x20"[..], &[0; 32]].concat();
    client.sock.write_all(&forged).unwrap();
    // if `UNREAD` is more than socket buffers hold, this fails unless the server reads to the end
    copy(&mut repeat(0).take(crate::UNREAD), &mut client.sock).unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
    drop(client);
    let error = served.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn a_stream_without_close_notify_is_an_error() {
    for (mut client, served) in [client_of(|_| {}), greeted_client()] {
        client.sock.shutdown(Shutdown::Write).unwrap();
        let _ = client.sock.read_to_end(&mut Vec::new());
        let error = served.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    }
}
