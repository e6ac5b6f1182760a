//! Loads roots, revocation lists, certificates and keys from files, shares them among
//! configurations, and replaces them without a restart.
//!
//! Everything here works with configurations of [`rustls`], which does not depend on this crate.
//! Patch rustls to the same checkout, because otherwise two copies are built and their types do not
//! match:
//!
//! ```toml
//! [dependencies]
//! rustls-trust = { path = "../rustls-inplace/trust" }
//! ```
//!
//! | to | use |
//! |---|---|
//! | read root certificates once | [`RootCache`] |
//! | cache revocation lists read from files | [`CrlCache`] |
//! | replace what a client trusts | [`ReloadingServerVerifier`] |
//! | replace what a server trusts | [`ReloadingClientVerifier`] |
#![cfg_attr(
    feature = "x509",
    doc = "| replace certificates and private keys | [`ReloadingCertifiedKeys`] |"
)]
//!
//! The caches in this crate hold parsed inputs, never verdicts. The `verified_chains` of a
//! configuration decide whether a handshake verifies a known chain again. Each cache is bounded.
//!
//! # Roots
//!
//! The first caller reads the roots. Configurations with the same source share them. A
//! [source](RootSource) is a file, a directory, PEM in memory, the platform's store or Mozilla's
//! list. By default, files, directories and the platform's store are reread after a day. Your own
//! [`RootCache`] can use a different interval: never, on each use, or on the first use after the
//! file has changed. If reading fails, the old roots stay in use. The old roots also stay in use if
//! some of them are missing and part of the source has become unusable.
//!
//! ```
//! use std::error::Error;
//!
//! use rustls::ClientConfig;
//! use rustls_trust::{RootCache, RootSource};
//!
//! /// After the first call, this is cheap, however many authorities the bundle has.
//! fn client_config(bundle: &str) -> Result<ClientConfig, Box<dyn Error>> {
//!     let roots = RootCache::global().store(&RootSource::PemFile(bundle.into()))?;
//!     Ok(ClientConfig::builder()
//!         .with_root_certificates(roots)
//!         .with_no_client_auth())
//! }
//! ```
//!
//! # Revocation lists
//!
//! Verifiers with the same list [share its index](rustls::certificates::RevocationList). A
//! [`CrlCache`] keeps the lists read from files and directories. An older list does not replace a
//! cached one, except at the cache's limits.
//!
//! ```
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use rustls::RootCertStore;
//! use rustls::server::WebPkiClientVerifier;
//! use rustls::server::danger::ClientCertVerifier;
//! use rustls_trust::{CrlCache, CrlSource};
//!
//! fn verifier(
//!     roots: Arc<RootCertStore>,
//!     folder: &str,
//! ) -> Result<Arc<dyn ClientCertVerifier>, Box<dyn Error>> {
//!     let lists = CrlCache::global().lists(&CrlSource::Directory(folder.into()))?;
//!     Ok(WebPkiClientVerifier::builder(roots)
//!         .with_shared_crls(lists.iter().cloned())
//!         .build()?)
//! }
//! ```
//!
//! # Reloading
//!
//! The `Reloading…` types replace certificates and keys, roots and revocation lists while
//! configurations use them. They check new files first. For example, the key must belong to the
//! certificate, the certificate must not have expired, and a revocation list must not be older than
//! the current one. Lists past their next update stay in use; a verifier may still reject them. If
//! a check fails, the old values stay in use, and `status` reports the reason. Open connections are
//! not affected. Reloading certificates and keys needs the feature `x509`.
//!
//! OCSP responses are stapled until their next update. A missing or unusable response does not
//! prevent a certificate from becoming active, unless the certificate requires one ("must-staple"),
//! an OCSP file is set, and the current response cannot be used either. Nor do the dates of the
//! other certificates in the chain, or a clock that starts in 1970. `status` reports all of these.
//!
#![cfg_attr(feature = "x509", doc = "```")]
#![cfg_attr(not(feature = "x509"), doc = "```ignore")]
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use rustls::ServerConfig;
//! use rustls::crypto::aws_lc_rs;
//! use rustls_trust::{
//!     CertifiedKeyFiles, ReloadingCertifiedKeys, ReloadingClientVerifier, RootSource,
//! };
//!
//! /// Returns a configuration, and a function to call on a signal or periodically.
//! fn reloading() -> Result<(ServerConfig, impl Fn()), Box<dyn Error>> {
//!     let provider = Arc::new(aws_lc_rs::default_provider());
//!     let files = CertifiedKeyFiles::new("fullchain.pem", "privkey.pem");
//!     let keys = ReloadingCertifiedKeys::new(files, provider.clone())?;
//!     let clients = RootSource::PemFile("clients.pem".into());
//!     let verifier = ReloadingClientVerifier::builder(clients, provider).build()?;
//!     let config = ServerConfig::builder()
//!         .with_client_cert_verifier(verifier.clone())
//!         .with_cert_resolver(keys.clone());
//!     let reload = move || {
//!         for reloaded in [keys.reload_if_changed(), verifier.reload_if_changed()] {
//!             if let Err(error) = reloaded {
//!                 eprintln!("the old files stay in use: {error}");
//!             }
//!         }
//!     };
//!     Ok((config, reload))
//! }
//! ```
//!
//! Replace files with `rename`, so that no reload reads a partial file. The example
//! `reloading_server` is a complete program.
//!
//! # Statistics
//!
//! Each cache reports its entries, hits, misses and failures:
//!
//! ```
//! use rustls::certificates::RevocationList;
//! use rustls_trust::{CrlCache, RootCache};
//!
//! for (cache, stats) in [
//!     ("roots", RootCache::global().stats()),
//!     ("revocation lists of files", CrlCache::global().stats()),
//!     ("revocation lists in use", RevocationList::sharing_stats()),
//! ] {
//!     println!(
//!         "{cache}: {} entries, {} hits, {} misses, {} failures",
//!         stats.entries, stats.hits, stats.misses, stats.failures
//!     );
//! }
//! ```
//!
//! # Features
//!
//! - `x509`: reloading of certificates and private keys, with the crate x509-cert.
//! - `native-certs`, `webpki-roots`: root certificates of the platform and of Mozilla, as
//!   [sources](RootSource) of roots.
//! - `logging` (default): log messages through the `log` crate.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod cache;
mod files;
mod loading;
mod logging;
mod pem;
mod reload;
mod revocation;
mod roots;

pub use cache::{Cache, CacheSource};
pub use files::{FileError, FileErrorCause};
#[cfg(feature = "x509")]
pub use reload::{CertifiedKeyFiles, ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder};
pub use reload::{
    PeerVerifier, Reload, ReloadError, ReloadFailure, ReloadStatus, ReloadingClientVerifier,
    ReloadingClientVerifierBuilder, ReloadingServerVerifier, ReloadingServerVerifierBuilder,
    ReloadingVerifier, ReloadingVerifierBuilder,
};
pub use revocation::{CrlCache, CrlError, CrlProblem, CrlProblemReason, CrlSource, LoadedCrls};
pub use roots::{
    IgnoredCertificate, IgnoredReason, LoadedRoots, RootCache, RootSource, RootsError,
};
