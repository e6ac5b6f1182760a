//! Ticket protection by AES-256-GCM.

use alloc::sync::Arc;

use pki_types::UnixTime;
use rustls_core::blocks::{
    BulkCipher, FleetCrypto, FleetTicketer, Hashing, make_rotating_ticketer, make_ticketer,
};
use rustls_core::error::Error;
use rustls_core::ticketer::ProducesTickets;

use crate::aead::Key;
use crate::hash::Sha384;
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

    /// Makes tickets that every machine can read which was given the same `secret` and `epoch_secs`, whichever
    /// of this library's providers it uses. See [`FleetTicketer`].
    ///
    /// The secret is random, of at least 32 bytes. `epoch_secs` is how many seconds an epoch takes, some hours
    /// as a rule: a ticket made in one epoch can be used until the next one ends.
    ///
    /// Tickets are encrypted with AES-256-GCM under keys derived with HKDF-SHA-384.
    ///
    /// # Errors
    ///
    /// Those of [`FleetTicketer::new`]: the secret is too short, or the epoch too short or too long.
    pub fn for_fleet(secret: &[u8], epoch_secs: u32) -> Result<Arc<dyn ProducesTickets>, Error> {
        Self::for_fleet_with_clock(secret, epoch_secs, || Some(UnixTime::now()))
    }

    /// As [`for_fleet`](Self::for_fleet), by another clock than the system's.
    ///
    /// # Errors
    ///
    /// Those of [`FleetTicketer::new`].
    pub fn for_fleet_with_clock(
        secret: &[u8],
        epoch_secs: u32,
        clock: impl Fn() -> Option<UnixTime> + Send + Sync + 'static,
    ) -> Result<Arc<dyn ProducesTickets>, Error> {
        let crypto = FleetCrypto {
            hkdf: &Hashing::<Sha384>::NEW,
            new_aead: |key| Key::new(BulkCipher::Aes256Gcm, &key),
            random: &Random,
        };
        Ok(Arc::new(FleetTicketer::new(
            secret, epoch_secs, crypto, clock,
        )?))
    }
}
