//! A buffered connection of either crate and its peer. The peer is always upstream's, so any
//! difference comes from the connection under test.

use std::ops::Range;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions, server_name};
use harness::peers::endpoints::{Endpoint, Transfer, UpstreamBuffered};
pub use harness::peers::roles::{ROLES, Role};

/// ECDSA signatures vary in length, and so would the flights.
pub const KEY_TYPE: KeyType = KeyType::Ed25519;

macro_rules! connected {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            pub use harness::peers::roles::$module::Config;

            use super::*;

            /// A configuration with only TLS 1.3.
            pub fn config(provider: Provider, role: Role) -> Config {
                config_of(provider.$module(), role)
            }

            pub fn config_of(provider: $tls::crypto::CryptoProvider, role: Role) -> Config {
                Config::new(role, Versions::Tls13, provider, KEY_TYPE)
            }

            pub fn client_config(provider: Provider) -> $tls::ClientConfig {
                configs::$module::client(provider.$module(), KEY_TYPE, ClientAuth::None)
            }

            pub fn server_config(provider: Provider) -> $tls::ServerConfig {
                configs::$module::server(provider.$module(), KEY_TYPE, ClientAuth::None)
            }

            pub fn client(config: $tls::ClientConfig) -> $tls::Connection {
                let conn = $tls::ClientConnection::new(Arc::new(config), server_name());
                conn.unwrap().into()
            }

            pub fn server(config: $tls::ServerConfig) -> $tls::Connection {
                $tls::ServerConnection::new(Arc::new(config))
                    .unwrap()
                    .into()
            }

            /// A connection before its handshake.
            pub fn fresh(provider: Provider, role: Role) -> $tls::Connection {
                config(provider, role).connection()
            }

            /// Everything that the connection has to send.
            pub fn output(conn: &mut $tls::Connection) -> Vec<u8> {
                conn.output()
            }

            /// Reads and processes all of `bytes`, whose plaintext must fit into the receive
            /// buffer.
            pub fn input(conn: &mut $tls::Connection, mut bytes: &[u8]) -> Result<(), $tls::Error> {
                while !bytes.is_empty() && conn.read_tls(&mut bytes).unwrap() != 0 {
                    conn.process_new_packets()?;
                }
                Ok(())
            }

            /// Moves bytes between both ends until neither has any to send.
            pub fn exchange_all(conn: &mut $tls::Connection, peer: &mut UpstreamBuffered) {
                loop {
                    let to_peer = output(conn);
                    peer.receive(&to_peer).unwrap();
                    let from_peer = peer.take_output();
                    input(conn, &from_peer).unwrap();
                    if to_peer.is_empty() && from_peer.is_empty() {
                        break;
                    }
                }
            }

            /// A connection and its peer after the handshake, with nothing in transit.
            pub fn connected(
                provider: Provider,
                role: Role,
            ) -> ($tls::Connection, UpstreamBuffered) {
                let mut conn = fresh(provider, role);
                let mut peer = fresh_peer(provider, role);
                exchange_all(&mut conn, &mut peer);
                assert!(!conn.is_handshaking() && !peer.is_handshaking());
                (conn, peer)
            }
        }
    };
}

connected!(this, rustls);
connected!(upstream, rustls_upstream);

/// The peer of a connection in `role`, before its handshake.
pub fn fresh_peer(provider: Provider, role: Role) -> UpstreamBuffered {
    upstream::config(provider, role.other()).buffered()
}

/// The same, of other versions.
pub fn fresh_peer_of(versions: Versions, provider: Provider, role: Role) -> UpstreamBuffered {
    let provider = provider.upstream();
    upstream::Config::new(role.other(), versions, provider, KEY_TYPE).buffered()
}

pub fn encrypt_in_place(
    conn: &mut rustls::Connection,
    buf: &mut [u8],
    payload: Range<usize>,
) -> Result<Range<usize>, rustls::InPlaceError> {
    match conn {
        rustls::Connection::Client(conn) => conn.encrypt_in_place(buf, payload),
        rustls::Connection::Server(conn) => conn.encrypt_in_place(buf, payload),
    }
}
