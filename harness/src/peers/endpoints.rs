//! Connections of this crate and of upstream behind one interface, so that one test covers all
//! combinations.

pub(crate) mod unbuffered;

use std::ops::{Deref, DerefMut};

pub use unbuffered::{ThisUnbuffered, Unbuffered, UpstreamUnbuffered};

use super::configs::KeyType;
pub use crate::this::buffered::BufferedEndpoint as ThisBuffered;
pub use crate::upstream::buffered::BufferedEndpoint as UpstreamBuffered;

/// One endpoint of a connection.
pub trait Endpoint {
    /// Takes all pending output.
    fn take_output(&mut self) -> Vec<u8>;

    /// Feeds bytes from the peer. Returns the error as its crate prints it.
    fn receive(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Processes the received bytes.
    fn process(&mut self) -> Result<(), String>;

    /// Sends application data. Returns the number of accepted bytes.
    fn send(&mut self, plaintext: &[u8]) -> usize;

    /// Appends the application data received since the last call.
    fn read_into(&mut self, plaintext: &mut Vec<u8>);

    /// Returns the plaintext received.
    fn read_all(&mut self) -> Vec<u8> {
        let mut plaintext = Vec::new();
        self.read_into(&mut plaintext);
        plaintext
    }

    /// Receives valid bytes. Returns the plaintext received.
    fn read_from(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.receive(bytes).unwrap();
        self.read_all()
    }

    /// Sends early data, before the ClientHello is taken. Returns the number of accepted bytes:
    /// zero if it cannot be sent, or if the API reports it only later.
    fn send_early(&mut self, _plaintext: &[u8]) -> usize {
        0
    }

    /// Appends the early data received since the last call; clients receive none.
    fn read_early_into(&mut self, plaintext: &mut Vec<u8>);

    /// Sends a close_notify.
    fn close(&mut self);

    /// True if the peer's close_notify has arrived.
    fn peer_has_closed(&self) -> bool;

    /// Signals the end of the peer's bytes. Returns the way in which an application sees it.
    fn receive_end(&mut self) -> End {
        match self.process() {
            Err(error) => End::Failed(error),
            Ok(()) if self.peer_has_closed() => End::Closed,
            Ok(()) => End::Truncated,
        }
    }

    /// True until the handshake is complete.
    fn is_handshaking(&self) -> bool;

    /// Version, suite, group, ALPN and handshake kind as both crates print them, once negotiated.
    fn negotiated(&self) -> String;

    /// Keying material, once the handshake is complete; `None` if the API has no exporter.
    fn exported(&self) -> Option<[u8; 32]>;

    /// Returns the peer's certificates in DER.
    fn peer_certificates(&self) -> Vec<Vec<u8>>;

    /// Returns the server name that the client sent, if the API returns it.
    fn server_name(&self) -> Option<String> {
        None
    }

    /// Sends a KeyUpdate.
    fn refresh_traffic_keys(&mut self);
}

/// An endpoint that wraps another endpoint, and implements only the methods that differ.
pub trait Wrapper {
    type Inner: Endpoint + ?Sized;

    fn inner(&self) -> impl Deref<Target = Self::Inner>;

    fn inner_mut(&mut self) -> impl DerefMut<Target = Self::Inner>;

    fn take_output(&mut self) -> Vec<u8> {
        self.inner_mut().take_output()
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.inner_mut().receive(bytes)
    }
}

impl<W: Wrapper> Endpoint for W {
    fn take_output(&mut self) -> Vec<u8> {
        Wrapper::take_output(self)
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        Wrapper::receive(self, bytes)
    }

    fn process(&mut self) -> Result<(), String> {
        self.inner_mut().process()
    }

    fn send(&mut self, plaintext: &[u8]) -> usize {
        self.inner_mut().send(plaintext)
    }

    fn read_into(&mut self, plaintext: &mut Vec<u8>) {
        self.inner_mut().read_into(plaintext);
    }

    fn send_early(&mut self, plaintext: &[u8]) -> usize {
        self.inner_mut().send_early(plaintext)
    }

    fn read_early_into(&mut self, plaintext: &mut Vec<u8>) {
        self.inner_mut().read_early_into(plaintext);
    }

    fn close(&mut self) {
        self.inner_mut().close();
    }

    fn peer_has_closed(&self) -> bool {
        self.inner().peer_has_closed()
    }

    fn receive_end(&mut self) -> End {
        self.inner_mut().receive_end()
    }

    fn is_handshaking(&self) -> bool {
        self.inner().is_handshaking()
    }

