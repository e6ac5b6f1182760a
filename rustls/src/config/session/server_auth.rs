//! Binds a server's sessions to the certificate that the server authenticated with.
//!
//! A resumed session shows the client no certificate. Servers of different names may share a
//! ticketer or a storage, and a network attacker may redirect a client from one server to the
//! other. So a session is resumed only if the server's current certificate is the same as before,
//! or valid for the name that the client requests.

use alloc::sync::Arc;

use pki_types::{DnsName, ServerName};
use rustls_core::provider::CryptoProvider;

use super::digests::{Digest, SessionDigests};
use crate::config::sign::CertifiedKey;
use crate::config::webpki::{ParsedCertificate, verify_server_name};

/// The hash of a server's end-entity certificate, or of its raw public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerAuthId(pub(crate) Digest);

/// The certificate that a server authenticates with in one handshake.
pub(crate) struct ServerAuth<'a> {
    certified_key: &'a CertifiedKey,
    pub(crate) id: ServerAuthId,
}

impl<'a> ServerAuth<'a> {
    pub(crate) fn of(
        certified_key: &'a Arc<CertifiedKey>,
        digests: &SessionDigests,
        provider: &CryptoProvider,
    ) -> Self {
        Self {
            certified_key,
            id: ServerAuthId(digests.of_certificate(certified_key, provider)),
        }
    }

    /// True if a session created under the certificate `before` may be resumed by a client that
    /// asks for `server_name`.
    ///
    /// A renewed certificate for the same name does not invalidate sessions. If the client sends no
    /// name, or the server uses a raw public key, the certificate or key must be the same as
    /// before.
    pub(crate) fn allows_resumption(
        &self,
        before: ServerAuthId,
        server_name: Option<&DnsName<'_>>,
    ) -> bool {
        self.id == before || server_name.is_some_and(|name| self.is_valid_for(name))
    }

    fn is_valid_for(&self, name: &DnsName<'_>) -> bool {
        let Some(end_entity) = self.certified_key.cert.first() else {
            return false;
        };
        // a raw public key does not parse
        ParsedCertificate::try_from(end_entity).is_ok_and(|certificate| {
            verify_server_name(&certificate, &ServerName::DnsName(name.borrow())).is_ok()
        })
    }
}
