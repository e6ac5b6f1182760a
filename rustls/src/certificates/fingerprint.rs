//! The SHA-256 of a peer's credentials, computed once.

use rustls_core::crypto::hash::{Hash, HashAlgorithm};
use rustls_core::provider::CryptoProvider;

use super::once::Once;
use crate::error::Error;

/// The SHA-256 of immutable bytes.
#[derive(Default)]
pub(super) struct Fingerprint(Once<[u8; 32]>);

impl Fingerprint {
    /// Returns the SHA-256 of `bytes`, computed by `hash` on the first call.
    ///
    /// # Errors
    ///
    /// [`Error::General`] if `hash` is `None`.
    pub(super) fn of(
        &self,
        bytes: &[u8],
        hash: impl FnOnce() -> Option<&'static dyn Hash>,
    ) -> Result<&[u8; 32], Error> {
        if let Some(fingerprint) = self.0.get() {
            return Ok(fingerprint);
        }
        let hash = hash().ok_or_else(|| {
            Error::General("no cipher suite of the crypto provider uses SHA-256".into())
        })?;
        // outside the cell: other threads must not wait for foreign code
        let fingerprint = <[u8; 32]>::try_from(hash.hash(bytes).as_ref()).map_err(|_| {
            Error::General("the crypto provider's SHA-256 does not return 32 bytes".into())
        })?;
        Ok(self.0.get_or_init(|| fingerprint))
    }
}

/// Returns SHA-256 from the cipher suites of `provider`.
pub(crate) fn sha256(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    let suites = provider.cipher_suites.iter();
    suites
        .map(|suite| suite.common().hash_provider)
        .find(|hash| hash.algorithm() == HashAlgorithm::SHA256)
}
