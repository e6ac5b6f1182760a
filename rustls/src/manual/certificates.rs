//! Certificates: chains that are parsed, shared and verified once, the identity of a peer, and
//! files.
//!
//! [`rustls::certificates`](crate::certificates) parses certificates once, keeps them and shares
//! them. A chain that a verifier has accepted is not verified again until a rule or a date changes.
//! The caches change no verdict.
//!
//! | to | use |
//! |---|---|
//! | share chains among configurations | [`PeerChains`](crate::certificates::PeerChains) |
//! | verify known chains each time | [`VerifiedChains`](crate::certificates::VerifiedChains) |
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
//! # harness::manual::shares_chains(share_among);
//! ```
//!
//! # Verified once
//!
//! A proxy meets the same few servers all day, and a service the same clients. Without a cache,
//! verifying their chains takes a third to two thirds of each full handshake. So a configuration
//! remembers the chains that its verifier has accepted, in
//! [`verified_chains`](crate::ClientConfig::verified_chains). If a chain is known, the handshake
//! verifies the peer's own signature, and a client checks the server's name. The signatures on the
//! chain and the revocation lists are not verified again.
//!
//! The verdict of a verifier depends on its rules, the chain and the time. An acceptance is used
//! only while all three allow it:
//!
//! - **Equal rules**: the roots, the revocation lists and their policy, and the algorithms. The
//!   verifiers of this library compute a digest of them in the first handshake that looks a chain
//!   up. Another root or list makes other rules, so it counts from the next handshake on. The
//!   digest is a SHA-256, or another SHA-2 hash if no cipher suite of the crypto provider has that.
//!   If machines that share sessions use different hashes, they verify client certificates again.
//!   Without any SHA-2 hash, a verifier logs at `warn` that each handshake verifies its chain.
//! - **Equal bytes** of all certificates that the peer sends.
//! - **No date has passed**: the end or the start of the validity of any certificate in the chain,
//!   or the next update of a list if the verifier enforces that. If the clock was set back, the
//!   chain is verified again.
//!
//! Rejections are not remembered. Nobody without the key, and no server of another name, can find
//! out if a chain is known: the signature is verified first, and if it is wrong, or the name is,
//! the whole chain is verified as well. A handshake that succeeds is faster if the chain is known,
//! and others on the network may see that.
//!
//! A chain over 16 KiB is never remembered. A server verifies it as soon as it arrives, and
//! does not hold it for clients whose chain it rejects.
//!
//! Sessions carry the acceptance of a client's certificates, from one machine to another if these
//! share tickets or a storage. A resumption relies on it under the same three conditions, and
//! within a day of the verification. A full handshake verifies a client's chain again after half a
//! day, so that each new session can use its acceptance for half a day at least. A client's
//! sessions end when the acceptance of the server does, and a week after the full handshake at the
//! latest.
//!
//! **After an update** of rustls-webpki or of the crypto provider that rejects more than before,
//! restart the process. Acceptances in sessions end a day later; replace the secret or empty the
//! storage to end them at once.
//!
//! Each configuration has a map of its own; several may share one. A full map takes about 3 MB with
//! 1024 chains of the usual length, and 16 MB with the longest that it keeps, of 16 KiB each. The
//! properties that the application has read of the certificates come on top. Each lookup costs less
//! than a microsecond. Turn it off with
//! [`VerifiedChains::disabled`](crate::certificates::VerifiedChains::disabled) if
//!
//! - a rule of your organization demands that every handshake verifies the chain;
//! - your crypto provider has signature algorithms whose results change, for example by a list of
//!   blocked keys;
//! - a client meets thousands of servers once each, such as a crawler. The map then only costs
//!   memory.
//!
//! **Custom verifiers** are called in every handshake, as in rustls 0.23. A verifier opts in by
//! returning [`rules`](crate::client::danger::ServerCertVerifier::rules), if its verdict depends on
//! nothing that changes. Verifiers that use the platform's trust store must not.
//!
//! # Who the peer is
//!
//! [`peer_identity`](crate::CommonState::peer_identity) returns the peer's certificates or raw key,
//! and their fingerprint. With the feature `x509`, it also reads the properties of a certificate.
//! Each property is read on first use and kept with the chain, for all connections of the same
//! peer. A name that violates RFC 5280, such as a mail address in Latin-1, does not hide the other
//! names.
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
//! # harness::manual::reads_names(|connection| {
//! #     names(connection).unwrap().into_iter().map(str::to_owned).collect()
//! # });
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
//!         ("verified chains", config.verified_chains.stats()),
//!     ] {
//!         println!(
//!             "{cache}: {} entries, {} hits, {} misses, {} failures",
//!             stats.entries, stats.hits, stats.misses, stats.failures
//!         );
//!     }
//! }
//! # harness::manual::reports(report);
//! ```
