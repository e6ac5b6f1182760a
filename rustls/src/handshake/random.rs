//! Fixed-length random bytes from the provider.

use rustls_core::provider::CryptoProvider;

use crate::error::Error;

/// Draws `N` random bytes in one call to the generator.
///
/// # Errors
///
/// Returns [`Error::FailedToGetRandomBytes`] if the generator fails.
pub(crate) fn random_bytes<const N: usize>(provider: &CryptoProvider) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    provider.secure_random.fill(&mut bytes)?;
    Ok(bytes)
}
