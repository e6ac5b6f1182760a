//! Ticket protection by this provider's AEAD.

use alloc::sync::Arc;

use rustls_core::crypto::aead::AeadAlgorithm;
use rustls_core::error::Error;
use rustls_core::ticketer::{ProducesTickets, TicketRotator, make_ticketer};

use super::aead::Aes256Gcm;
use super::provider::Random;

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
        let rotator = TicketRotator::new(KEY_CHANGE_SECS, || {
            make_ticketer(|key| Aes256Gcm::key(&key), &Random)
        })?;
        Ok(Arc::new(rotator))
    }
}

const KEY_CHANGE_SECS: u32 = 6 * 60 * 60;
