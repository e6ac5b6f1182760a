//! A buffered connection of either crate, and its peer after the handshake.

use std::ops::Range;

use harness::either;
use harness::peers::configs::{self, ClientAuth, Provider};
use harness::peers::endpoints::{Endpoint, Transfer, UpstreamBuffered};

use crate::cases::{Case, KEY_TYPE};

macro_rules! connected {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            pub use harness::peers::roles::$module::Config;

            use super::*;

            pub fn config(case: Case) -> Config {
                Config::new(case.role, case.versions, case.provider.$module(), KEY_TYPE)
            }

            /// Creates a configuration with only TLS 1.3.
            pub fn client_config(provider: Provider) -> $tls::ClientConfig {
                configs::$module::client(provider.$module(), KEY_TYPE, ClientAuth::None)
            }

            /// Creates a configuration with only TLS 1.3.
            pub fn server_config(provider: Provider) -> $tls::ServerConfig {
                configs::$module::server(provider.$module(), KEY_TYPE, ClientAuth::None)
            }

            /// Creates a connection before its handshake.
            pub fn fresh(case: Case) -> $tls::Connection {
                config(case).connection()
            }

            /// Takes all pending output.
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

            /// Moves bytes between both ends until neither has any to send. Returns the plaintext
            /// that the peer received.
            pub fn exchange_all(
                conn: &mut $tls::Connection,
                peer: &mut UpstreamBuffered,
            ) -> Vec<u8> {
                let mut received = Vec::new();
                loop {
                    let to_peer = output(conn);
                    received.extend(peer.read_from(&to_peer));
                    let from_peer = peer.take_output();
                    input(conn, &from_peer).unwrap();
                    if to_peer.is_empty() && from_peer.is_empty() {
                        return received;
                    }
                }
            }

            /// Creates a connection and its peer after the handshake, with nothing in transit.
            pub fn connected(case: Case) -> ($tls::Connection, UpstreamBuffered) {
                let (mut conn, mut peer) = (fresh(case), case.peer());
                exchange_all(&mut conn, &mut peer);
                assert!(!conn.is_handshaking() && !peer.is_handshaking());
                (conn, peer)
            }
        }
    };
}
connected!(this, rustls);
connected!(upstream, rustls_upstream);

pub fn encrypt_in_place(
    conn: &mut rustls::Connection,
    buf: &mut [u8],
    payload: Range<usize>,
) -> Result<Range<usize>, rustls::InPlaceError> {
    either!(rustls: conn, conn => conn.encrypt_in_place(buf, payload))
}
