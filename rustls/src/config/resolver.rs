//! The choice of this side's certificate.
//!
//! - [`client`]: resolvers of a client, called for a CertificateRequest.
//! - [`server`]: resolvers of a server, called for a ClientHello.
//! - [`client_hello`]: the parts of a ClientHello that an application can see.

pub(crate) mod client;
pub(crate) mod client_hello;
pub(crate) mod server;
