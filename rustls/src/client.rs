//! The client side of the public API: for example connections, configuration and session storage.

mod connection;

#[cfg(feature = "std")]
pub use connection::ClientConnection;
pub use connection::UnbufferedClientConnection;
pub(crate) use connection::start;
#[doc(no_inline)]
pub use rustls_core::ech_config::EchConfigPayload;

pub use crate::config::client::{ClientConfig, WantsClientCert};
pub use crate::config::ech::{EchConfig, EchGreaseConfig, EchMode, EchStatus};
pub use crate::config::resolver::client::{AlwaysResolvesClientRawPublicKeys, ResolvesClientCert};
#[cfg(any(feature = "std", feature = "hashbrown"))]
pub use crate::config::session::client::ClientSessionMemoryCache;
pub use crate::config::session::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls12Resumption,
    Tls13ClientSessionValue,
};
pub use crate::config::webpki::{
    ServerCertVerifierBuilder, VerifierBuilderError, WebPkiServerVerifier,
    verify_server_cert_signed_by_trust_anchor, verify_server_name,
};
pub use crate::conn::early_data::EarlyDataError;
pub use crate::conn::write_early_data::MayEncryptEarlyData;
#[cfg(feature = "std")]
pub use crate::conn::write_early_data::WriteEarlyData;
pub use crate::handshake::client::connection_data::ClientConnectionData;
pub use crate::msgs::client_extensions::TicketRequest;

/// Traits and types for accepting servers that the Web PKI would reject. They can undo all
/// security.
pub mod danger {
    pub use crate::config::client::{DangerousClientConfig, DangerousClientConfigBuilder};
    pub use crate::config::verify::{
        HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier, VerifierRules,
    };
}
