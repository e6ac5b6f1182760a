//! The library's source of randomness.

use core::fmt;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use rustls_core::crypto::{GetRandomFailed, SecureRandom};

/// Randomness from aws-lc-rs.
pub struct Random;

impl fmt::Debug for Random {
    /// Prints the name of the library, so that programs can tell providers apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsLcRs")
    }
}

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        SystemRandom::new().fill(buf).map_err(|_| GetRandomFailed)
    }

    fn fips(&self) -> bool {
        crate::is_fips_module()
    }
}
