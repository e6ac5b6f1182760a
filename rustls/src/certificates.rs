//! Parsed certificates and revocation lists, and accepted chains, which connections share.
//!
//! Each cache is bounded, and the public ones report [`CacheStats`].
//!
//! - Verifiers that use the same revocation list can share its index: [`RevocationList`].
//! - Connections and sessions of one peer share its certificates: [`PeerChains`].
//! - Chains that a verifier accepted need not be verified again under the same rules for some time:
//!   [`VerifiedChains`].
//! - The identity of a peer: [`PeerIdentity`].
#![cfg_attr(
    feature = "x509",
    doc = "- The properties of a certificate, each parsed once: [`Certificate`]."
)]
//!
//! The crate `rustls-trust` reads roots, revocation lists, certificates and keys from files, and
//! replaces them without a restart. It also caches roots and revocation lists.

mod acceptance;
#[cfg(feature = "x509")]
mod certificate;
#[cfg(feature = "std")]
mod chain_hash;
pub(crate) mod encoded_chain;
mod fingerprint;
mod once;
#[cfg(feature = "x509")]
mod own;
pub(crate) mod parsed;
mod peer_chain;
mod peer_chains;
mod peer_identity;
#[cfg(test)]
pub(crate) mod reads;
mod revocation;
mod stats;
mod time;
mod verified_chains;
mod webpki_error;

pub use acceptance::VerifierRules;
pub(crate) use acceptance::{Acceptance, Basis};
#[cfg(feature = "x509")]
pub use certificate::{
    AlgorithmIdentifier, Attribute, BasicConstraints, Certificate, CertificateField,
    ExtendedKeyUsages, Extension, GeneralName, InvalidOid, KeyUsages, Name, Oid, PropertyError,
    PublicKey, SerialNumber, Time, Validity,
};
pub(crate) use encoded_chain::{EncodedChain, WaitingChain};
pub(crate) use fingerprint::sha256;
#[cfg(all(test, feature = "std", any(feature = "aws_lc_rs", feature = "ring")))]
pub(crate) use fingerprint::tests::Stub;
#[cfg(feature = "std")]
pub(crate) use fingerprint::{any_sha2, is_correct};
#[cfg(feature = "x509")]
pub(crate) use own::{ParsedEndEntity, shared};
pub(crate) use parsed::ParsedCertificate;
pub(crate) use peer_chain::{ChainKind, PeerChain};
pub use peer_chains::PeerChains;
pub use peer_identity::{PeerIdentity, PeerIdentityKind};
pub use revocation::RevocationList;
pub use stats::CacheStats;
pub(crate) use time::ValidityPeriod;
pub use verified_chains::VerifiedChains;
pub(crate) use webpki_error::certificate_error;
