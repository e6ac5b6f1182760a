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
use crate::pem::{
    CERTIFICATES, PRIVATE_KEYS, count_marks, describe, is_encrypted_key, other_format,
};

/// The maximum length of a file of certificates, a private key or both, in bytes: far more than
/// most peers accept.
const MAX_PEM_LEN: u64 = 1 << 20;

/// The maximum length of an OCSP response in bytes.
const MAX_OCSP_LEN: u64 = 1 << 16;

/// The files of a certificate chain, its private key and, optionally, an OCSP response.
///
/// You need not replace the files at the same time: a key or an OCSP response that does not match
/// the certificate is not used, and the next reload tries again. Replace each file by renaming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedKeyFiles {
    chain: PathBuf,
    key: PathBuf,
    ocsp: Option<PathBuf>,
}

impl CertifiedKeyFiles {
    /// Sets the files of the certificates and the private key, both in PEM. They may be the same
    /// file. `chain` starts with the end entity's certificate, and each certificate is followed by
    /// its issuer's. `key` is in one of the formats of [`PrivateKeyDer`], unencrypted. Each file
    /// may have up to 1 MiB.
    pub fn new(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            chain: chain.into(),
            key: key.into(),
            ocsp: None,
        }
    }

    /// Sets the file of the OCSP response, in DER. A response with a `nextUpdate` is stapled until
    /// then, and only while the clock returns a time.
    ///
    /// The response is optional. If it is missing or unusable, the certificate becomes active
    /// nevertheless, unless it requires a response ("must-staple", RFC 7633) and the current one
    /// cannot be used either.
    pub fn with_ocsp(mut self, ocsp: impl Into<PathBuf>) -> Self {
        self.ocsp = Some(ocsp.into());
        self
    }

    pub(super) fn versions(&self) -> FileVersions {
        let paths = [Some(&self.chain), Some(&self.key), self.ocsp.as_ref()];
        FileVersions::of_files(paths.into_iter().flatten())
    }

    /// Reads the files. Checks that the certificate and the key match, and that the certificate is
    /// valid at the time `now` and covers all of `names`. `held` is the active pair.
    ///
    /// # Errors
    ///
    /// Returns the reason why the pair must not become active. A tolerable defect is one of the
    /// [`flaws`](LoadedPair::flaws) instead.
    pub(super) fn load(
        &self,
        provider: &CryptoProvider,
        names: &[DnsName<'_>],
        now: Option<UnixTime>,
        held: Option<&CertifiedKey>,
    ) -> Result<LoadedPair, ReloadError> {
        let mut flaws = Vec::new();
        let chain = self.read_chain()?;
        let key = Zeroizing::new(self.read_key()?);
        self.check_names(&chain, names)?;
        let now = self.check_dates(&chain, now, held, &mut flaws)?;
        let requires_ocsp = chain.first().is_some_and(ocsp::is_required);
        let ocsp = self.find_ocsp(&chain, provider, now, held, requires_ocsp, &mut flaws)?;

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
            requires_ocsp,
            flaws,
        })
    }

    fn read_chain(&self) -> Result<Vec<CertificateDer<'static>>, ReloadError> {
        let path = &self.chain;
        // the file may also contain the key
        let content = Zeroizing::new(read_file(path, MAX_PEM_LEN)?);
        let malformed = |reason| ReloadError::Pem {
            path: path.clone(),
            reason,
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&content)
            .collect::<Result<_, _>>()
            .map_err(|error| match is_encrypted_key(&content) {
                // the file has both, and the parser reads the headers of the key as base64
                true => ReloadError::NoPrivateKey {
                    path: path.clone(),
                    is_encrypted: true,
                },
                false => malformed(describe(&error)),
            })?;
        // for example, files concatenated without a line break between them
        if let Some(more @ 1..) = count_marks(&content, &CERTIFICATES).checked_sub(chain.len()) {
            return Err(malformed(format!(
                "{more} BEGIN marks of certificates are not on lines of their own, or are in another format"
            )));
        }
        if !chain.is_empty() {
            return Ok(chain);
        }
        Err(match other_format(&content, &CERTIFICATES) {
            Some(format) => malformed(format.into()),
            None => ReloadError::NoCertificate { path: path.clone() },
        })
    }

    /// Reads the private key. Errors never contain it. Zeroizes the content of the file, but not
    /// the buffers inside the PEM parser of `pki-types`.
    fn read_key(&self) -> Result<PrivateKeyDer<'static>, ReloadError> {
        let path = &self.key;
        let content = Zeroizing::new(read_file(path, MAX_PEM_LEN)?);
        PrivateKeyDer::from_pem_slice(&content).map_err(|error| {
            let malformed = |reason: &str| ReloadError::Pem {
                path: path.clone(),
                reason: reason.into(),
            };
            let is_encrypted = is_encrypted_key(&content);
            match (error, other_format(&content, &PRIVATE_KEYS)) {
                _ if is_encrypted => ReloadError::NoPrivateKey {
                    path: path.clone(),
                    is_encrypted,
                },
                (_, Some(format)) => malformed(format),
                (pem::Error::NoItemsFound, None) if count_marks(&content, &PRIVATE_KEYS) > 0 => {
                    malformed("the BEGIN marks of private keys are not on lines of their own")
                }
                (pem::Error::NoItemsFound, None) => ReloadError::NoPrivateKey {
                    path: path.clone(),
                    is_encrypted: false,
                },
                _ => malformed("a section is cut off, or not in base64"),
            }
        })
    }

    /// Returns the response to staple, and the period in which it may be stapled: the response in
    /// the file if it is usable, otherwise the one in `held`, if it can still be stapled to the
    /// certificate.
    fn find_ocsp(
        &self,
        chain: &[CertificateDer<'static>],
        provider: &CryptoProvider,
        now: Option<UnixTime>,
        held: Option<&CertifiedKey>,
        is_required: bool,
        flaws: &mut Vec<ReloadError>,
    ) -> Result<Option<(Vec<u8>, ocsp::Currency)>, ReloadError> {
        let Some(path) = &self.ocsp else {
            if is_required {
                flaws.push(ReloadError::NoOcspFile {
                    chain: self.chain.clone(),
                });
            }
            return Ok(None);
        };
        let check = |response: &[u8]| ocsp::check(response, chain, provider, now);
        let reason = match read_file(path, MAX_OCSP_LEN) {
            Ok(response) => match check(&response) {
                Ok(currency) => return Ok(Some((response, currency))),
                Err(reason) => reason.into(),
            },
            Err(error) => error.cause.to_string(),
        };
        let held = held.and_then(|held| held.ocsp.as_ref());
        let held = held.and_then(|held| Some((held.clone(), check(held).ok()?)));
        let error = ReloadError::OcspResponse {
            path: path.clone(),
            reason,
            is_required,
        };
        if is_required && held.is_none() {
            return Err(error);
        }
        flaws.push(error);
        Ok(held)
    }

    /// Returns the reason why a response that was usable when it was read is not stapled at the
    /// time `now`.
    pub(super) fn outdated_ocsp(
        &self,
        now: Option<UnixTime>,
        is_required: bool,
    ) -> Option<ReloadError> {
        let reason = match now {
            Some(_) => ocsp::OUT_OF_DATE.into(),
            None => ReloadError::NoTime.to_string(),
        };
        Some(ReloadError::OcspResponse {
            path: self.ocsp.clone()?,
            reason,
            is_required,
        })
    }

    /// Checks that the first certificate can be parsed and covers all of `names`.
    fn check_names(
        &self,
        chain: &[CertificateDer<'static>],
        names: &[DnsName<'_>],
    ) -> Result<(), ReloadError> {
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

    /// Checks the validity of all certificates. Returns the time, if the clock seems to be right.
    ///
    /// The clock of a machine without a battery may start in 1970, so a first certificate that is
    /// not valid yet is accepted, unless the one in `held` is valid. Other certificates may be left
    /// over from an old chain, or be for clients with older roots, so their dates are only
    /// reported.
    fn check_dates(
        &self,
        chain: &[CertificateDer<'static>],
        now: Option<UnixTime>,
        held: Option<&CertifiedKey>,
        flaws: &mut Vec<ReloadError>,
    ) -> Result<Option<UnixTime>, ReloadError> {
        let is_valid = |held: &CertificateDer<'static>, now| check_validity(held, now).is_ok();
        let held = held.and_then(|held| held.cert.first());
        let mut clock = now;
        if now.is_none() {
            flaws.push(ReloadError::NoTime);
        }
        for (certificate, position) in chain.iter().zip(1..) {
            let Err(error) = check_validity(certificate, clock) else {
                continue;
            };
            let is_tolerable = if position == 1 {
                is_not_valid_yet(&error) && !held.is_some_and(|held| is_valid(held, now))
            } else {
                is_not_valid_yet(&error) || is_expired(&error)
            };
            let error = self.refused(position, error);
            if !is_tolerable {
                return Err(error);
            }
            flaws.push(error);
            if position == 1 {
                clock = None;
            }
        }
        Ok(clock)
    }

    fn refused(&self, position: usize, error: Error) -> ReloadError {
        ReloadError::Certificate {
            path: self.chain.clone(),
            position,
            error,
        }
    }

    pub(super) fn description(&self) -> String {
        format!("certificate {}", self.chain.display())
    }
}

/// The content of a pair's files.
pub(super) struct LoadedPair {
    pub(super) certified_key: CertifiedKey,
    /// The period in which the OCSP response may be stapled; `None` without a response.
    pub(super) ocsp_currency: Option<ocsp::Currency>,
    /// True if the certificate requires an OCSP response.
    pub(super) requires_ocsp: bool,
    /// The flaws that do not prevent the pair from becoming active.
    pub(super) flaws: Vec<ReloadError>,
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

/// Checks the validity period, including both ends (RFC 5280 §4.1.2.5). If the time is unknown,
/// only checks that there is a validity period.
fn check_validity(
    certificate: &CertificateDer<'static>,
    now: Option<UnixTime>,
) -> Result<(), Error> {
    let certificate = Certificate::new(certificate.clone());
    let validity = certificate.validity()?;
    let Some(now) = now.filter(|now| !validity.contains(*now)) else {
        return Ok(());
    };
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

fn is_not_valid_yet(error: &Error) -> bool {
    let Error::InvalidCertificate(error) = error else {
        return false;
    };
    matches!(error, CertificateError::NotValidYetContext { .. })
}

fn is_expired(error: &Error) -> bool {
    let Error::InvalidCertificate(error) = error else {
        return false;
    };
    use CertificateError::{Expired, ExpiredContext};
    matches!(error, Expired | ExpiredContext { .. })
}
