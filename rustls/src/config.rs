//! The application's choices: the configurations of both sides and everything in them.
//!
//! [`builder`] leads to a configuration; [`client`] and [`server`] have the two kinds. A handshake
//! reads its configuration through [`settings`]. Most other modules are the parts of a
//! configuration: versions, verifiers ([`verify`], [`webpki`]), keys ([`sign`]; `offload` signs on
//! other threads) and their choice ([`resolver`]), ECH, certificate compression, key logs,
//! observers, and sessions with their stores. [`carrier`] is the layer below the handshake: records
//! or QUIC. [`handshake_kind`] is reported by connections.
//!
//! Apart from tests, nothing here imports a handshake or a connection.

pub(crate) mod builder;
pub(crate) mod carrier;
pub(crate) mod client;
pub mod compress;
pub(crate) mod ech;
pub(crate) mod handshake_kind;
pub(crate) mod key_log;
#[cfg(feature = "std")]
pub(crate) mod key_log_file;
pub(crate) mod observer;
#[cfg(feature = "std")]
pub(crate) mod offload;
pub(crate) mod resolver;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod settings;
pub mod sign;
pub(crate) mod verify;
pub(crate) mod versions;
pub(crate) mod webpki;
