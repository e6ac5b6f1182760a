//! Ticket protection with AES-256-GCM.

use rustls_core::blocks::{Aead, Aes256Gcm, Hashing};
use rustls_core::crypto::cipher::AeadKey;
use rustls_core::crypto::tls13::Hkdf;

use crate::aead::Key;
use crate::hash::Sha384;

rustls_core::provider_ticketer!(ticket_aead, TICKET_HKDF, &crate::random::Random);

/// Creates the AEAD of a `Ticketer` from its key. The provider `fastest` uses it with another
/// source of randomness.
#[doc(hidden)]
pub fn ticket_aead(key: AeadKey) -> impl Aead + 'static {
    Key::new::<Aes256Gcm>(&key)
}

/// Derives the keys of a fleet's tickets, with SHA-384.
#[doc(hidden)]
pub const TICKET_HKDF: &dyn Hkdf = &Hashing::<Sha384>::NEW;
