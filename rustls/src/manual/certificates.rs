//! Certificates: chains that are parsed once and shared, the identity of a peer, and files.
//!
//! [`rustls::certificates`](crate::certificates) parses certificates once, keeps them and shares
//! them. No cache holds the result of a verification. Each handshake checks signatures, names,
//! dates and revocation, with and without the caches.
//!
//! | to | use |
//! |---|---|
//! | share chains among configurations | [`PeerChains`](crate::certificates::PeerChains) |
//! | learn who the peer is | [`peer_identity`](crate::CommonState::peer_identity) |
//! | index a revocation list once | [`RevocationList`](crate::certificates::RevocationList) |
//! | read root certificates once | `rustls_trust::RootCache` |
//! | keep revocation lists of files | `rustls_trust::CrlCache` |
//! | replace certificates, keys, roots and lists in use | `rustls_trust::Reloading…` |
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
//! # Files
//!
//! The package `rustls-trust`, in the folder `trust` of the repository, reads roots, revocation
//! lists, certificates and private keys from files. It keeps them, shares them among
//! configurations, and replaces them without a restart. Its documentation has examples, and its
//! example `reloading_server` is a complete program.
//!
//! # Statistics
//!
//! Each cache reports its entries, hits, misses and failures:
//!
//! ```
//! use rustls::ServerConfig;
//! use rustls::certificates::RevocationList;
//!
//! fn report(config: &ServerConfig) {
//!     for (cache, stats) in [
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
