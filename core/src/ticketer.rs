//! Protection of session tickets (RFC 9846 §4.7.1, RFC 5077), and key rotation.
//!
//! The server handshake determines the contents of tickets, which are opaque bytes here.

use alloc::boxed::Box;
#[cfg(feature = "std")]
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

pub use self::fleet::{FleetCrypto, FleetTicketer};
#[cfg(feature = "std")]
pub use self::rotation::TicketRotator;
pub use self::rotation::TicketSwitcher;
use crate::crypto::aead::{Aead, TAG_LEN};
use crate::crypto::cipher::{AeadKey, NONCE_LEN, Nonce};
use crate::crypto::{GetRandomFailed, SecureRandom, with_deep_stack_erased};
#[cfg(feature = "std")]
use crate::error::Error;
use crate::operation::BoxFuture;

mod fleet;
mod rotation;

/// Encrypts session state into tickets, and decrypts tickets into session state.
pub trait ProducesTickets: fmt::Debug + Send + Sync {
    /// False if the implementation does nothing. The server then does not call
    /// [`encrypt`](Self::encrypt) or [`decrypt`](Self::decrypt). In TLS 1.3, it can still send
    /// tickets that refer to its session storage.
    fn enabled(&self) -> bool;

    /// Returns the maximum number of seconds for which a ticket created now can be used.
    ///
    /// Tickets carry this number (RFC 9846 §4.7.1), or less if the session ends earlier. Clients
    /// drop them once that time has passed. Destroy the keys then: forward secrecy depends on it.
    ///
    /// If the lifetime is 0, TLS 1.3 clients discard the ticket. In TLS 1.2, 0 leaves the lifetime
    /// unspecified (RFC 5077 §3.3): the ticket is valid for a week if [`decrypt`](Self::decrypt)
    /// accepts it.
    fn lifetime(&self) -> u32;

    /// Returns the number of seconds by which the clock of the machine that opens a ticket may
    /// differ from the clock of the ticket's creator. The default is 0.
    ///
    /// A server accepts tickets that are older than [`lifetime`](Self::lifetime) by up to this
    /// time. The lifetime in tickets does not include it, so that each machine accepts them
    /// throughout the lifetime that clients were given.
    fn clock_tolerance(&self) -> u32 {
        0
    }

    /// Creates a ticket: encrypts `plain` and protects it against modification.
    ///
    /// Returns `None` on failure. The server then sends no ticket, or in TLS 1.2, an empty one.
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>>;

    /// Decrypts the ticket `cipher`. Returns the plaintext given to [`encrypt`](Self::encrypt).
    ///
    /// Returns `None` for anything else, which is normal: another server's ticket, an expired
    /// ticket, or a forgery. The input comes directly from an unauthenticated peer.
    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>>;

    /// The asynchronous counterpart of [`encrypt`](Self::encrypt). Return `None` (the default) to
    /// fall back to `encrypt`.
    ///
    /// Called only on connections that the application polls. `plain` contains secrets, so zeroize
    /// copies of it.
    fn encrypt_async(&self, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        let _ = plain;
        None
    }

    /// The asynchronous counterpart of [`decrypt`](Self::decrypt). Return `None` (the default) to
    /// fall back to `decrypt`.
    ///
    /// Called only on connections that the application polls.
    fn decrypt_async(&self, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        let _ = cipher;
        None
    }

    /// False if the methods ending in `_async` always return `None`. True by default, which is
    /// always safe. False may save a server the copy of a ClientHello: see `CommonState::set_async`
    /// of rustls.
    ///
    /// A wrapper returns the value of the wrapped object, or true if it has its own futures. If a
    /// wrapper returns false by mistake, slow calls block the thread.
    fn may_wait(&self) -> bool {
        true
    }
}

/// Returns a ticketer whose keys, created by `generator`, are rotated every six hours and destroyed
/// after twelve, at the next use of the ticketer.
///
/// # Errors
///
/// Returns the errors of [`TicketRotator::new`].
#[cfg(feature = "std")]
pub fn make_rotating_ticketer(
    generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
) -> Result<Arc<dyn ProducesTickets>, Error> {
    const KEY_CHANGE_SECS: u32 = 6 * 60 * 60;
    Ok(Arc::new(TicketRotator::new(KEY_CHANGE_SECS, generator)?))
}

/// Creates an [`AeadTicketer`] with a random key of 32 bytes, which it passes to `new_aead`.
///
/// Call this in the generator for `make_rotating_ticketer`.
///
/// # Errors
///
/// Returns [`GetRandomFailed`] if `random` cannot fill the key and its name.
pub fn make_ticketer<A: Aead + 'static>(
    new_aead: impl FnOnce(AeadKey) -> A,
    random: &'static dyn SecureRandom,
) -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    let mut key_name = [0; KEY_NAME_LEN];
    random.fill(&mut key_name)?;

    with_deep_stack_erased(|| -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
        let mut key = [0; AeadKey::MAX_LEN];
        random.fill(&mut key)?;
        let aead = new_aead(AeadKey::from(key));
        key.zeroize();

        Ok(Box::new(AeadTicketer {
            aead,
            key_name,
            random,
        }))
    })
}

