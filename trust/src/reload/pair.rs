//! A certificate chain and its key, read from files and checked before use.

use std::path::PathBuf;

use pki_types::pem::{self, PemObject};
use pki_types::{CertificateDer, DnsName, PrivateKeyDer, ServerName, UnixTime};
use rustls::certificates::Certificate;
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, Error, InconsistentKeys};
use zeroize::Zeroizing;

use super::{ReloadError, ocsp};
use crate::files::{FileVersion, read_file};
use crate::loading::Version;
use crate::pem::{CERTIFICATES, count_marks, describe};

/// The maximum length of a certificate file in bytes: far more than any peer accepts.
const MAX_CHAIN_LEN: u64 = 1 << 20;

/// The maximum length of a private key file in bytes.
const MAX_KEY_LEN: u64 = 1 << 16;

/// The maximum length of an OCSP response in bytes.
const MAX_OCSP_LEN: u64 = 1 << 16;

/// The files of a certificate chain and its private key.
///
/// The files need not be replaced at once. A key or OCSP response that does not match the
/// certificate is not used, and the next reload tries again. Replace each file by renaming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedKeyFiles {
    chain: PathBuf,
    key: PathBuf,
    ocsp: Option<PathBuf>,
}

impl CertifiedKeyFiles {
    /// Sets the files of the certificates and the private key, both in PEM. They may be the same
    /// file. `chain` has the end entity's certificate first, each followed by its issuer's. `key`
    /// has one of the formats of [`PrivateKeyDer`].
    pub fn new(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            chain: chain.into(),
            key: key.into(),
            ocsp: None,
        }
    }

    /// Sets the file of the OCSP response, in DER. It is stapled until its `nextUpdate`.
    pub fn with_ocsp(mut self, ocsp: impl Into<PathBuf>) -> Self {
        self.ocsp = Some(ocsp.into());
        self
    }

    /// Returns the versions of the files.
    pub(super) fn versions(&self) -> FileVersions {
        let paths = [Some(&self.chain), Some(&self.key), self.ocsp.as_ref()];
        FileVersions::of_files(paths.into_iter().flatten())
    }

    /// Reads the files. Checks that they match each other, are valid `now`, and cover all of
    /// `names`.
    pub(super) fn load(
        &self,
        provider: &CryptoProvider,
        names: &[DnsName<'_>],
        now: UnixTime,
    ) -> Result<LoadedPair, ReloadError> {
        let chain = self.read_chain()?;
        let key = Zeroizing::new(self.read_key()?);
        self.check_chain(&chain, names, now)?;
        let ocsp = self.read_ocsp(&chain, provider, now)?;

        let key = provider
            .key_provider
            .load_private_key(key.clone_key())
            .map_err(|error| ReloadError::PrivateKey {
                path: self.key.clone(),
                error,
            })?;
        let mut certified_key = CertifiedKey::new(chain, key);
        match certified_key.keys_match() {
            // a key that cannot return its public key is not checked, as in
            // `CertifiedKey::from_der`
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                return Err(ReloadError::KeyMismatch {
                    chain: self.chain.clone(),
                    key: self.key.clone(),
                });
            }
            Err(error) => return Err(self.refused(1, error)),
        }
        let (response, currency) = ocsp.unzip();
        certified_key.ocsp = response;
        Ok(LoadedPair {
            certified_key,
            ocsp_currency: currency,
        })
    }

    fn read_chain(&self) -> Result<Vec<CertificateDer<'static>>, ReloadError> {
        let path = &self.chain;
        // the file may contain the key too
        let content = Zeroizing::new(read_file(path, MAX_CHAIN_LEN)?);
        let malformed = |reason| ReloadError::Pem {
            path: path.clone(),
            reason,
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&content)
            .collect::<Result<_, _>>()
            .map_err(|error| malformed(describe(&error)))?;
        // for example, files concatenated without a line break between them
        if let Some(more @ 1..) = count_marks(&content, &CERTIFICATES).checked_sub(chain.len()) {
            return Err(malformed(format!(
                "{more} BEGIN marks of certificates are not on lines of their own, or are in another format"
            )));
        }
        if chain.is_empty() {
            return Err(ReloadError::NoCertificate { path: path.clone() });
        }
        Ok(chain)
    }

    /// Reads the private key; errors never contain it. The buffers are zeroized, except one of the
    /// PEM parser of `pki-types`, which joins the lines of a key before decoding.
    fn read_key(&self) -> Result<PrivateKeyDer<'static>, ReloadError> {
        let path = &self.key;
        let content = Zeroizing::new(read_file(path, MAX_KEY_LEN)?);
        PrivateKeyDer::from_pem_slice(&content).map_err(|error| match error {
            pem::Error::NoItemsFound => ReloadError::NoPrivateKey { path: path.clone() },
            _ => ReloadError::Pem {
                path: path.clone(),
                reason: "a section is cut off, or not in base64".into(),
            },
        })
    }

    fn read_ocsp(
        &self,
        chain: &[CertificateDer<'static>],
        provider: &CryptoProvider,
        now: UnixTime,
    ) -> Result<Option<(Vec<u8>, ocsp::Currency)>, ReloadError> {
        let Some(path) = &self.ocsp else {
            return Ok(None);
        };
        let response = read_file(path, MAX_OCSP_LEN)?;
        match ocsp::check(&response, chain, provider, now) {
            Ok(currency) => Ok(Some((response, currency))),
            Err(reason) => Err(ReloadError::OcspResponse {
                path: path.clone(),
                reason,
            }),
        }
    }

    fn check_chain(
        &self,
        chain: &[CertificateDer<'static>],
        names: &[DnsName<'_>],
        now: UnixTime,
    ) -> Result<(), ReloadError> {
        for (certificate, position) in chain.iter().zip(1..) {
            check_validity(certificate, now).map_err(|error| self.refused(position, error))?;
        }
        let Some(end_entity) = chain.first() else {
            return Ok(());
        };
        let end_entity =
            ParsedCertificate::try_from(end_entity).map_err(|error| self.refused(1, error))?;
        for name in names {
            verify_server_name(&end_entity, &ServerName::DnsName(name.borrow()))
                .map_err(|error| self.refused(1, error))?;
        }
        Ok(())
    }

    fn refused(&self, position: usize, error: Error) -> ReloadError {
        ReloadError::Certificate {
            path: self.chain.clone(),
            position,
            error,
        }
    }

    /// Returns the description for logs.
    pub(super) fn description(&self) -> String {
        format!("certificate {}", self.chain.display())
    }
}

/// The content of the files.
pub(super) struct LoadedPair {
    pub(super) certified_key: CertifiedKey,
    /// The period in which the OCSP response may be stapled.
    pub(super) ocsp_currency: Option<ocsp::Currency>,
}

/// The versions of several files.
#[derive(Clone, PartialEq)]
pub(super) struct FileVersions(Vec<FileVersion>);

impl FileVersions {
    pub(super) fn of_files<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Self {
        Self(paths.map(|path| FileVersion::of_file(path)).collect())
    }
}

impl Version for FileVersions {
    fn is_settled(&self) -> bool {
        self.0.iter().all(FileVersion::is_settled)
    }
}

/// Checks the validity period, including both ends (RFC 5280 §4.1.2.5).
fn check_validity(certificate: &CertificateDer<'static>, now: UnixTime) -> Result<(), Error> {
    let certificate = Certificate::new(certificate.clone());
    let validity = certificate.validity()?;
    if validity.contains(now) {
        return Ok(());
    }
    let before = validity.not_before.to_unix_time();
    Err(match (before, validity.not_after.to_unix_time()) {
        (Some(not_before), _) if now.as_secs() < not_before.as_secs() => {
            CertificateError::NotValidYetContext {
                time: now,
                not_before,
            }
        }
        (_, Some(not_after)) => CertificateError::ExpiredContext {
            time: now,
            not_after,
        },
        (_, None) => CertificateError::Expired,
    }
    .into())
}
