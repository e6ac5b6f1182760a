//! Ticket protection with key rotation.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use core::{cmp, fmt};

#[cfg(feature = "std")]
use pki_types::UnixTime;

use super::ProducesTickets;
use crate::crypto::GetRandomFailed;
use crate::error::Error;
#[cfg(not(feature = "std"))]
use crate::lock::MakeMutex;
use crate::lock::Mutex;
use crate::operation::BoxFuture;
#[cfg(not(feature = "std"))]
use crate::time_provider::TimeProvider;

/// A set of keys: the newest key creates tickets, and the previous one still opens its own.
///
/// ```text
///   seconds since its creation  0 ········ lifetime ········ 2 × lifetime
///                               │ newest    │ older           │ destroyed
///   creates new tickets         │ yes       │ no              │
///   opens its tickets           │ yes       │ yes             │ no
/// ```
///
/// So a ticket is valid for at least `lifetime` and at most twice that. Keys are rotated and
/// destroyed when the next ticket is encrypted or decrypted.
struct Rotation {
    generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
    lifetime: u32,
    keys: Mutex<KeyRing>,
    /// True if any of the keys created so far may return a future.
    may_wait: AtomicBool,
}

/// The newest key, then the previous one. There is never a third: the next key is created more than
/// `lifetime` seconds after the newest. The previous one has then reached twice that age, unless
/// the clock was set back.
type KeyRing = [Option<TicketKey>; 2];

#[derive(Clone)]
struct TicketKey {
    tickets: Arc<Boxed>,
    /// The creation time in seconds since 1970. If the clock has been set back, the earliest time
    /// seen since then.
    made: u64,
}

/// A key in its original box: moving it out would leave a copy behind.
struct Boxed(Box<dyn ProducesTickets>);

impl TicketKey {
    /// Returns the age in seconds. If the clock was set back so that the key seems to be from the
    /// future, its age restarts at 0.
    fn age(&mut self, now: u64) -> u64 {
        self.made = self.made.min(now);
        now - self.made
    }
}

impl Rotation {
    /// Returns twice `lifetime`, the maximum time for which a ticket is accepted.
    fn ticket_lifetime(&self) -> u32 {
        self.lifetime.saturating_mul(2)
    }

    fn encrypt(&self, now: u64, plain: &[u8]) -> Option<Vec<u8>> {
        let [newest, _] = self.keys(now).ok()?;
        newest?.tickets.0.encrypt(plain)
    }

    fn decrypt(&self, now: u64, cipher: &[u8]) -> Option<Vec<u8>> {
        let keys = self.keys(now).ok()?;
        keys.iter()
            .flatten()
            .find_map(|key| key.tickets.0.decrypt(cipher))
    }

    fn may_wait(&self) -> bool {
        self.may_wait.load(Ordering::Relaxed)
    }

    /// Calls the newest key's `encrypt_async`.
    fn encrypt_async(&self, now: u64, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        let [newest, _] = self.keys(now).ok()?;
        newest?.tickets.0.encrypt_async(plain)
    }

    /// Decrypts like [`Self::decrypt`], but asynchronously if one of the keys is asynchronous. The
    /// newest key's result comes first, even if that key is synchronous and the other key's future
    /// has already been created.
    fn decrypt_async(&self, now: u64, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        let keys = self.keys(now).ok()?;
        let (first, started) = keys.iter().enumerate().find_map(|(index, key)| {
            let started = key.as_ref()?.tickets.0.decrypt_async(cipher)?;
            Some((index, started))
        })?;
        let cipher = cipher.to_vec();
        Some(Box::pin(async move {
            let mut started = Some(started);
            for (index, key) in keys.iter().enumerate() {
                let Some(key) = key else {
                    continue;
                };
                let tickets = &key.tickets.0;
                let decrypted = match index.cmp(&first) {
                    cmp::Ordering::Less => None,
                    cmp::Ordering::Equal => started.take(),
                    cmp::Ordering::Greater => tickets.decrypt_async(&cipher),
                };
                let plain = match decrypted {
                    Some(decrypted) => decrypted.await,
                    None => tickets.decrypt(&cipher),
                };
                if plain.is_some() {
                    return plain;
                }
            }
            None
        }))
    }

