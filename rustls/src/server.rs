//! The server side of the public API: for example connections, configuration and session storage.

#[cfg(feature = "std")]
mod acceptor;
mod connection;

#[cfg(feature = "std")]
pub use acceptor::{Accepted, AcceptedAlert, Acceptor};
#[cfg(feature = "std")]
pub use connection::ServerConnection;
pub use connection::UnbufferedServerConnection;
pub(crate) use connection::start;
pub use rustls_core::enums::CertificateType;
pub use rustls_core::ticketer::ProducesTickets;

pub use crate::config::resolver::client_hello::ClientHello;
pub use crate::config::resolver::server::{
    AlwaysResolvesServerRawPublicKeys, ResolvesServerCert, ResolvesServerCertUsingSni,
};
pub use crate::config::server::{ServerConfig, WantsServerCert};
#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use crate::config::session::server::ServerSessionMemoryCache;
pub use crate::config::session::server::{
    NoServerSessionStorage, ServerSessionValue, StoresServerSessions,
};
pub use crate::config::verify::NoClientAuth;
pub use crate::config::webpki::{
    ClientCertVerifierBuilder, ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier,
};
#[cfg(feature = "std")]
pub use crate::conn::read_early_data::ReadEarlyData;
pub use crate::handshake::server::connection_data::ServerConnectionData;

/// Traits and types for accepting clients by custom rules. They can undo all security.
pub mod danger {
    pub use crate::config::verify::{ClientCertVerified, ClientCertVerifier, VerifierRules};
}
