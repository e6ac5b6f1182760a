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
    /// [`Error::General`] if `hash` is `None` or not SHA-256.
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
        let fingerprint = <[u8; 32]>::try_from(hash.hash(bytes).as_ref())
            .ok()
            // kept for users of all providers
            .filter(|_| is_sha256(hash))
            .ok_or_else(|| {
                Error::General("the crypto provider's SHA-256 returns wrong results".into())
            })?;
        Ok(self.0.get_or_init(|| fingerprint))
    }
}

/// True if `hash` is SHA-256, and not a stub.
pub(crate) fn is_sha256(hash: &dyn Hash) -> bool {
    // FIPS 180, two blocks
    let mut context = hash.start();
    context.update(b"abcdbcdecdefdefgefghfghighijhijk");
    context.update(b"ijkljklmklmnlmnomnopnopq");
    context.finish().as_ref()
        == b"\x24\x8d\x6a\x61\xd2\x06\x38\xb8\xe5\xc0\x26\x93\x0c\x3e\x60\x39\
             \xa3\x3c\xe4\x59\x64\xff\x21\x67\xf6\xec\xed\xd4\x19\xdb\x06\xc1"
}

/// Returns SHA-256 from the cipher suites of `provider`.
pub(crate) fn sha256(provider: &CryptoProvider) -> Option<&'static dyn Hash> {
    let suites = provider.cipher_suites.iter();
    suites
        .map(|suite| suite.common().hash_provider)
        .find(|hash| hash.algorithm() == HashAlgorithm::SHA256)
}