    /// Returns the keys to use at `now`. First destroys expired keys, and creates a key if one is
    /// due.
    ///
    /// Releases the lock before returning them, so that no ticket waits for the encryption of
    /// another.
    fn keys(&self, now: u64) -> Result<KeyRing, GetRandomFailed> {
        let lifetime = u64::from(self.lifetime);
        // each change of the ring is atomic, so a poisoned lock does no harm
        let mut keys = self.keys.lock_even_poisoned().ok_or(GetRandomFailed)?;
        let keys: &mut KeyRing = &mut keys;
        for key in keys.iter_mut() {
            key.take_if(|key| key.age(now) > 2 * lifetime);
        }
        let newest = keys[0].as_mut();
        if newest.is_none_or(|key| key.age(now) > lifetime) {
            let tickets = (self.generator)()?;
            if tickets.may_wait() {
                self.may_wait.store(true, Ordering::Relaxed);
            }
            let key = TicketKey {
                tickets: Arc::new(Boxed(tickets)),
                made: now,
            };
            *keys = [Some(key), keys[0].take()];
        }
        Ok(keys.clone())
    }
}

/// Ticket protection with key rotation and two live keys.
///
/// The newest key creates tickets for `lifetime` seconds and opens them for twice that time, after
/// which it is destroyed. Keys are rotated and destroyed when the next ticket is encrypted or
/// decrypted, so without calls, no key is destroyed. An asynchronous decryption keeps its keys
/// until it ends.
#[cfg(feature = "std")]
pub struct TicketRotator(Rotation);

#[cfg(feature = "std")]
impl TicketRotator {
    /// Creates the first key with `generator`.
    ///
    /// `lifetime` is the number of seconds for which a key creates tickets.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetRandomBytes`] if `generator` fails. If `generator` fails later,
    /// no tickets are created or opened until it succeeds.
    pub fn new(
        lifetime: u32,
        generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
    ) -> Result<Self, Error> {
        let rotation = Rotation {
            generator,
            lifetime,
            keys: Mutex::new([None, None]),
            may_wait: AtomicBool::new(false),
        };
        rotation.keys(now())?;
        Ok(Self(rotation))
    }
}

#[cfg(feature = "std")]
fn now() -> u64 {
    UnixTime::now().as_secs()
}

#[cfg(feature = "std")]
impl ProducesTickets for TicketRotator {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.0.ticket_lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(now(), plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(now(), cipher)
    }

    fn encrypt_async(&self, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.0.encrypt_async(now(), plain)
    }

    fn decrypt_async(&self, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.0.decrypt_async(now(), cipher)
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait()
    }
}

#[cfg(feature = "std")]
impl fmt::Debug for TicketRotator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketRotator").finish_non_exhaustive()
    }
}

/// The old name of [`TicketRotator`], which behaves the same.
#[cfg(feature = "std")]
pub struct TicketSwitcher(TicketRotator);

/// Ticket protection with key rotation and two live keys, using the application's clock and lock.
///
/// The newest key creates tickets for `lifetime` seconds and opens them for twice that time, after
/// which it is destroyed. Keys are rotated and destroyed when the next ticket is encrypted or
/// decrypted, so without calls, no key is destroyed.
#[cfg(not(feature = "std"))]
pub struct TicketSwitcher {
    rotation: Rotation,
    clock: &'static dyn TimeProvider,
}

impl TicketSwitcher {
    /// See [`TicketRotator::new`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`TicketRotator::new`].
    #[cfg(feature = "std")]
    #[deprecated(note = "use `TicketRotator`")]
    pub fn new(
        lifetime: u32,
        generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
    ) -> Result<Self, Error> {
        TicketRotator::new(lifetime, generator).map(Self)
    }

