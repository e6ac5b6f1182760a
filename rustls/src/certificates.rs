//! Certificates that are parsed once, cached and shared.
//!
//! The caches hold certificates and their parsed contents, but no results of verification. Every
//! handshake checks signatures, names, dates and revocation again. Each cache is bounded and
//! reports [`CacheStats`].
//!
//! - Root certificates are read once for all configurations: [`RootSource`], [`RootCache`].
//! - Revocation lists are indexed once for all verifiers: [`RevocationList`], [`CrlSource`],
//!   [`CrlCache`].
//! - Connections and sessions of one peer share its certificates: [`PeerChains`].
//! - The identity of a peer: [`PeerIdentity`].
#![cfg_attr(
    feature = "x509",
    doc = "- The properties of a certificate, each parsed once: [`Certificate`]."
)]
//! - Roots and revocation lists can be replaced without a restart: [`ReloadingServerVerifier`],
//!   [`ReloadingClientVerifier`].
#![cfg_attr(
    feature = "x509",
    doc = "- So can certificates and private keys: [`ReloadingCertifiedKeys`]."
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
