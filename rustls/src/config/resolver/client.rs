//! Traits and types that choose the client's certificate.

use alloc::sync::Arc;
use core::fmt::Debug;

use rustls_core::operation::BoxFuture;

use crate::config::sign::{CertifiedKey, SingleCertAndKey};
use crate::enums::SignatureScheme;

/// Chooses a certificate when a server asks for one.
pub trait ResolvesClientCert: Debug + Send + Sync {
    /// Returns the resolver to use for a handshake that starts now. Implement this if certificates
    /// are replaced while the resolver is in use. The default, `None`, selects this resolver
    /// itself.
    ///
    /// Each handshake calls this once, before any other method, and uses the returned resolver
    /// until the handshake ends. The method is not called on the returned resolver.
    ///
    /// A session is resumed only by handshakes that get the same object, because the server still
    /// associates a resumed session with the original certificate. So return clones of one `Arc`
    /// while nothing changes, and a new object once anything has changed.
    fn current_resolver(&self) -> Option<Arc<dyn ResolvesClientCert>> {
        None
    }

    /// Chooses a certificate that the server will accept.
    ///
    /// `root_hint_subjects` are the authorities that the server names, each a DER-encoded `Name`;
    /// empty if any authority is acceptable. `sigschemes` are the schemes that the server can
    /// verify, most preferred first.
    ///
    /// If this returns `None`, the client sends no certificate. The server then decides whether to
    /// continue.
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>>;

    /// The asynchronous counterpart of [`resolve`](Self::resolve), for example to call another
    /// service. Return `None` (the default) to fall back to `resolve`.
    ///
    /// Called only on connections that the application polls. A wrapper that changes the choice of
    /// `resolve` must do the same here.
    fn resolve_async(
        &self,
        root_hint_subjects: &[&[u8]],
        sigschemes: &[SignatureScheme],
    ) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
        let _ = (root_hint_subjects, sigschemes);
        None
    }

    /// True if this resolver chooses raw public keys instead of certificates (RFC 7250). False by
    /// default.
    ///
    /// If true, the only element of [`CertifiedKey::cert`] is a DER-encoded `SubjectPublicKeyInfo`.
    /// Servers that ask for a certificate but do not accept raw public keys are rejected, and so
    /// are all TLS 1.2 servers.
    fn only_raw_public_keys(&self) -> bool {
        false
    }

    /// False if [`resolve`](Self::resolve) always returns `None`. A TLS 1.2 client then does not
    /// keep the messages of the handshake, which its signature would cover.
    fn has_certs(&self) -> bool;
}

/// Always resolves to one raw public key (RFC 7250).
#[derive(Clone, Debug)]
pub struct AlwaysResolvesClientRawPublicKeys(Arc<CertifiedKey>);

impl AlwaysResolvesClientRawPublicKeys {
    /// Creates a resolver from a key whose only certificate is its own DER-encoded
    /// `SubjectPublicKeyInfo`, for example from
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

    /// Always true.
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

impl ResolvesClientCert for SingleCertAndKey {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        Some(self.certified_key().clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
