//! A client's messages and choices before the version is known, or in both versions.
//!
//! - `offer`: content and encoding of a ClientHello; `offer_tls12`: the parts that only TLS 1.2
//!   needs.
//! - `sent_hello`: the ClientHello that was sent; `config_limits`: a check of the configuration's
//!   lists.
//! - `key_shares`: the key exchange in progress.
//! - `client_auth`: the choice of the client's certificate.
//! - `offered`: the extensions in a hello, which a server may answer.
//! - `offered_session`: the TLS 1.3 session in a hello, its binder, and early data.
//! - `ech`: Encrypted ClientHello.
//! - `connection_data`: the state that only client connections have.

pub(crate) mod client_auth;
pub(crate) mod config_limits;
pub(crate) mod connection_data;
pub(crate) mod ech;
pub(crate) mod key_shares;
pub(crate) mod offer;
#[cfg(feature = "tls12")]
mod offer_tls12;
pub(crate) mod offered;
pub(crate) mod offered_session;
pub(crate) mod sent_hello;