/// Ticket protection with an AEAD whose key never leaves this process.
///
/// ```text
///   ┌───────────────────┬─────────────────┬─────────────────┬───────────────┐
///   │ key name 16 bytes │ nonce, 12 bytes │ ciphertext      │ tag, 16 bytes │
///   └───────────────────┴─────────────────┴─────────────────┴───────────────┘
///     authenticated       random            as long as the plaintext
/// ```
///
/// The key name is random. It shows, without decryption, whether a ticket belongs to another key.
///
/// Nonces are random, so a key should encrypt no more than 2³² tickets (NIST SP 800-38D §8.3). A
/// key that is rotated after six hours reaches this number only at 200 000 tickets a second.
pub struct AeadTicketer<A> {
    aead: A,
    key_name: [u8; KEY_NAME_LEN],
    random: &'static dyn SecureRandom,
}

const KEY_NAME_LEN: usize = 16;

/// The maximum length of a ticket in bytes: `opaque ticket<1..2^16-1>` (RFC 9846 §4.7.1).
const MAX_TICKET_LEN: usize = 0xffff;

const TICKET_LIFETIME_SECS: u32 = 12 * 60 * 60;

impl<A: Aead> ProducesTickets for AeadTicketer<A> {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        TICKET_LIFETIME_SECS
    }

    fn may_wait(&self) -> bool {
        false
    }

    /// Also returns `None` if the ticket would be longer than 65 535 bytes.
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let overhead = KEY_NAME_LEN + NONCE_LEN + TAG_LEN;
        if plain.len() > MAX_TICKET_LEN - overhead {
            return None;
        }

        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;

        let mut ticket = Vec::with_capacity(overhead + plain.len());
        ticket.extend_from_slice(&self.key_name);
        ticket.extend_from_slice(&nonce);
        ticket.extend_from_slice(plain);
        let text = &mut ticket[KEY_NAME_LEN + NONCE_LEN..];
        match self.aead.seal_in_place(Nonce(nonce), &self.key_name, text) {
            Ok(tag) => ticket.extend_from_slice(&tag),
            Err(_) => {
                text.zeroize();
                return None;
            }
        }
        Some(ticket)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        if cipher.len() > MAX_TICKET_LEN {
            return None;
        }
        let (key_name, rest) = cipher.split_first_chunk::<KEY_NAME_LEN>()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        if !bool::from(key_name.ct_eq(&self.key_name)) {
            return None;
        }

        let mut text = sealed.to_vec();
        let plain_len = self
            .aead
            .open_in_place(Nonce(*nonce), &self.key_name, &mut text)
            .ok()?;
        text.truncate(plain_len);
        Some(text)
    }
}

impl<A> fmt::Debug for AeadTicketer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AeadTicketer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::crypto::toy::ToyAead;

    /// Fills with a byte that differs in each call.
    #[derive(Debug)]
    struct Counter(AtomicU8);

    impl SecureRandom for Counter {
        fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
            buf.fill(self.0.fetch_add(1, Ordering::Relaxed));
            Ok(())
        }
    }

    #[derive(Debug)]
    struct Broken;

    impl SecureRandom for Broken {
        fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
            Err(GetRandomFailed)
        }
    }

    static RANDOM: Counter = Counter(AtomicU8::new(1));

    fn ticketer() -> Box<dyn ProducesTickets> {
        make_ticketer(|key| ToyAead(key.as_ref()[0]), &RANDOM).unwrap()
    }

    #[test]
    fn a_ticket_opens_only_with_its_own_key() {
        let ticketer = ticketer();
        assert!(ticketer.enabled());
        assert_eq!(ticketer.lifetime(), 43_200);
        assert_eq!(alloc::format!("{ticketer:?}"), "AeadTicketer { .. }");

        let ticket = ticketer.encrypt(b"session").unwrap();
        assert_eq!(ticket.len(), 16 + 12 + 7 + 16);
        assert_eq!(ticketer.decrypt(&ticket).unwrap(), b"session");
        assert!(self::ticketer().decrypt(&ticket).is_none());
        assert_ne!(ticketer.encrypt(b"session").unwrap(), ticket);
    }

    #[test]
    fn a_changed_or_truncated_ticket_is_rejected() {
        let ticketer = ticketer();
        let ticket = ticketer.encrypt(b"session").unwrap();
        for i in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[i] ^= 1;
            assert!(ticketer.decrypt(&changed).is_none(), "byte {i} changed");
            assert!(
                ticketer.decrypt(&ticket[..i]).is_none(),
                "truncated to {i} bytes"
            );
        }
    }

    #[test]
    fn tickets_longer_than_the_wire_format_allows_are_rejected() {
        let ticketer = ticketer();
        let longest = vec![0; 0xffff - 44];
        let ticket = ticketer.encrypt(&longest).unwrap();
        assert_eq!(ticket.len(), 0xffff);
        assert_eq!(ticketer.decrypt(&ticket).unwrap(), longest);
        assert!(ticketer.encrypt(&[&longest[..], &[0]].concat()).is_none());
        assert!(ticketer.decrypt(&[&ticket[..], &[0]].concat()).is_none());
    }

    #[test]
    fn a_ticketer_requires_randomness() {
        assert!(make_ticketer(|_| ToyAead(1), &Broken).is_err());
    }
}
