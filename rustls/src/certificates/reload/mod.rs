//! What a configuration goes by, replaced while it is in use.
//!
//! ```text
//!   files ──► reload: read, parse, check ──► all good, and other than before ──► swap
//!                          │                                                      │
//!                          └──► no: keep the old, report                          ▼
//!   handshake ──► current_verifier, current_resolver, resolve ◄─────────────── one Arc
//! ```
//!
//! A handshake takes what is in force at its start and goes by it to its end, so none is disturbed. No lock is held
//! while anything is read, parsed, checked or asked.
//!
//! - `slot`: what is in force, and the order of reloads; `status`, `error`: what became of them.
//! - `keys`: certificates and keys of one's own, `pair` from files, with the OCSP response (`ocsp`) that names them
//!   (`certificate_id`).
//! - `server_verifier`, `client_verifier`: whom to trust, `trust` from roots and revocation lists.

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

pub use client_verifier::{ReloadingClientVerifier, ReloadingClientVerifierBuilder};
pub use error::ReloadError;
#[cfg(feature = "x509")]
pub use keys::{ReloadingCertifiedKeys, ReloadingCertifiedKeysBuilder};
#[cfg(feature = "x509")]
pub use pair::CertifiedKeyFiles;
pub use server_verifier::{ReloadingServerVerifier, ReloadingServerVerifierBuilder};
pub use status::{Reload, ReloadFailure, ReloadStatus};
