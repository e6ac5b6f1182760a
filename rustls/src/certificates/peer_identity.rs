//! Who the peer of a connection is.

use core::fmt;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

use super::fingerprint::{Fingerprint, sha256};
use super::once::Once;
#[cfg(feature = "x509")]
use crate::certificates::Certificate;
use crate::crypto::CryptoProvider;
use crate::crypto::hash::Hash;
use crate::error::Error;
use crate::session::chain::{ChainKind, PeerChain};
#[cfg(not(feature = "x509"))]
use crate::webpki::ParsedCertificate;

/// What a peer was authenticated by: its certificates, or its raw public key.
///
/// It comes from [`peer_identity`](crate::CommonState::peer_identity), and may be kept for longer than the
/// connection; a clone shares everything. What is read out of it is kept with the certificates: connections that
/// share those ([`PeerChains`](super::PeerChains)) share that, too, so that a client that comes back is not read
/// again.
///
/// ```
/// use rustls::certificates::PeerIdentity;
/// use rustls::{CommonState, Error};
///
/// /// What an application may find its clients by.
/// fn client_id(connection: &CommonState) -> Result<Option<[u8; 32]>, Error> {
///     let identity = connection.peer_identity();
///     identity.map(|identity| identity.sha256_fingerprint().copied()).transpose()
/// }
/// ```
#[derive(Clone)]
pub struct PeerIdentity {
    chain: PeerChain,
    /// SHA-256, if the connection's crypto provider has it.
    sha256: Option<&'static dyn Hash>,
}

/// What a peer is authenticated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerIdentityKind {
    /// X.509 certificates (RFC 5280).
    X509,
    /// A raw public key (RFC 7250).
    RawPublicKey,
}

impl PeerIdentity {
    /// The identity of a peer that was authenticated by `chain`, on a connection over `provider`.
    pub(crate) fn new(chain: PeerChain, provider: &CryptoProvider) -> Self {
        Self {
            chain,
            sha256: sha256(provider),
        }
    }

    pub(crate) fn chain(&self) -> &PeerChain {
        &self.chain
    }

    /// What the peer is authenticated by.
    pub fn kind(&self) -> PeerIdentityKind {
        match self.chain.kind() {
            ChainKind::X509 => PeerIdentityKind::X509,
            ChainKind::RawPublicKey => PeerIdentityKind::RawPublicKey,
        }
    }

    /// The end-entity certificate in DER; or, of a raw public key, its `SubjectPublicKeyInfo`.
    pub fn der(&self) -> &[u8] {
        // nobody is authenticated by an empty chain
        self.chain.first().map(AsRef::as_ref).unwrap_or_default()
    }

    /// The same as [`peer_certificates`](crate::CommonState::peer_certificates): the peer's certificates, end entity
    /// first; or its raw public key, as if it were a certificate.
    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The end-entity certificate, which tells what is in it. `None` when the peer has a raw public key.
    ///
    /// The first time, it is copied; nothing is read before it is asked for.
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

    /// The peer's public key: that of the end-entity certificate, or the raw one. It is read once.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidCertificate`] when the certificate cannot be read, which only a verifier of one's own can have
    /// let pass.
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

    /// The SHA-256 of [`der`](Self::der). The connection's crypto provider makes it once.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when none of the provider's cipher suites uses SHA-256, which is where the hash comes from.
    pub fn sha256_fingerprint(&self) -> Result<&[u8; 32], Error> {
        #[cfg(feature = "x509")]
        if let Some(certificate) = self.certificate() {
            return certificate.fingerprint(|| self.sha256);
        }
        let fingerprint = &self.chain.facts().fingerprint;
        fingerprint.of(self.der(), || self.sha256)
    }
}

/// What is read out of an identity, kept with the chain.
#[derive(Default)]
pub(crate) struct PeerFacts {
    fingerprint: Fingerprint,
    #[cfg(feature = "x509")]
    certificate: Once<Certificate>,
    #[cfg(not(feature = "x509"))]
    public_key: Once<Result<SubjectPublicKeyInfoDer<'static>, Error>>,
}

/// Of the same kind, with the same certificates.
impl PartialEq for PeerIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}

impl Eq for PeerIdentity {}

impl fmt::Debug for PeerIdentity {
    /// Nothing is read for it: it tells lengths.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = self.chain.iter().map(|certificate| certificate.len());
        f.debug_struct("PeerIdentity")
            .field("kind", &self.kind())
            .field("der_lens", &lens.collect::<alloc::vec::Vec<_>>())
            .finish_non_exhaustive()
    }
}
