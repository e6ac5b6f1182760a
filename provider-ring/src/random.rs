//! The library's source of randomness.

use core::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};
use rustls_core::crypto::{GetRandomFailed, SecureRandom};

/// The operating system's randomness.
pub struct Random;

impl fmt::Debug for Random {
    /// Prints the name of the library, so that programs can tell providers apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ring")
    }
}

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        SystemRandom::new().fill(buf).map_err(|_| GetRandomFailed)
    }
}
