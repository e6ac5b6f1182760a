//! Tests of the handshake from the perspective of a QUIC implementation: messages and keys by
//! packet number space, 0-RTT keys, alerts, and the rules of RFC 9001 for the messages.
//!
//! Both ends are this crate's. `quic_matrix` compares with upstream, including the keys.

mod early_data;
mod ech;
mod failures;
mod levels;
mod rules;

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, server_name, this};
use harness::wire::client_hello::ClientHello;
use harness::wire::{Reader, extensions, message, u16_vec};
use rustls::crypto::CryptoProvider;
use rustls::quic::{ClientConnection, Connection, KeyChange, ServerConnection, Version};
use rustls::{ClientConfig, HandshakeType, NamedGroup, ServerConfig};

const CLIENT_PARAMETERS: &[u8] = b"parameters of the client";
const SERVER_PARAMETERS: &[u8] = b"parameters of the server";

/// Configurations that allow early data. They can be used for any number of connections.
struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Configs {
    fn new(provider: Provider) -> Self {
        Self {
            client: Arc::new(client_config(provider.this())),
            server: Arc::new(server_config(provider.this())),
        }
    }

    fn client(&self) -> Connection {
        client(&self.client, Version::V1)
    }

    fn server(&self) -> Connection {
        server(&self.server, Version::V1)
    }

    /// Returns both ends after a complete handshake. The client has stored its tickets.
    fn connected(&self) -> (Connection, Connection) {
        let (mut client, mut server) = (self.client(), self.server());
        exchange(&mut client, &mut server);
        assert!(!client.is_handshaking() && !server.is_handshaking());
        (client, server)
    }
}

fn client_config(provider: CryptoProvider) -> ClientConfig {
    let mut config = this::client(provider, KeyType::Ed25519, ClientAuth::None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    config.enable_early_data = true;
    config
}

fn server_config(provider: CryptoProvider) -> ServerConfig {
    let mut config = this::server(provider, KeyType::Ed25519, ClientAuth::None);
    config.alpn_protocols = vec![b"h3".to_vec()];
    config.max_early_data_size = u32::MAX;
    config
}

fn client(config: &Arc<ClientConfig>, version: Version) -> Connection {
    let parameters = CLIENT_PARAMETERS.to_vec();
    ClientConnection::new(config.clone(), version, server_name(), parameters)
        .unwrap()
        .into()
}

fn server(config: &Arc<ServerConfig>, version: Version) -> Connection {
    ServerConnection::new(config.clone(), version, SERVER_PARAMETERS.to_vec())
        .unwrap()
        .into()
}

/// Returns the flight of a server that has read a ClientHello, in two levels.
fn two_levels(server: &mut Connection) -> [Vec<u8>; 2] {
    let levels = write_all(server).into_iter().map(|it| it.bytes);
    let levels = <[_; 2]>::try_from(levels.collect::<Vec<_>>());
    levels.expect("two levels")
}

/// Creates a server's configuration with a single group, of which clients send no share.
fn retrying(provider: Provider) -> ServerConfig {
    let mut only_p256 = provider.this();
    let groups = &mut only_p256.kx_groups;
    groups.retain(|group| group.name() == NamedGroup::secp256r1);
    server_config(only_p256)
}

/// Splits `bytes` into messages with their headers.
fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    let mut rest = Reader(bytes);
    while !rest.is_empty() {
        let start = rest.0;
        rest.number(1);
        rest.vector(3);
        messages.push(&start[..start.len() - rest.0.len()]);
    }
    messages
}

/// Returns EncryptedExtensions without the extension `typ`.
fn without_extension(encrypted_extensions: &[u8], typ: u16) -> Vec<u8> {
    let of = HandshakeType::EncryptedExtensions.into();
    let mut list = Reader::of_message(encrypted_extensions, of).extensions();
    list.retain(|(other, _)| *other != typ);
    message(of, &u16_vec(&extensions(&list)))
}

/// The result of one call of `write_hs`.
#[derive(Debug, PartialEq)]
struct Written {
    bytes: Vec<u8>,
    keys: Option<&'static str>,
}

impl Written {
    /// Returns the types of the messages.
    fn types(&self) -> Vec<u8> {
        let messages = split(&self.bytes).into_iter();
        messages.map(|message| message[0]).collect()
    }
}

fn write(conn: &mut Connection) -> Written {
    let mut bytes = Vec::new();
    let keys = conn.write_hs(&mut bytes).map(|change| match change {
        KeyChange::Handshake { .. } => "Handshake",
        KeyChange::OneRtt { .. } => "1-RTT",
    });
    Written { bytes, keys }
}

/// Returns everything that a connection has to write, one item per call.
fn write_all(conn: &mut Connection) -> Vec<Written> {
    let mut all = Vec::new();
    loop {
        let written = write(conn);
        if written.bytes.is_empty() && written.keys.is_none() {
            return all;
        }
        all.push(written);
    }
}

/// Moves bytes until neither end has any to send.
fn exchange(client: &mut Connection, server: &mut Connection) {
    loop {
        let moved = relay(client, server) + relay(server, client);
        if moved == 0 {
            return;
        }
    }
}

/// Delivers the output of `from` and returns its length.
fn relay(from: &mut Connection, to: &mut Connection) -> usize {
    let mut moved = 0;
    for written in write_all(from) {
        to.read_hs(&written.bytes).unwrap();
        moved += written.bytes.len();
    }
    moved
}
