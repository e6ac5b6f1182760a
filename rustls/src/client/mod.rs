//! The client's side of the public API: configuration, certificate resolvers, session storage.

mod config;
mod connection;
mod connection_data;
mod early_data;
mod resolver;

pub use config::{ClientConfig, WantsClientCert};
#[cfg(feature = "std")]
pub use connection::ClientConnection;
pub use connection::UnbufferedClientConnection;
pub(crate) use connection::start;
pub use connection_data::ClientConnectionData;
#[cfg(feature = "std")]
pub use early_data::WriteEarlyData;
pub use early_data::{EarlyDataError, MayEncryptEarlyData};
pub use resolver::{AlwaysResolvesClientRawPublicKeys, ResolvesClientCert};
#[doc(no_inline)]
pub use rustls_core::ech_config::EchConfigPayload;

pub use crate::ech::{EchConfig, EchGreaseConfig, EchMode, EchStatus};
pub use crate::msgs::client_extensions::TicketRequest;
#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use crate::session::client::ClientSessionMemoryCache;
pub use crate::session::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls12Resumption,
    Tls13ClientSessionValue,
};
pub use crate::webpki::{
    ServerCertVerifierBuilder, VerifierBuilderError, WebPkiServerVerifier,
    verify_server_cert_signed_by_trust_anchor, verify_server_name,
};

/// Traits and types to accept servers that the Web PKI would reject. They can undo all security.
pub mod danger {
    pub use super::config::{DangerousClientConfig, DangerousClientConfigBuilder};
    pub use crate::verify::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
}
