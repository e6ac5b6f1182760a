//! The clock and the locks that an application without the standard library supplies. Here both use
//! the standard library, because the tests have it.

use std::ops::DerefMut;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustls::lock::{Lock, MakeMutex, MutexGuard, Poisoned};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// The clock.
#[derive(Debug)]
pub struct Clock;

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Some(UnixTime::since_unix_epoch(since.unwrap_or(Duration::ZERO)))
    }
}

/// Creates locks.
pub struct Locks;

impl MakeMutex for Locks {
    fn make_mutex<T: Send + 'static>(value: T) -> Arc<dyn Lock<T>> {
        Arc::new(TheirLock(Mutex::new(value)))
    }
}

struct TheirLock<T>(Mutex<T>);

impl<T: Send> Lock<T> for TheirLock<T> {
    fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned> {
        match self.0.lock() {
            Ok(guard) => Ok(Box::new(guard) as Box<dyn DerefMut<Target = T> + '_>),
            Err(_) => Err(Poisoned),
        }
    }
}

impl<T> std::fmt::Debug for TheirLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TheirLock")
    }
}

/// Creates locks that can never be acquired.
pub struct Broken;

impl MakeMutex for Broken {
    fn make_mutex<T: Send + 'static>(_: T) -> Arc<dyn Lock<T>> {
        Arc::new(BrokenLock)
    }
}

#[derive(Debug)]
struct BrokenLock;

impl<T> Lock<T> for BrokenLock {
    fn lock(&self) -> Result<MutexGuard<'_, T>, Poisoned> {
        Err(Poisoned)
    }
}
