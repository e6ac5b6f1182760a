//! The parts of the test kit that are compiled once per crate.
//!
//! The types of the two crates share names but are distinct. So these modules are compiled twice,
//! with `tls` naming the crate, for [`crate::this`] and [`crate::upstream`]. The parts that differ
//! live in those two modules.

use super::{
    HPKE_SUITES, exported, finish_operation, finish_quic, finish_unbuffered, observe_server,
    prepare_client, prepare_connection, prepare_server, prepare_unbuffered, prepare_verifier,
    process_into, provider, ring, tls,
};

/// Defines the accessors that all endpoints have. This is a macro, because their connections have
/// no shared trait.
macro_rules! accessors {
    () => {
        fn is_handshaking(&self) -> bool {
            self.conn.is_handshaking()
        }

        fn negotiated(&self) -> String {
            let conn = &self.conn;
            format!(
                "{:?} {:?} {:?} {:?} {:?}",
                conn.protocol_version(),
                conn.negotiated_cipher_suite(),
                conn.negotiated_key_exchange_group().map(|it| it.name()),
                conn.alpn_protocol(),
                conn.handshake_kind(),
            )
        }

        fn peer_certificates(&self) -> Vec<Vec<u8>> {
            let chain = self.conn.peer_certificates().unwrap_or_default();
            chain.iter().map(|cert| cert.to_vec()).collect()
        }
    };
}

pub(crate) mod buffered;
pub mod callbacks;
pub mod configs;
pub mod constant;
pub mod ffdhe;
pub(crate) mod hpke;
pub mod pairs;
pub mod quic;
mod quick_mac;
pub mod raw_keys;
pub mod roles;
mod signatures;
pub(crate) mod stores;
pub mod suites;
pub mod tickets;
pub mod transparent;
pub(crate) mod unbuffered;
pub mod verifiers;
