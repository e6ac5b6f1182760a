//! Certificates, trust and revocation: parsed once, shared, and replaced without a restart.
//!
//! [`rustls::certificates`](crate::certificates) parses certificates once, keeps them and shares
//! them. No cache holds the result of a verification. Each handshake checks signatures, names,
//! dates and revocation, with and without the caches.
//!
//! | to | use |
//! |---|---|
//! | read root certificates once | [`RootCertStore::cached`](crate::RootCertStore::cached) |
//! | share chains among configurations | [`PeerChains`](crate::certificates::PeerChains) |
//! | learn who the peer is | [`peer_identity`](crate::CommonState::peer_identity) |
//! | keep revocation lists of files | [`CrlCache`](crate::certificates::CrlCache) |
//! | replace certificates, roots and lists in use | the `Reloading…` types |
//!
//! # Roots
//!
//! The first caller reads the roots. All configurations with the same source share them. A source
//! is a file, a directory, PEM in memory, the platform's store or Mozilla's list. Roots are read
//! again after a day. Your own [`RootCache`](crate::certificates::RootCache) can choose another
//! interval: never, on each use, or as soon as the file has changed. If reading fails, the old
//! roots stay in use.
//!
//! ```
//! use std::error::Error;
//!
//! use rustls::certificates::RootSource;
//! use rustls::{ClientConfig, RootCertStore};
//!
//! /// Building this configuration is cheap, however many authorities the bundle has.
//! fn client_config(bundle: &str) -> Result<ClientConfig, Box<dyn Error>> {
//!     let roots = RootCertStore::cached(&RootSource::PemFile(bundle.into()))?;
//!     Ok(ClientConfig::builder()
//!         .with_root_certificates(roots)
//!         .with_no_client_auth())
//! }
//! ```
//!
//! # Chains of peers
//!
//! A chain is in memory once, whether a client opens a hundred connections, resumes with a ticket,
//! or has sessions in a store. Connections of one configuration share chains. Several
//! configurations share them if they use the same [`PeerChains`](crate::certificates::PeerChains):
//!
//! ```
//! use std::sync::Arc;
//!
//! use rustls::ServerConfig;
//! use rustls::certificates::PeerChains;
//!
//! fn share_among(tenants: &mut [ServerConfig]) {
//!     let chains = Arc::new(PeerChains::default());
//!     for config in tenants {
//!         config.peer_chains = chains.clone();
//!     }
//! }
//! ```
//!
//! # Who the peer is
//!
//! [`peer_identity`](crate::CommonState::peer_identity) returns the peer's certificates or raw key,
//! and their fingerprint. With the feature `x509`, it also reads the properties of a certificate.
//! Each property is read on first use and kept with the chain, for all connections of the same
//! peer.
//!
//! ```
//! use rustls::CommonState;
//! use rustls::certificates::{GeneralName, PropertyError};
//!
//! /// The DNS names of a client with a certificate.
//! fn names(connection: &CommonState) -> Result<Vec<&str>, PropertyError> {
//!     let identity = connection.peer_identity();
//!     let Some(certificate) = identity.and_then(|identity| identity.certificate()) else {
//!         return Ok(Vec::new());
//!     };
//!     let names = certificate.subject_alt_names()?.iter();
//!     Ok(names
//!         .filter_map(|name| match name {
//!             GeneralName::Dns(name) => Some(&name[..]),
//!             _ => None,
//!         })
//!         .collect())
//! }
//! ```
//!
//! # Revocation lists
//!
//! Verifiers with the same list share its index. A [`CrlCache`](crate::certificates::CrlCache)
//! keeps the lists of files and directories, and replaces a list by a newer one only.
//!
//! ```
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use rustls::RootCertStore;
//! use rustls::certificates::{CrlCache, CrlSource};
//! use rustls::server::WebPkiClientVerifier;
//! use rustls::server::danger::ClientCertVerifier;
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
//! configurations use them. They check new files first: the key must belong to the certificate,
//! nothing may have expired, and no list may be older. If a check fails, the old values stay in
//! use, and `status` reports the reason. Open connections are not affected. OCSP responses are
//! stapled until their next update. Reloading certificates and keys needs the feature `x509`.
//!
//! ```
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use rustls::ServerConfig;
//! use rustls::certificates::{
//!     CertifiedKeyFiles, ReloadingCertifiedKeys, ReloadingClientVerifier, RootSource,
//! };
//! use rustls::crypto::aws_lc_rs;
//!
//! /// Returns a configuration, and a function to call on a signal or from time to time.
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
//! use rustls::ServerConfig;
//! use rustls::certificates::{CrlCache, RevocationList, RootCache};
//!
//! fn report(config: &ServerConfig) {
//!     for (cache, stats) in [
//!         ("roots", RootCache::global().stats()),
//!         ("revocation lists of files", CrlCache::global().stats()),
//!         ("revocation lists in use", RevocationList::sharing_stats()),
//!         ("chains", config.peer_chains.stats()),
//!     ] {
//!         println!(
//!             "{cache}: {} entries, {} hits, {} misses, {} failures",
//!             stats.entries, stats.hits, stats.misses, stats.failures
//!         );
//!     }
//! }
//! ```
