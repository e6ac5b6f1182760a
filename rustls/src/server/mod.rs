//! The server's side of the public API: configuration, certificate resolvers, session storage.

#[cfg(feature = "std")]
mod acceptor;
pub(crate) mod client_hello;
mod config;
mod connection;
mod connection_data;
#[cfg(feature = "std")]
mod early_data;
mod resolver;

#[cfg(feature = "std")]
pub use acceptor::{Accepted, AcceptedAlert, Acceptor};
pub use client_hello::ClientHello;
pub use config::{ServerConfig, WantsServerCert};
#[cfg(feature = "std")]
pub use connection::ServerConnection;
pub use connection::UnbufferedServerConnection;
pub(crate) use connection::start;
pub(crate) use connection_data::EarlyData;
pub use connection_data::ServerConnectionData;
#[cfg(feature = "std")]
pub use early_data::ReadEarlyData;
pub use resolver::{
    AlwaysResolvesServerRawPublicKeys, ResolvesServerCert, ResolvesServerCertUsingSni,
};
pub use rustls_core::enums::CertificateType;
pub use rustls_core::ticketer::ProducesTickets;

#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use crate::session::server::ServerSessionMemoryCache;
pub use crate::session::server::{
    NoServerSessionStorage, ServerSessionValue, StoresServerSessions,
};
pub use crate::verify::NoClientAuth;
pub use crate::webpki::{
    ClientCertVerifierBuilder, ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier,
};

/// Traits and types to accept clients by custom rules. They can undo all security.
pub mod danger {
    pub use crate::verify::{ClientCertVerified, ClientCertVerifier};
}
