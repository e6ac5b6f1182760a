//! Tickets that any machine in a fleet can open. The machines share a secret and have synchronised
//! clocks.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use pki_types::UnixTime;
use zeroize::{Zeroize, Zeroizing};

use super::{MAX_TICKET_LEN, ProducesTickets};
use crate::crypto::aead::{Aead, TAG_LEN};
use crate::crypto::cipher::{AeadKey, NONCE_LEN, Nonce};
use crate::crypto::tls13::{Hkdf, HkdfExpander};
use crate::crypto::{SecureRandom, with_deep_stack_erased};
use crate::error::Error;

/// Ticket protection with keys that every machine derives from one shared secret. A session started
/// on one machine can be resumed on any other.
///
/// Time is divided into epochs. A ticket belongs to the epoch of its creator's clock. Machines open
/// it if their clocks show the same epoch or a neighbouring one:
///
/// ```text
///   epoch               n - 1       n         n + 1       n + 2
///   creator's clock   ─┼─────────┼────●────┼─────────┼─────────┼──
///   opens it           │ ◄───────── yes ──────────► │   no
/// ```
///
/// The ticket:
///
/// ```text
///   ┌────────────────┬────────────────┬─────────────────────────┬───────────────┐
///   │ epoch, 8 bytes │ salt, 32 bytes │ ciphertext              │ tag, 16 bytes │
///   └────────────────┴────────────────┴─────────────────────────┴───────────────┘
///     authenticated    random           as long as the plaintext
/// ```
///
/// Each ticket has its own key and nonce, derived with HKDF (RFC 5869) from the secret, with epoch
/// length, epoch and salt as info. So keys do not wear out, however many machines and tickets there
/// are. Only HKDF's pseudorandom key is stored. Anyone who has the secret can open every
/// ticket, including old ones: protect it like the private key of a certificate, and replace it
/// from time to time. Machines with different secrets or epoch lengths reject each other's tickets,
/// and their clients do a full handshake.
///
/// Servers accept no early data with these tickets: a ticket can be used any number of times, so
/// early data could be replayed.
pub struct FleetTicketer<A> {
    pseudorandom_key: Box<dyn HkdfExpander>,
    new_aead: fn(AeadKey) -> A,
    random: &'static dyn SecureRandom,
    clock: Box<dyn Fn() -> Option<UnixTime> + Send + Sync>,
    epoch_secs: u32,
}

/// The components of a [`FleetTicketer`]: a provider's HKDF, AEAD and randomness.
///
/// Machines accept each other's tickets if the hash function and the AEAD are the same, even with
/// different providers.
pub struct FleetCrypto<A> {
    /// HKDF, preferably with SHA-384 or longer: the key and the nonce then fit into one block.
    pub hkdf: &'static dyn Hkdf,
    /// Creates an AEAD from a key of 32 bytes.
    pub new_aead: fn(AeadKey) -> A,
    /// The source of the tickets' random salts.
    pub random: &'static dyn SecureRandom,
}

impl<A: Aead> FleetTicketer<A> {
    /// The minimum length of a secret in bytes.
    pub const MIN_SECRET_LEN: usize = 32;

    /// The shortest epoch in seconds: an hour.
    pub const MIN_EPOCH_SECS: u32 = 60 * 60;

    /// The longest epoch in seconds: half of the seven days for which a ticket may be used (RFC
    /// 9846 §4.7.1). A ticket created at the start of an epoch can be opened until the end of the
    /// next one.
    pub const MAX_EPOCH_SECS: u32 = 7 * 24 * 60 * 60 / 2;

    /// The number of seconds by which the clocks of two machines may differ. Up to that difference,
    /// [`lifetime`](ProducesTickets::lifetime) holds, because servers tolerate tickets that appear
    /// older by this much. With a larger difference, tickets may be rejected before the end of the
    /// lifetime that clients were given. Tickets from more than one epoch ahead are also rejected.
    pub const CLOCK_TOLERANCE_SECS: u32 = 5 * 60;

    /// Creates a ticketer with epochs of `epoch_secs` seconds, measured by `clock`, and with keys
    /// derived from `secret`.
    ///
    /// The secret must be random, not a password. It is not stored. `clock` returns the time since
    /// 1970 in UTC, like [`UnixTime::now`]. While it returns `None`, no tickets are created or
    /// opened.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if `secret` is shorter than [`Self::MIN_SECRET_LEN`], or if
    /// `epoch_secs` is not between [`Self::MIN_EPOCH_SECS`] and [`Self::MAX_EPOCH_SECS`].
    pub fn new(
        secret: &[u8],
        epoch_secs: u32,
        crypto: FleetCrypto<A>,
        clock: impl Fn() -> Option<UnixTime> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        if secret.len() < Self::MIN_SECRET_LEN {
            return Err(Error::General(
                "a fleet's ticket secret must have at least 32 bytes".into(),
            ));
        }
        if !(Self::MIN_EPOCH_SECS..=Self::MAX_EPOCH_SECS).contains(&epoch_secs) {
            return Err(Error::General(
                "an epoch of tickets must last from 3600 to 302400 seconds".into(),
            ));
        }
        Ok(Self {
            pseudorandom_key: with_deep_stack_erased(|| {
                crypto.hkdf.extract_from_secret(Some(DOMAIN), secret)
            }),
            new_aead: crypto.new_aead,
            random: crypto.random,
            clock: Box::new(clock),
            epoch_secs,
        })
    }

