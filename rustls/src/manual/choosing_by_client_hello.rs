//! Choosing a server's configuration by the ClientHello.
//!
//! There are two ways to serve several names:
//!
//! - **A resolver** chooses only the certificate. Implement
//!   [`ResolvesServerCert`](crate::server::ResolvesServerCert), or use
//!   [`ResolvesServerCertUsingSni`](crate::server::ResolvesServerCertUsingSni). This is the simple
//!   way.
//! - **An [`Acceptor`](crate::server::Acceptor)** chooses the whole configuration: ALPN, client
//!   authentication, session storage, versions. It reads the ClientHello first and shows it as a
//!   [`ClientHello`](crate::server::ClientHello). The connection then continues with the chosen
//!   configuration.
//!
//! An error of an `Acceptor` comes with the alert for the client:
//!
//! ```
//! use std::error::Error;
//! use std::net::TcpStream;
//! use std::sync::Arc;
//!
//! use rustls::server::{Acceptor, ClientHello};
//! use rustls::{ServerConfig, ServerConnection};
//!
//! fn accept(
//!     socket: &mut TcpStream,
//!     choose: impl Fn(&ClientHello<'_>) -> Arc<ServerConfig>,
//! ) -> Result<ServerConnection, Box<dyn Error>> {
//!     let mut acceptor = Acceptor::default();
//!     let accepted = loop {
//!         if acceptor.read_tls(socket)? == 0 {
//!             return Err("the client has gone".into());
//!         }
//!         match acceptor.accept() {
//!             Ok(None) => {}
//!             Ok(Some(accepted)) => break Ok(accepted),
//!             Err(refused) => break Err(refused),
//!         }
//!     };
//!     let connection = accepted.and_then(|accepted| {
//!         let config = choose(&accepted.client_hello());
//!         accepted.into_connection(config)
//!     });
//!     connection.or_else(|(error, mut alert)| {
//!         alert.write_all(socket)?;
//!         Err(error.into())
//!     })
//! }
//! # harness::manual::accepts(accept);
//! ```
//!
//! # Rules
//!
//! - The name in a ClientHello is not authenticated. Do not use it for authorisation, and treat it
//!   as untrusted input in logs and paths.
//! - Limit the time that an `Acceptor` waits. A client may send part of a ClientHello and then
//!   nothing.
//! - Configurations for different names may share a `ticketer` or a `session_storage`. A server
//!   resumes a session only with the certificate that the session began with, or with one for the
//!   requested name.
//! - tokio-rustls offers the same as `LazyConfigAcceptor`.
