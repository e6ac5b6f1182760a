//! Ticket protection by AES-256-GCM.

use alloc::sync::Arc;

use rustls_core::blocks::{BulkCipher, make_rotating_ticketer, make_ticketer};
use rustls_core::error::Error;
use rustls_core::ticketer::ProducesTickets;

use crate::aead::Key;
use crate::random::Random;

/// The recommended way to protect session tickets.
pub struct Ticketer {}

impl Ticketer {
    /// Makes tickets that nobody but this object can read, under random keys that are changed every
    /// six hours and destroyed after twelve.
    ///
    /// Tickets are encrypted with AES-256-GCM.
    ///
    /// # Errors
    ///
    /// [`Error::FailedToGetRandomBytes`] when there is no randomness for the first key.
    // The name and the return type are 0.23's.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> Result<Arc<dyn ProducesTickets>, Error> {
        make_rotating_ticketer(|| {
            make_ticketer(|key| Key::new(BulkCipher::Aes256Gcm, &key), &Random)
        })
    }
}
