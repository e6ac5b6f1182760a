//! Traits and types that choose the server's certificate.

use alloc::borrow::ToOwned;
#[cfg(not(any(feature = "std", feature = "hashbrown")))]
use alloc::collections::BTreeMap as Map;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt::Debug;
#[cfg(feature = "std")]
use std::collections::HashMap as Map;

#[cfg(all(feature = "hashbrown", not(feature = "std")))]
use hashbrown::HashMap as Map;
use pki_types::{DnsName, ServerName};
use rustls_core::operation::BoxFuture;

#[cfg(feature = "x509")]
use crate::certificates::ParsedEndEntity;
use crate::config::resolver::client_hello::ClientHello;
use crate::config::sign::{CertifiedKey, SingleCertAndKey};
use crate::config::webpki::{ParsedCertificate, verify_server_name};
use crate::error::Error;

/// Chooses the certificate to present to a client.
pub trait ResolvesServerCert: Debug + Send + Sync {
    /// Chooses a certificate for the client that sent this `client_hello`.
    ///
    /// The connection fails if this returns `None`.
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>>;

    /// The asynchronous counterpart of [`resolve`](Self::resolve), for example to issue a
    /// certificate when its name is first requested. Return `None` (the default) to fall back to
    /// `resolve`.
    ///
    /// Called only on connections that the application polls. A wrapper that changes the choice of
    /// `resolve` must do the same here.
    fn resolve_async(
        &self,
        client_hello: ClientHello<'_>,
    ) -> Option<BoxFuture<Option<Arc<CertifiedKey>>>> {
        let _ = client_hello;
        None
    }

    /// True if this resolver chooses raw public keys instead of certificates (RFC 7250). False by
    /// default.
    ///
    /// If true, the only element of [`CertifiedKey::cert`] is a DER-encoded `SubjectPublicKeyInfo`.
    /// Clients that do not accept raw public keys are rejected, and so are TLS 1.2 clients.
    fn only_raw_public_keys(&self) -> bool {
        false
    }
}

/// Always resolves to one raw public key (RFC 7250).
#[derive(Clone, Debug)]
pub struct AlwaysResolvesServerRawPublicKeys(Arc<CertifiedKey>);

impl AlwaysResolvesServerRawPublicKeys {
    /// Creates a resolver from a key whose only certificate is its own DER-encoded
    /// `SubjectPublicKeyInfo`, for example from
    /// [`SigningKey::public_key`](crate::sign::SigningKey::public_key).
    pub fn new(certified_key: Arc<CertifiedKey>) -> Self {
        Self(certified_key)
    }
}

impl ResolvesServerCert for AlwaysResolvesServerRawPublicKeys {
    fn resolve(&self, _client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }
}

/// Chooses the certificate by the server name that the client requests.
///
/// Clients that send no name, or one that was not added, are rejected.
#[derive(Debug)]
pub struct ResolvesServerCertUsingSni {
    /// The identities, by server name in lower case.
    by_name: Map<String, NamedIdentity>,
}

/// The key and the certificate for one name.
#[derive(Debug)]
struct NamedIdentity {
    certified_key: Arc<CertifiedKey>,
    #[cfg(feature = "x509")]
    _end_entity: ParsedEndEntity,
}

impl ResolvesServerCertUsingSni {
    /// Creates a resolver without any names, which rejects every client until a name is added.
    pub fn new() -> Self {
        Self {
            by_name: Map::new(),
        }
    }

    /// Adds `ck` for the server `name`. It replaces any earlier key for that name.
    ///
    /// # Errors
    ///
    /// - [`Error::General`] if `name` is not a DNS name;
    /// - [`Error::NoCertificatesPresented`] if `ck` has no certificate;
    /// - [`Error::InvalidCertificate`] if the certificate cannot be parsed, or is not valid for
    ///   `name`.
    pub fn add(&mut self, name: &str, ck: CertifiedKey) -> Result<(), Error> {
        let name = DnsName::try_from(name)
            .map_err(|_| Error::General("Bad DNS name".into()))?
            .to_lowercase_owned();

        let cert = ParsedCertificate::try_from(ck.end_entity_cert()?)?;
        verify_server_name(&cert, &ServerName::DnsName(name.borrow()))?;

        let named = NamedIdentity {
            #[cfg(feature = "x509")]
            _end_entity: ParsedEndEntity::of(&ck.cert),
            certified_key: Arc::new(ck),
        };
        self.by_name.insert(name.as_ref().to_owned(), named);
        Ok(())
    }
}

impl Default for ResolvesServerCertUsingSni {
    fn default() -> Self {
        Self::new()
    }
}

impl ResolvesServerCert for ResolvesServerCertUsingSni {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = self.by_name.get(client_hello.server_name()?)?;
        Some(named.certified_key.clone())
    }
}

impl ResolvesServerCert for SingleCertAndKey {
    fn resolve(&self, _client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certified_key().clone())
    }
}

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
