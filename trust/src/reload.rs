//! Keys and verifiers that can be replaced while configurations use them.
//!
//! ```text
//!   files ──► reload: read, parse, check ──► usable, and different ──► swap
//!                          │                                           │
//!                          └──► otherwise: keep the old                ▼
//!   handshake ──► current_verifier, current_resolver, resolve ◄──── one Arc
//!
//!   any problem or flaw ──► status, log
//! ```
//!
//! A handshake keeps the objects that it got, so a reload does not disturb it. No lock is held
//! while anything is read, parsed, checked or verified.
//!
//! - `slot`: the current value, and the order of reloads; `status`, `error`: the results of
//!   reloads.
//! - `keys`: certificates and private keys. `pair` reads them from files, `ocsp` checks the OCSP
//!   response, and `certificate_id` matches it with the certificate.
//! - `verifier`: a verifier for either side; `server_verifier`, `client_verifier`: what differs
//!   between the sides. `trust` reads roots and revocation lists.

#[cfg(feature = "x509")]
mod certificate_id;
mod client_verifier;
mod error;
#[cfg(feature = "x509")]
mod keys;
#[cfg(feature = "x509")]
mod ocsp;
#[cfg(feature = "x509")]
mod pair;
mod server_verifier;
mod slot;
mod status;
mod trust;
mod verifier;

pub use client_verifier::{ReloadingClientVerifier, ReloadingClientVerifierBuilder};
pub use error::ReloadError;
#[cfg(feature = "x509")]
pub use keys::{ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder};
#[cfg(feature = "x509")]
pub use pair::CertifiedKeyFiles;
pub use server_verifier::{ReloadingServerVerifier, ReloadingServerVerifierBuilder};
pub use status::{Reload, ReloadFailure, ReloadStatus};
pub use verifier::{PeerVerifier, ReloadingVerifier, ReloadingVerifierBuilder};