    /// Creates the first key with `generator`.
    ///
    /// `lifetime` is the number of seconds for which a key creates tickets, measured by
    /// `time_provider`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::FailedToGetCurrentTime`] if the clock does not return a time, or
    /// [`Error::FailedToGetRandomBytes`] if `generator` or the lock fails. If any of these fails
    /// later, no tickets are created or opened until it succeeds.
    #[cfg(not(feature = "std"))]
    pub fn new<M: MakeMutex>(
        lifetime: u32,
        generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
        time_provider: &'static dyn TimeProvider,
    ) -> Result<Self, Error> {
        let switcher = Self {
            rotation: Rotation {
                generator,
                lifetime,
                keys: Mutex::new::<M>([None, None]),
                may_wait: AtomicBool::new(false),
            },
            clock: time_provider,
        };
        let now = switcher.now().ok_or(Error::FailedToGetCurrentTime)?;
        switcher.rotation.keys(now)?;
        Ok(switcher)
    }

    #[cfg(not(feature = "std"))]
    fn now(&self) -> Option<u64> {
        Some(self.clock.current_time()?.as_secs())
    }
}

#[cfg(feature = "std")]
impl ProducesTickets for TicketSwitcher {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }

    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }

    fn encrypt_async(&self, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.0.encrypt_async(plain)
    }

    fn decrypt_async(&self, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.0.decrypt_async(cipher)
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait()
    }
}

#[cfg(not(feature = "std"))]
impl ProducesTickets for TicketSwitcher {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.rotation.ticket_lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.rotation.encrypt(self.now()?, plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.rotation.decrypt(self.now()?, cipher)
    }

    fn encrypt_async(&self, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.rotation.encrypt_async(self.now()?, plain)
    }

    fn decrypt_async(&self, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
        self.rotation.decrypt_async(self.now()?, cipher)
    }

    fn may_wait(&self) -> bool {
        self.rotation.may_wait()
    }
}