    fn current_epoch(&self) -> Option<u64> {
        let now = (self.clock)()?.as_secs();
        Some(now / u64::from(self.epoch_secs))
    }

    /// Derives the key and nonce of one ticket: `HKDF-Expand(PRK, epoch length ‖ epoch ‖ salt,
    /// 44)`. Copies of the key stay on the stack, and the caller must erase them.
    fn ticket_key(&self, header: &Header) -> Option<(A, Nonce)> {
        let mut okm = Zeroizing::new([0; AeadKey::MAX_LEN + NONCE_LEN]);
        let info = [&self.epoch_secs.to_be_bytes()[..], header];
        self.pseudorandom_key.expand_slice(&info, &mut *okm).ok()?;
        let (key, nonce) = okm.split_first_chunk::<{ AeadKey::MAX_LEN }>()?;
        let nonce = Nonce(*nonce.first_chunk()?);
        let mut key = *key;
        let aead = (self.new_aead)(AeadKey::from(key));
        key.zeroize();
        Some((aead, nonce))
    }
}

/// The salt of HKDF. It separates these keys from keys derived from the same secret for other
/// purposes.
const DOMAIN: &[u8] = b"rustls-inplace fleet tickets 1";

const EPOCH_LEN: usize = 8;
const SALT_LEN: usize = 32;
const HEADER_LEN: usize = EPOCH_LEN + SALT_LEN;

/// The header of a ticket: epoch and salt.
type Header = [u8; HEADER_LEN];

impl<A: Aead> ProducesTickets for FleetTicketer<A> {
    fn enabled(&self) -> bool {
        true
    }

    /// One epoch minus [`CLOCK_TOLERANCE_SECS`](FleetTicketer::CLOCK_TOLERANCE_SECS). A ticket
    /// created at the very end of an epoch can be opened until the end of the next one, by the
    /// clock of the opening machine.
    fn lifetime(&self) -> u32 {
        self.epoch_secs - Self::CLOCK_TOLERANCE_SECS
    }

    fn clock_tolerance(&self) -> u32 {
        Self::CLOCK_TOLERANCE_SECS
    }

    fn may_wait(&self) -> bool {
        false
    }

    /// Also returns `None` if the clock or the randomness fails, or if the ticket would be longer
    /// than 65 535 bytes.
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        if plain.len() > MAX_TICKET_LEN - HEADER_LEN - TAG_LEN {
            return None;
        }
        let mut ticket = vec![0; HEADER_LEN + plain.len() + TAG_LEN];
        let (header, sealed) = ticket.split_first_chunk_mut::<HEADER_LEN>()?;
        let (epoch, salt) = header.split_at_mut(EPOCH_LEN);
        epoch.copy_from_slice(&self.current_epoch()?.to_be_bytes());
        self.random.fill(salt).ok()?;

        let (text, tag) = sealed.split_last_chunk_mut::<TAG_LEN>()?;
        with_deep_stack_erased(|| {
            let (aead, nonce) = self.ticket_key(header)?;
            text.copy_from_slice(plain);
            match aead.seal_in_place(nonce, header, text) {
                Ok(sealed) => {
                    *tag = sealed;
                    Some(())
                }
                Err(_) => {
                    text.zeroize();
                    None
                }
            }
        })?;
        Some(ticket)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        if cipher.len() > MAX_TICKET_LEN {
            return None;
        }
        let (header, sealed) = cipher.split_first_chunk::<HEADER_LEN>()?;
        let epoch = u64::from_be_bytes(*header.first_chunk()?);
        // accept neighbouring epochs: tickets outlive their epoch, and clocks differ
        if epoch.abs_diff(self.current_epoch()?) > 1 {
            return None;
        }
        let mut text = sealed.to_vec();
        let plain_len = with_deep_stack_erased(|| {
            let (aead, nonce) = self.ticket_key(header)?;
            aead.open_in_place(nonce, header, &mut text).ok()
        })?;
        text.truncate(plain_len);
        Some(text)
    }
}

impl<A> fmt::Debug for FleetTicketer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetTicketer")
            .field("epoch_secs", &self.epoch_secs)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
