//! Tests of the limits on bytes that a buffered connection accepts before the application processes
//! them.

use std::io::{self, Read, Write};

use harness::peers::configs::{KeyType, PROVIDERS, Versions};
use harness::peers::endpoints::{Endpoint, ThisBuffered, handshake};
use harness::peers::pairs::this::Configs;
use rustls::Connection;

/// Twice the longest record on the wire: one that is buffered, and as many bytes as one call of
/// `read` may add.
const TLS_LIMIT: usize = 2 * (5 + 16384 + 2048);

/// Returns the configurations over each provider.
fn configs() -> [Configs; 2] {
    PROVIDERS.map(|it| Configs::new(Versions::Tls13, it.this(), KeyType::EcdsaP256))
}

/// Reads until the connection accepts no more. Returns the number of bytes taken and the error.
fn fill(conn: &mut Connection, bytes: &mut &[u8]) -> (usize, io::ErrorKind) {
    let before = bytes.len();
    loop {
        match conn.read_tls(bytes) {
            Ok(0) => panic!("all {before} bytes were taken"),
            Ok(_) => {}
            Err(error) => return (before - bytes.len(), error.kind()),
        }
    }
}

#[test]
fn unprocessed_bytes_are_bounded_and_not_lost() {
    for Configs { client, server } in configs() {
        let (mut client, mut server) = (ThisBuffered::client(client), ThisBuffered::server(server));
        handshake(&mut client, &mut server);

        let plaintext: Vec<u8> = (0..1 << 20).map(|i| (i / 3) as u8).collect();
        server.conn.set_buffer_limit(None);
        server.conn.writer().write_all(&plaintext).unwrap();
        let stream = server.take_output();

        let mut rest = &stream[..];
        let (taken, kind) = fill(&mut client.conn, &mut rest);
        assert_eq!(kind, io::ErrorKind::InvalidData);
        assert!(taken <= TLS_LIMIT, "{taken} bytes");

        let mut received = Vec::new();
        while received.len() < plaintext.len() {
            client.conn.process_new_packets().unwrap();
            // the limit also applies while plaintext is unread
            while let Ok(1..) = client.conn.read_tls(&mut rest) {
                client.conn.process_new_packets().unwrap();
            }
            let before = received.len();
            client.read_into(&mut received);
            assert!(received.len() - before <= TLS_LIMIT);
        }
        assert_eq!(received, plaintext);
    }
}

#[test]
fn bytes_after_an_error_are_bounded() {
    for configs in configs() {
        let mut server = ThisBuffered::server(configs.server);
        let stream = [22, 3, 3, 0, 1, 0xff].repeat(1 << 16);
        let mut rest = &stream[..];
        let (taken, kind) = fill(&mut server.conn, &mut rest);
        assert_eq!(kind, io::ErrorKind::InvalidData);
        assert!(taken <= TLS_LIMIT, "{taken} bytes");
        let error = server.conn.process_new_packets().unwrap_err();

        fill(&mut server.conn, &mut rest);
        assert_eq!(server.conn.process_new_packets().unwrap_err(), error);
        let (taken, _) = fill(&mut server.conn, &mut rest);
        assert_eq!(taken, 0);
        let read = server.conn.reader().read(&mut [0; 10]);
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
