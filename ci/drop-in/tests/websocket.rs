//! WebSocket: tungstenite as client and server.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use drop_in::{Server, moved};
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

    let config = server.credentials.client_config();
    let sock = TcpStream::connect(server.address).unwrap();
    let connector = Connector::Rustls(Arc::new(config));
    let (mut socket, _) =
        tungstenite::client_tls_with_config(server.url("wss"), sock, None, Some(connector))
            .unwrap();

    let lens = [0, 1, 125, 16_384, 300_000];
    for len in lens {
        let message = Message::binary(vec![len as u8; len]);
        socket.send(message.clone()).unwrap();
        assert_eq!(socket.read().unwrap(), message);
    }
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    server.join().unwrap();
    let both = "client and server";
    moved(
        "tungstenite",
        both,
        "WebSocket",
        2 * lens.iter().sum::<usize>(),
    );
}
