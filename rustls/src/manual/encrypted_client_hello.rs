//! Encrypted ClientHello (ECH): hiding the server's name from observers.
//!
//! A TLS 1.3 client can encrypt its ClientHello (RFC 9849). This hides the name of the server, the
//! offered session and more. An observer sees only the public name of the service that decrypts it.
//! This library implements the client's side. HPKE is in the provider over aws-lc-rs; the rest of
//! the cryptography may come from another provider.
//!
//! ```
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use rustls::client::{EchConfig, EchMode};
//! use rustls::crypto::aws_lc_rs::{default_provider, hpke::ALL_SUPPORTED_SUITES};
//! use rustls::pki_types::EchConfigListBytes;
//! use rustls::{ClientConfig, RootCertStore};
//!
//! fn config(
//!     list: EchConfigListBytes<'_>,
//!     roots: RootCertStore,
//! ) -> Result<ClientConfig, Box<dyn Error>> {
//!     let ech = EchConfig::new(list, ALL_SUPPORTED_SUITES)?;
//!     Ok(ClientConfig::builder_with_provider(Arc::new(default_provider()))
//!         .with_ech(EchMode::Enable(ech))?
//!         .with_root_certificates(roots)
//!         .with_no_client_auth())
//! }
//! # harness::manual::offers_ech(config);
//! ```
//!
//! # Rules
//!
//! - **The application supplies the list.** In most cases it is the parameter `ech` of the server's
//!   DNS record of type HTTPS (RFC 9848), in base64 as `dig +short -t HTTPS` prints it. That query
//!   contains the name, too: encrypt it.
//! - **Use a configuration for one server**, or for servers that publish the same list.
//! - **A server may reject ECH** because its keys have changed. The handshake then fails with
//!   [`ServerRejectedEncryptedClientHello`][rejected],
//!   which holds the configurations to use instead, if any. At that point the server has
//!   authenticated itself for the public name.
//!   [`EchConfig::for_retry`](crate::client::EchConfig::for_retry) takes the new configurations for
//!   one more attempt.
//! - **Do not fall back to a plain ClientHello** after any other error. That would reveal the name
//!   to whoever caused the error.
//! - **Without a list**, [`EchMode::Grease`](crate::client::EchMode::Grease) sends a ClientHello
//!   that looks the same.
//!
//! In both cases these remain visible: versions, suites, groups and key shares, and ALPN. Among the
//! ClientHellos for one list, names up to the length stated there have the same size.
//!
//! # Programs and tests
//!
//! The example `ech_client` does all of this except DNS. `rustls/tests/ech` checks the client
//! against a strict server, and against Go's `crypto/tls` over TCP, with every HPKE suite, and over
//! QUIC. It was also run by hand against BoringSSL's `bssl server -ech-key`. Each server was asked
//! to accept, also after a HelloRetryRequest; to reject, and then accept the second attempt; and to
//! ignore ECH.
//!
//! [rejected]: crate::PeerIncompatible::ServerRejectedEncryptedClientHello
