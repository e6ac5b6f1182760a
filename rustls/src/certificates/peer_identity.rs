//! The identity of a connection's peer.

use core::fmt;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use rustls_core::crypto::hash::Hash;
use rustls_core::provider::CryptoProvider;

use super::fingerprint::sha256;
#[cfg(feature = "x509")]
use crate::certificates::Certificate;
#[cfg(not(feature = "x509"))]
use crate::certificates::ParsedCertificate;
use crate::certificates::PeerChains;
use crate::certificates::peer_chain::{ChainKind, PeerChain};
use crate::error::Error;

/// The credentials of an authenticated peer: its certificates, or its raw public key.
///
/// [`peer_identity`](crate::CommonState::peer_identity) returns it. It may outlive the connection,
/// and a clone shares everything. Parsed properties are stored with the certificates, so
/// connections that share the certificates ([`PeerChains`](super::PeerChains)) share the
/// properties, too.
///
/// ```
/// use rustls::certificates::PeerIdentity;
/// use rustls::{CommonState, Error};
///
/// /// An identifier for clients.
/// fn client_id(connection: &CommonState) -> Result<Option<[u8; 32]>, Error> {
///     let identity = connection.peer_identity();
///     identity.map(|identity| identity.sha256_fingerprint().copied()).transpose()
/// }
/// ```
#[derive(Clone)]
pub struct PeerIdentity {
    chain: PeerChain,
    /// SHA-256, if a cipher suite of the connection's crypto provider uses it.
    sha256: Option<&'static dyn Hash>,
}

/// The kind of a peer's credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerIdentityKind {
    /// X.509 certificates (RFC 5280).
    X509,
    /// A raw public key (RFC 7250).
    RawPublicKey,
}

impl PeerIdentity {
    /// Creates the identity of a peer with this `chain`, on a connection that uses `provider`.
    pub(crate) fn new(chain: PeerChain, provider: &CryptoProvider) -> Self {
        Self {
            chain,
            sha256: sha256(provider),
        }
    }

    /// Replaces the chain with an equal one from `chains`, if there is one.
    pub(crate) fn share_chain(&mut self, chains: &PeerChains) {
        self.chain = chains.share(self.chain.clone());
    }

    pub(crate) fn chain(&self) -> &PeerChain {
        &self.chain
    }

    /// Returns the kind of credentials. Raw public keys occur only if the verifier requires them.
    pub fn kind(&self) -> PeerIdentityKind {
        match self.chain.kind() {
            ChainKind::X509 => PeerIdentityKind::X509,
            ChainKind::RawPublicKey => PeerIdentityKind::RawPublicKey,
        }
    }

    /// Returns the end-entity certificate in DER, or the `SubjectPublicKeyInfo` of a raw public
    /// key.
    pub fn der(&self) -> &[u8] {
        // an authenticated peer has a non-empty chain
        self.chain.first().map(AsRef::as_ref).unwrap_or_default()
    }

    /// Returns the peer's certificates, end entity first, or its raw public key in the form of a
    /// certificate. Same as [`peer_certificates`](crate::CommonState::peer_certificates).
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// Returns the end-entity certificate, whose properties can be queried. `None` if the peer has
    /// a raw public key.
    ///
    /// The first call copies the certificate. Properties are parsed on demand.
    #[cfg(feature = "x509")]
    pub fn certificate(&self) -> Option<&Certificate> {
        match (self.chain.kind(), self.chain.first()) {
            (ChainKind::X509, Some(end_entity)) => {
                let facts = self.chain.facts();
                let make = || Certificate::new(end_entity.clone());
                Some(facts.certificate.get_or_init(make))
            }
            _ => None,
        }
    }

    /// Returns the public key of the end-entity certificate, or the raw public key. The certificate
    /// is parsed once.
    ///
    /// # Errors
    ///
    /// Returns [`Error::InvalidCertificate`] if the certificate cannot be parsed. Only a custom
    /// verifier can have accepted such a certificate.
    pub fn public_key(&self) -> Result<SubjectPublicKeyInfoDer<'_>, Error> {
        if self.chain.kind() == ChainKind::RawPublicKey {
            return Ok(SubjectPublicKeyInfoDer::from(self.der()));
        }
        self.public_key_of_certificate()
    }

    #[cfg(feature = "x509")]
    fn public_key_of_certificate(&self) -> Result<SubjectPublicKeyInfoDer<'_>, Error> {
        let certificate = self.certificate().ok_or(Error::NoCertificatesPresented)?;
        Ok(certificate.public_key()?.subject_public_key_info())
    }

    #[cfg(not(feature = "x509"))]
    fn public_key_of_certificate(&self) -> Result<SubjectPublicKeyInfoDer<'_>, Error> {
        let read = || {
            let end_entity = self.chain.first().ok_or(Error::NoCertificatesPresented)?;
            Ok(ParsedCertificate::try_from(end_entity)?.subject_public_key_info())
        };
        match self.chain.facts().public_key.get_or_init(read) {
            Ok(key) => Ok(SubjectPublicKeyInfoDer::from(key.as_ref())),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns the SHA-256 of [`der`](Self::der). If it is not cached, the connection's crypto
    /// provider computes it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::General`] if it is not cached, and the provider cannot compute it: no
    /// cipher suite uses SHA-256, or the provider's SHA-256 returns wrong results.
    pub fn sha256_fingerprint(&self) -> Result<&[u8; 32], Error> {
        #[cfg(feature = "x509")]
        if let Some(certificate) = self.certificate() {
            return certificate.fingerprint(|| self.sha256);
        }
        let fingerprint = &self.chain.facts().fingerprint;
        fingerprint.of(self.der(), || self.sha256)
    }
}

/// Equal if kind and certificates are equal.
impl PartialEq for PeerIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}

impl Eq for PeerIdentity {}

impl fmt::Debug for PeerIdentity {
    /// Prints only the kind and the lengths, so that nothing is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = self.chain.iter().map(|certificate| certificate.len());
        f.debug_struct("PeerIdentity")
            .field("kind", &self.kind())
            .field("der_lens", &lens.collect::<alloc::vec::Vec<_>>())
            .finish_non_exhaustive()
    }
}