impl fmt::Debug for TicketSwitcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketSwitcher").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::cell::{Cell, RefCell};
    use core::task::{Context, Poll, Waker};
    use std::thread_local;

    use super::*;

    thread_local! {
        static MADE: Cell<u8> = const { Cell::new(0) };
        static FAIL: Cell<bool> = const { Cell::new(false) };
    }

    /// The n-th producer of a test. Its tickets have the form n ‖ plaintext.
    #[derive(Debug)]
    struct Numbered(u8);

    impl Numbered {
        fn generate() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
            if FAIL.get() {
                return Err(GetRandomFailed);
            }
            MADE.set(MADE.get() + 1);
            Ok(Box::new(Self(MADE.get())))
        }
    }

    impl ProducesTickets for Numbered {
        fn enabled(&self) -> bool {
            true
        }

        fn lifetime(&self) -> u32 {
            0
        }

        fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
            Some([&[self.0], plain].concat())
        }

        fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
            let (number, plain) = cipher.split_first()?;
            (*number == self.0).then(|| plain.to_vec())
        }
    }

    /// Behaves like [`Numbered`], but asynchronously if its number is in `SLOW`. Logs its calls.
    #[derive(Debug)]
    struct Slow(Numbered);

    thread_local! {
        static SLOW: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        static LOG: RefCell<Vec<(u8, &'static str)>> = const { RefCell::new(Vec::new()) };
    }

    impl Slow {
        fn generate() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
            MADE.set(MADE.get() + 1);
            Ok(Box::new(Self(Numbered(MADE.get()))))
        }

        fn log(&self, call: &'static str) {
            LOG.with_borrow_mut(|log| log.push((self.0.0, call)));
        }

        fn start(
            &self,
            call: &'static str,
            result: Option<Vec<u8>>,
        ) -> Option<BoxFuture<Option<Vec<u8>>>> {
            let is_slow = SLOW.with_borrow(|slow| slow.contains(&self.0.0));
            is_slow.then(|| -> BoxFuture<_> {
                self.log(call);
                Box::pin(async { result })
            })
        }
    }

    impl ProducesTickets for Slow {
        fn enabled(&self) -> bool {
            true
        }

        fn lifetime(&self) -> u32 {
            0
        }

        fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
            self.log("encrypt");
            self.0.encrypt(plain)
        }

        fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
            self.log("decrypt");
            self.0.decrypt(cipher)
        }

        fn encrypt_async(&self, plain: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
            self.start("encrypt_async", self.0.encrypt(plain))
        }

        fn decrypt_async(&self, cipher: &[u8]) -> Option<BoxFuture<Option<Vec<u8>>>> {
            self.start("decrypt_async", self.0.decrypt(cipher))
        }

        fn may_wait(&self) -> bool {
            SLOW.with_borrow(|slow| slow.contains(&self.0.0))
        }
    }

    /// Polls a future that is ready.
    fn poll_ready(future: Option<BoxFuture<Option<Vec<u8>>>>) -> Option<Vec<u8>> {
        let polled = future
            .expect("it takes time")
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("it is ready"),
        }
    }

    #[test]
    fn asynchronous_methods_of_the_keys_are_called() {
        let rotator = TicketRotator::new(10, Slow::generate).unwrap();
        #[expect(deprecated, reason = "the deprecated type is tested too")]
        let switcher = TicketSwitcher::new(10, Slow::generate).unwrap();
        for (number, it) in [(1, &rotator as &dyn ProducesTickets), (2, &switcher)] {
            SLOW.set(Vec::new());
            assert!(it.encrypt_async(b"a").is_none());
            assert!(it.decrypt_async(&[number]).is_none());
            assert!(LOG.take().is_empty());
            SLOW.set([number].into());
            let ticket = poll_ready(it.encrypt_async(b"a")).unwrap();
            assert_eq!(ticket, [number, b'a']);
            assert_eq!(poll_ready(it.decrypt_async(&ticket)).unwrap(), b"a");
            let expected = [(number, "encrypt_async"), (number, "decrypt_async")];
            assert_eq!(LOG.take(), expected);
        }
    }

    #[test]
    fn asynchronous_keys_are_tried_in_order() {
        let rotator = rotator_of(Slow::generate);
        let now = 1011;
        // key 2 is then the newest
        rotator.keys(now).unwrap();
        for (slow, ticket, expected) in [
            (&[1, 2][..], 2, &[(2, "decrypt_async")][..]),
            (
                &[1, 2][..],
                1,
                &[(2, "decrypt_async"), (1, "decrypt_async")][..],
            ),
            (
                &[1, 2][..],
                3,
                &[(2, "decrypt_async"), (1, "decrypt_async")][..],
            ),
            (&[2][..], 2, &[(2, "decrypt_async")][..]),
            (&[2][..], 1, &[(2, "decrypt_async"), (1, "decrypt")][..]),
            (&[1][..], 2, &[(1, "decrypt_async"), (2, "decrypt")][..]),
            (&[1][..], 1, &[(1, "decrypt_async"), (2, "decrypt")][..]),
        ] {
            SLOW.set(slow.to_vec());
            let plain = poll_ready(rotator.decrypt_async(now, &[ticket, 7]));
            let context = (slow, ticket);
            assert_eq!(plain, (ticket < 3).then(|| [7].into()), "{context:?}");
            assert_eq!(LOG.take(), expected, "{context:?}");
        }
        // only the newest key creates tickets
        SLOW.set([1].into());
        assert!(rotator.encrypt_async(now, b"a").is_none());
        SLOW.set([2].into());
        assert_eq!(
            poll_ready(rotator.encrypt_async(now, b"a")).unwrap(),
            b"\x02a"
        );
    }

    #[test]
    fn a_rotator_may_wait_if_any_of_its_keys_may() {
        SLOW.set([2].into());
        let rotator = rotator_of(Slow::generate);
        for (now, may_wait) in [(1000, false), (1011, true), (1022, true)] {
            rotator.keys(now).unwrap();
            assert_eq!(rotator.may_wait(), may_wait, "{now}");
        }
        SLOW.set([4, 5].into());
        let rotator = TicketRotator::new(10, Slow::generate).unwrap();
        assert!(rotator.may_wait());
        #[expect(deprecated, reason = "the deprecated type is tested too")]
        let switcher = TicketSwitcher::new(10, Slow::generate).unwrap();
        assert!(switcher.may_wait());
    }

    fn rotator() -> Rotation {
        rotator_of(Numbered::generate)
    }

    fn rotator_of(
        generator: fn() -> Result<Box<dyn ProducesTickets>, GetRandomFailed>,
    ) -> Rotation {
        let rotator = Rotation {
            generator,
            lifetime: 10,
            keys: Mutex::new([None, None]),
            may_wait: AtomicBool::new(false),
        };
        rotator.keys(1000).unwrap();
        rotator
    }

    #[test]
    fn a_new_key_creates_tickets_and_the_previous_key_opens_its_own() {
        let rotator = rotator();
        assert_eq!(rotator.encrypt(1010, b"a").unwrap(), b"\x01a");
        assert_eq!(rotator.encrypt(1011, b"b").unwrap(), b"\x02b");
        assert_eq!(rotator.decrypt(1011, b"\x01a").unwrap(), b"a");
        assert_eq!(rotator.decrypt(1011, b"\x02b").unwrap(), b"b");
        assert!(rotator.decrypt(1011, b"\x03c").is_none());
    }

    #[test]
    fn a_ticket_is_rejected_after_twice_the_lifetime() {
        let rotator = rotator();
        let changed_late = 1019;
        assert!(rotator.decrypt(changed_late, b"\x01a").is_some());
        assert!(rotator.decrypt(1020, b"\x01a").is_some());
        assert!(rotator.decrypt(1021, b"\x01a").is_none());
        assert_eq!(MADE.get(), 2);
    }

    #[test]
    fn keys_that_expired_in_a_pause_are_destroyed() {
        let rotator = rotator();
        assert!(rotator.decrypt(1021, b"\x01a").is_none());
        assert!(rotator.keys.lock().unwrap()[1].is_none());
    }

    #[test]
    fn a_failing_generator_stops_tickets_until_it_succeeds() {
        let rotator = rotator();
        FAIL.set(true);
        assert!(rotator.encrypt(1010, b"a").is_some());
        assert!(rotator.encrypt(1011, b"a").is_none());
        assert!(rotator.decrypt(1011, b"\x01a").is_none());
        assert!(matches!(
            TicketRotator::new(10, Numbered::generate),
            Err(Error::FailedToGetRandomBytes)
        ));
        FAIL.set(false);
        assert_eq!(rotator.decrypt(1011, b"\x01a").unwrap(), b"a");
        assert_eq!(rotator.encrypt(1011, b"a").unwrap(), b"\x02a");
    }

    #[test]
    fn a_clock_that_is_set_back_changes_nothing() {
        let rotator = rotator();
        assert_eq!(rotator.encrypt(5, b"a").unwrap(), b"\x01a");
        assert_eq!(rotator.decrypt(5, b"\x01a").unwrap(), b"a");
    }

    #[test]
    fn a_key_from_the_future_lives_as_long_as_others() {
        let rotator = rotator();
        assert!(rotator.decrypt(1011, b"\x01a").is_some());
        assert!(rotator.decrypt(5, b"\x01a").is_some());
        assert_eq!(rotator.encrypt(15, b"a").unwrap(), b"\x02a");
        assert_eq!(rotator.encrypt(16, b"a").unwrap(), b"\x03a");
        assert!(rotator.decrypt(25, b"\x02a").is_some());
        for number in [b"\x01a", b"\x02a"] {
            assert!(rotator.decrypt(26, number).is_none());
        }
    }

    #[test]
    #[expect(deprecated, reason = "the deprecated type is tested too")]
    fn both_rotators_work_with_the_real_clock() {
        let rotator = TicketRotator::new(u32::MAX, Numbered::generate).unwrap();
        let switcher = TicketSwitcher::new(10, Numbered::generate).unwrap();
        assert_eq!((rotator.lifetime(), switcher.lifetime()), (u32::MAX, 20));
        for it in [&rotator as &dyn ProducesTickets, &switcher] {
            assert!(it.enabled());
            assert_eq!(it.decrypt(&it.encrypt(b"a").unwrap()).unwrap(), b"a");
        }
        assert_eq!(
            std::format!("{rotator:?} {switcher:?}"),
            "TicketRotator { .. } TicketSwitcher { .. }"
        );
    }
}
