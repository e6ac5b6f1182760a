//! How a client chooses the certificate that it authenticates with.

use alloc::sync::Arc;
use core::fmt::Debug;

use crate::enums::SignatureScheme;
use crate::sign::CertifiedKey;

/// Chooses a certificate when a server asks for one.
pub trait ResolvesClientCert: Debug + Send + Sync {
    /// The resolver that a handshake which starts now goes by, for one whose certificates are replaced while it is in
    /// use. `None`, which is what this returns unless overridden, means this resolver itself.
    ///
    /// A handshake asks once, before anything else. What it gets answers all other questions to the end of that
    /// handshake, and is itself not asked for another.
    ///
    /// Sessions are resumed only by handshakes that get the same object: to the server, a resumed session is of
    /// the certificate that it began with. So return clones of one `Arc` while nothing changes, and another
    /// object once anything does.
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        None
    }

    /// Chooses a certificate that the server will accept.
    ///
    /// `root_hint_subjects` are the names of the authorities that the server names, each a DER-encoded
    /// `Name`; none when any will do. `sigschemes` are the schemes it can verify, most preferred first.
    ///
    /// `None` sends no certificate. The server then decides whether to go on.
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>>;

    /// True when this chooses raw public keys instead of certificates (RFC 7250). False unless overridden.
    ///
    /// The one element of [`CertifiedKey::cert`] is then a DER-encoded `SubjectPublicKeyInfo`, and servers
    /// that ask for a certificate and do not take raw public keys are refused.
    fn only_raw_public_keys(&self) -> bool {
        false
    }

    /// False when [`resolve`](Self::resolve) never has anything to offer.
    fn has_certs(&self) -> bool;
}

/// Resolves to one raw public key (RFC 7250), whoever asks.
#[derive(Clone, Debug)]
pub struct AlwaysResolvesClientRawPublicKeys(Arc<CertifiedKey>);

impl AlwaysResolvesClientRawPublicKeys {
    /// Takes a key whose only certificate is a DER-encoded `SubjectPublicKeyInfo`: its own, as from
    /// [`SigningKey::public_key`](crate::sign::SigningKey::public_key).
    pub fn new(certified_key: Arc<CertifiedKey>) -> Self {
        Self(certified_key)
    }
}

impl ResolvesClientCert for AlwaysResolvesClientRawPublicKeys {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }

    /// True.
    fn has_certs(&self) -> bool {
        true
    }
}

/// The resolver of a client that has no certificate.
#[derive(Debug)]
pub(crate) struct NoClientCert;

impl ResolvesClientCert for NoClientCert {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}