    fn negotiated(&self) -> String {
        self.inner().negotiated()
    }

    fn exported(&self) -> Option<[u8; 32]> {
        self.inner().exported()
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        self.inner().peer_certificates()
    }

    fn server_name(&self) -> Option<String> {
        self.inner().server_name()
    }

    fn refresh_traffic_keys(&mut self) {
        self.inner_mut().refresh_traffic_keys();
    }
}

/// A connection whose bytes are moved in one call.
pub trait Transfer {
    /// Takes all pending output.
    fn output(&mut self) -> Vec<u8>;

    /// Reads and processes all of `bytes`.
    ///
    /// # Panics
    ///
    /// Panics if the connection fails, or has no room for `bytes`.
    fn input(&mut self, bytes: &[u8]);
}

macro_rules! transfer {
    ($($of:ty $(, $generic:ident)?;)*) => {$(
        impl$(<$generic>)? Transfer for $of {
            fn output(&mut self) -> Vec<u8> {
                let mut out = Vec::new();
                while self.wants_write() {
                    self.write_tls(&mut out).unwrap();
                }
                out
            }

            fn input(&mut self, mut bytes: &[u8]) {
                while !bytes.is_empty() {
                    self.read_tls(&mut bytes).unwrap();
                    self.process_new_packets().unwrap();
                }
            }
        }
    )*};
}

transfer!(
    rustls::ConnectionCommon<D>, D;
    rustls::Connection;
    rustls::ClientConnection;
    rustls::ServerConnection;
    rustls_upstream::ConnectionCommon<D>, D;
    rustls_upstream::Connection;
);

/// The way in which a received stream of bytes ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// By the peer's close_notify.
    Closed,
    /// Without a close_notify.
    Truncated,
    Failed(String),
}

/// Moves bytes until neither endpoint has output. Returns the first error of either.
pub fn exchange(client: &mut dyn Endpoint, server: &mut dyn Endpoint) -> Result<(), String> {
    loop {
        let to_server = client.take_output();
        if !to_server.is_empty() {
            server
                .receive(&to_server)
                .map_err(|error| format!("server: {error}"))?;
        }
        let to_client = server.take_output();
        if !to_client.is_empty() {
            client
                .receive(&to_client)
                .map_err(|error| format!("client: {error}"))?;
        }
        if to_server.is_empty() && to_client.is_empty() {
            return Ok(());
        }
    }
}

/// Completes the handshake and checks that both endpoints agree on the negotiated parameters.
pub fn handshake(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    exchange(client, server).unwrap();
    assert!(!client.is_handshaking(), "client still handshaking");
    assert!(!server.is_handshaking(), "server still handshaking");
    assert_eq!(client.negotiated(), server.negotiated());
    if let (Some(of_client), Some(of_server)) = (client.exported(), server.exported()) {
        assert_eq!(of_client, of_server);
    }
}

/// Sends `plaintext` from one endpoint to the other, and checks that it arrives unchanged.
pub fn send_and_check(from: &mut dyn Endpoint, to: &mut dyn Endpoint, plaintext: &[u8]) {
    let mut received = Vec::new();
    let mut sent = 0;
    while sent < plaintext.len() {
        sent += from.send(&plaintext[sent..]);
        to.receive(&from.take_output()).unwrap();
        to.read_into(&mut received);
    }
    assert!(received == plaintext, "plaintext arrived changed");
}

/// Checks that each endpoint has the other's end-entity certificate of `key_type`, and nothing
/// else.
pub fn check_both_certificates(client: &dyn Endpoint, server: &dyn Endpoint, key_type: KeyType) {
    let identities = key_type.identities();
    let of_server = identities.server.chain[0].to_vec();
    assert_eq!(client.peer_certificates(), [of_server]);
    let of_client = identities.client.chain[0].to_vec();
    assert_eq!(server.peer_certificates(), [of_client]);
}

/// Sends a few bytes in each direction, updates keys, sends more, and closes both directions.
pub fn talk_and_close(client: &mut dyn Endpoint, server: &mut dyn Endpoint) {
    send_and_check(client, server, b"from the client");
    send_and_check(server, client, b"from the server");
    client.refresh_traffic_keys();
    exchange(client, server).unwrap();
    send_and_check(client, server, &[1; 20_000]);
    send_and_check(server, client, &[2; 20_000]);
    client.close();
    exchange(client, server).unwrap();
    assert!(server.peer_has_closed());
    assert!(!client.peer_has_closed());
    server.close();
    exchange(client, server).unwrap();
    assert!(client.peer_has_closed());
}
