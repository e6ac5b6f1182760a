//! WebSocket: tungstenite, which is client and server here.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use drop_in::Server;
use rustls::{ClientConfig, RootCertStore};
use tungstenite::{Connector, Message};

#[test]
fn tungstenite_echoes() {
    let server = Server::start(|stream| {
        let mut socket =
            tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
        loop {
            match socket.read() {
                Ok(message @ Message::Binary(_)) => {
                    socket.send(message).map_err(io::Error::other)?
                }
                Ok(_) => {}
                Err(tungstenite::Error::ConnectionClosed) => return Ok(()),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    });

    let mut roots = RootCertStore::empty();
    roots.add(server.authority.clone()).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let sock = TcpStream::connect(server.address).unwrap();
    let connector = Connector::Rustls(Arc::new(config));
    let (mut socket, _) =
        tungstenite::client_tls_with_config(server.url("wss"), sock, None, Some(connector))
            .unwrap();

    for len in [0, 1, 125, 16_384, 300_000] {
        let message = Message::binary(vec![len as u8; len]);
        socket.send(message.clone()).unwrap();
        assert_eq!(socket.read().unwrap(), message);
    }
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    server.join().unwrap();
}
