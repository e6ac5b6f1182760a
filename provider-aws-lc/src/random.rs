//! The library's source of randomness.

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use rustls_core::crypto::{GetRandomFailed, SecureRandom};

#[derive(Debug)]
pub(crate) struct Random;

impl SecureRandom for Random {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        SystemRandom::new().fill(buf).map_err(|_| GetRandomFailed)
    }

    fn fips(&self) -> bool {
        crate::is_fips_module()
    }
}
