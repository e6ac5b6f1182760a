//! How a client chooses the certificate that it authenticates with.

use alloc::sync::Arc;
use core::fmt::Debug;

use crate::enums::SignatureScheme;
use crate::sign::CertifiedKey;

/// Chooses a certificate when a server asks for one.
pub trait ResolvesClientCert: Debug + Send + Sync {
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
    /// Raw public keys are not supported yet: a client with such a resolver makes no connections.
    fn only_raw_public_keys(&self) -> bool {
        false
    }

    /// False when [`resolve`](Self::resolve) never has anything to offer.
    fn has_certs(&self) -> bool;
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
