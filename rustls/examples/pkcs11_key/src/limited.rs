//! A time limit for signatures.

use std::time::Duration;

use rustls::operation::BoxFuture;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use tokio::time::timeout;

/// A private key whose signatures fail if they take too long. The client then gets an alert.
///
/// A call of the module itself cannot be ended. So its thread may still wait for it.
#[derive(Debug)]
pub(crate) struct Limited<K> {
    key: K,
    patience: Duration,
}

impl<K: SigningKey> Limited<K> {
    pub(crate) fn new(key: K, patience: Duration) -> Self {
        Self { key, patience }
    }
}

impl<K: SigningKey> SigningKey for Limited<K> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(LimitedSigner {
            signer: self.key.choose_scheme(offered)?,
            patience: self.patience,
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.key.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}

/// The signer of a [`Limited`] key.
#[derive(Debug)]
struct LimitedSigner {
    signer: Box<dyn Signer>,
    patience: Duration,
}

impl Signer for LimitedSigner {
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let (signature, patience) = (self.signer.sign_async(message)?, self.patience);
        Some(Box::pin(async move {
            let late = |_| Err(Error::General("no signature in time".into()));
            timeout(patience, signature).await.unwrap_or_else(late)
        }))
    }

    /// Signs without a limit, on connections without `set_async`.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.signer.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        self.signer.scheme()
    }
}
