//! How a server chooses the certificate that it authenticates with.

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

#[cfg(feature = "x509")]
use crate::certificates::Kept;
use crate::error::Error;
use crate::server::ClientHello;
use crate::sign::CertifiedKey;
use crate::webpki::{ParsedCertificate, verify_server_name};

/// Chooses the certificate that a client is answered with.
pub trait ResolvesServerCert: Debug + Send + Sync {
    /// Chooses a certificate for the client with this `client_hello`.
    ///
    /// `None` ends the connection.
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>>;

    /// True when this chooses raw public keys instead of certificates (RFC 7250). False unless overridden.
    ///
    /// The one element of [`CertifiedKey::cert`] is then a DER-encoded `SubjectPublicKeyInfo`, and clients
    /// that do not take raw public keys are refused.
    fn only_raw_public_keys(&self) -> bool {
        false
    }
}

/// Resolves to one raw public key (RFC 7250), whoever asks.
#[derive(Clone, Debug)]
pub struct AlwaysResolvesServerRawPublicKeys(Arc<CertifiedKey>);

impl AlwaysResolvesServerRawPublicKeys {
    /// Takes a key whose only certificate is a DER-encoded `SubjectPublicKeyInfo`: its own, as from
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

/// Chooses by the name that the client wants to reach.
///
/// A client that names none, or one that was not added, gets no certificate and no connection.
#[derive(Debug)]
pub struct ResolvesServerCertUsingSni {
    /// By names in lower case.
    by_name: Map<String, Named>,
}

/// What the clients of one name are answered with.
#[derive(Debug)]
struct Named {
    certified_key: Arc<CertifiedKey>,
    #[cfg(feature = "x509")]
    _kept: Kept,
}

impl ResolvesServerCertUsingSni {
    /// A resolver that knows no names.
    pub fn new() -> Self {
        Self {
            by_name: Map::new(),
        }
    }

    /// Answers clients of the server `name` with `ck`, in place of any key added for it before.
    ///
    /// # Errors
    ///
    /// - [`Error::General`] when `name` is no DNS name;
    /// - [`Error::NoCertificatesPresented`] when `ck` has no certificate;
    /// - [`Error::InvalidCertificate`] when it cannot be parsed, or is not for `name`.
    pub fn add(&mut self, name: &str, ck: CertifiedKey) -> Result<(), Error> {
        let name = DnsName::try_from(name)
            .map_err(|_| Error::General("Bad DNS name".into()))?
            .to_lowercase_owned();

        let cert = ParsedCertificate::try_from(ck.end_entity_cert()?)?;
        verify_server_name(&cert, &ServerName::DnsName(name.borrow()))?;

        let named = Named {
            #[cfg(feature = "x509")]
            _kept: Kept::of(&ck),
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

#[cfg(all(test, any(feature = "aws_lc_rs", feature = "ring")))]
mod tests;
