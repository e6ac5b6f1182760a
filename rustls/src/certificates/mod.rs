//! Certificates that are parsed once, kept, and shared.
//!
//! What is kept here are certificates and what was read out of them, never what a verification found: every
//! handshake checks signatures, names, dates and revocation anew. Each cache is bounded, and tells by
//! [`CacheStats`] what it holds and how much it helped.
//!
//! - Root certificates are read once for all configurations: [`RootSource`], [`RootCache`].
//! - Revocation lists are indexed once for all verifiers: [`RevocationList`], [`CrlSource`], [`CrlCache`].
//! - Connections and sessions of one peer share its certificates: [`PeerChains`].
//! - Who a peer is: [`PeerIdentity`].
#![cfg_attr(
    feature = "x509",
    doc = "- What is in a certificate, each property read once: [`Certificate`]."
)]
//! - Whom to trust is replaced without a restart: [`ReloadingServerVerifier`], [`ReloadingClientVerifier`].
#![cfg_attr(
    feature = "x509",
    doc = "- So are certificates and keys of one's own: [`ReloadingCertifiedKeys`]."
)]

#[cfg(feature = "x509")]
mod certificate;
#[cfg(feature = "std")]
mod files;
mod fingerprint;
#[cfg(feature = "std")]
mod loading;
mod once;
#[cfg(feature = "x509")]
mod own;
mod peer_chains;
mod peer_identity;
#[cfg(feature = "std")]
mod pem;
#[cfg(test)]
pub(crate) mod reads;
#[cfg(feature = "std")]
mod reload;
mod revocation;
#[cfg(feature = "std")]
mod roots;
mod stats;
mod time;

#[cfg(feature = "x509")]
pub use certificate::{
    AlgorithmIdentifier, Attribute, BasicConstraints, Certificate, CertificateField,
    ExtendedKeyUsages, Extension, GeneralName, InvalidOid, KeyUsages, Name, Oid, PropertyError,
    PublicKey, SerialNumber, Time, Validity,
};
#[cfg(feature = "std")]
pub use files::{FileError, FileErrorCause};
pub(crate) use fingerprint::sha256;
#[cfg(feature = "x509")]
pub(crate) use own::{Kept, shared};
pub(crate) use peer_chains::Found;
pub use peer_chains::PeerChains;
pub(crate) use peer_identity::PeerFacts;
pub use peer_identity::{PeerIdentity, PeerIdentityKind};
#[cfg(all(feature = "std", feature = "x509"))]
pub use reload::{CertifiedKeyFiles, ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder};
#[cfg(feature = "std")]
pub use reload::{
    Reload, ReloadError, ReloadFailure, ReloadStatus, ReloadingClientVerifier,
    ReloadingClientVerifierBuilder, ReloadingServerVerifier, ReloadingServerVerifierBuilder,
};
pub use revocation::RevocationList;
#[cfg(feature = "std")]
pub use revocation::{CrlCache, CrlError, CrlProblem, CrlProblemReason, CrlSource, LoadedCrls};
#[cfg(feature = "std")]
pub use roots::{
    IgnoredCertificate, IgnoredReason, LoadedRoots, RootCache, RootSource, RootsError,
};
pub use stats::CacheStats;
pub(crate) use time::not_after;
