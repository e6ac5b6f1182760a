//! Authentication of both sides: certificates, compressed or not, raw public keys, and the
//! resolvers that choose them.

mod by_name;
mod client_resolver;
mod compressed_messages;
mod compression;
mod gnutls;
mod identity;
pub(crate) mod kit;
mod ml_dsa;
mod properties;
mod raw_keys;
mod resumed;
mod types_negotiated;
