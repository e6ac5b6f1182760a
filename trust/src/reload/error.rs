//! The error from a reload.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::server::VerifierBuilderError;
use rustls::{CertificateError, Error, OtherError};

use crate::{CrlError, FileError, IgnoredCertificate, RootsError};

/// The reason why something could not be read or must not become active, or a flaw of something
/// active.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReloadError {
    /// A file cannot be read.
    File(FileError),
    /// A file of certificates or keys is not PEM, or its PEM is malformed.
    Pem {
        /// The file that cannot be used.
        path: PathBuf,
        /// A text about the problem, which contains no part of a key.
        reason: String,
    },
    /// A certificate file contains no certificate.
    NoCertificate {
        /// The certificate file.
        path: PathBuf,
    },
    /// A private key file contains no key, or an encrypted one.
    NoPrivateKey {
        /// The key file, or the certificate file if that contains the encrypted key.
        path: PathBuf,
        /// True if it contains an encrypted key.
        is_encrypted: bool,
    },
    /// The crypto provider cannot use a private key.
    PrivateKey {
        /// The key file.
        path: PathBuf,
        /// The provider's error.
        error: Error,
    },
    /// A private key does not match the first certificate of its chain. Perhaps only one of the
    /// files has been replaced so far.
    KeyMismatch {
        /// The certificate file.
        chain: PathBuf,
        /// The key file.
        key: PathBuf,
    },
    /// A certificate cannot be parsed, has expired, is not valid yet, or lacks a required name.
    Certificate {
        /// The certificate file.
        path: PathBuf,
        /// The position of the certificate in the file, from 1.
        position: usize,
        /// The reason for the rejection.
        error: Error,
    },
    /// The OCSP file cannot be read, or its response cannot be stapled to the certificate.
    OcspResponse {
        /// The OCSP file.
        path: PathBuf,
        /// The reason why it cannot be stapled.
        reason: String,
        /// True if the certificate requires a response ("must-staple", RFC 7633).
        is_required: bool,
    },
    /// A certificate requires an OCSP response ("must-staple", RFC 7633), but no OCSP file was set.
    /// Clients may reject the certificate.
    NoOcspFile {
        /// The certificate file.
        chain: PathBuf,
    },
    /// Files were added for a name that is not a DNS name.
    Name(String),
    /// The builder was given neither default files nor files with a name.
    Nothing,
    /// The clock did not return a time, so dates cannot be checked.
    NoTime,
    /// Root certificates cannot be read, or none of them is usable.
    Roots(RootsError),
    /// The root certificates have changed, and their source contains new unusable items. It may be
    /// half written. Call `reload_from_scratch` to accept the new roots nevertheless.
    UnusableRoots(Arc<[IgnoredCertificate]>),
    /// Revocation lists cannot be used, for example because they are missing, unreadable, or older
    /// than the current ones.
    Crls(CrlError),
    /// No verifier can be built from the new content.
    Verifier(VerifierBuilderError),
    /// The verifier's authority names do not fit into a message.
    Authorities(Error),
    /// Several files or sources failed.
    Several(Vec<Self>),
}

impl ReloadError {
    /// Combines `errors` into one, if there are any.
    pub(super) fn of(mut errors: Vec<Self>) -> Option<Self> {
        match errors.len() {
            0 | 1 => errors.pop(),
            _ => Some(Self::Several(errors)),
        }
    }

    /// Returns the text without the time of the check, so that a repeated error can be recognized.
    pub(super) fn lasting_text(&self) -> String {
        use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
        match self {
            Self::Certificate {
                path,
                position,
                error: Error::InvalidCertificate(error),
            } => {
                let lasting = match error {
                    ExpiredContext { .. } => &Expired,
                    NotValidYetContext { .. } => &NotValidYet,
                    other => other,
                };
                format!("{path:?} {position} {lasting:?}")
            }
            Self::Several(errors) => errors.iter().map(Self::lasting_text).collect(),
            other => other.to_string(),
        }
    }
}

impl From<FileError> for ReloadError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<RootsError> for ReloadError {
    fn from(error: RootsError) -> Self {
        match error {
            RootsError::Lost { ignored, .. } => Self::UnusableRoots(ignored),
            other => Self::Roots(other),
        }
    }
}

impl From<VerifierBuilderError> for ReloadError {
    fn from(error: VerifierBuilderError) -> Self {
        Self::Verifier(error)
    }
}

impl From<ReloadError> for Error {
    /// Wraps the error in [`Error::Other`].
    fn from(error: ReloadError) -> Self {
        Self::Other(OtherError(Arc::new(error)))
    }
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Pem { path, reason } => {
                write!(f, "{}: malformed PEM: {reason}", path.display())
            }
            Self::NoCertificate { path } => write!(f, "{}: no certificate", path.display()),
            Self::NoPrivateKey { path, is_encrypted } => {
                let what = match is_encrypted {
                    true => "the private key is encrypted",
                    false => "no private key",
                };
                write!(f, "{}: {what}", path.display())
            }
            Self::PrivateKey { path, error } => {
                write!(f, "{}: unusable private key: {error}", path.display())
            }
            Self::KeyMismatch { chain, key } => write!(
                f,
                "the private key in {} does not match the first certificate in {}",
                key.display(),
                chain.display()
            ),
            Self::Certificate {
                path,
                position,
                error,
            } => write!(f, "{}: certificate {position}: {error}", path.display()),
            Self::OcspResponse {
                path,
                reason,
                is_required,
            } => {
                let what = match is_required {
                    true => "no OCSP response to staple, although the certificate requires one",
                    false => "no OCSP response to staple",
                };
                write!(f, "{}: {what}: {reason}", path.display())
            }
            Self::NoOcspFile { chain } => write!(
                f,
                "{}: the certificate requires an OCSP response, but no OCSP file was set",
                chain.display()
            ),
            Self::Name(name) => write!(f, "not a DNS name: {name:?}"),
            Self::Nothing => f.write_str("no certificate and key files were added"),
            Self::NoTime => f.write_str("the current time is not known"),
            Self::Roots(error) => error.fmt(f),
            Self::UnusableRoots(ignored) => {
                f.write_str("new root certificates that cannot be used")?;
                for (at, ignored) in ignored.iter().take(3).enumerate() {
                    write!(f, "{} {ignored}", if at == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
            Self::Crls(error) => error.fmt(f),
            Self::Verifier(error) => error.fmt(f),
            Self::Authorities(error) => error.fmt(f),
            Self::Several(errors) => {
                for (i, error) in errors.iter().enumerate() {
                    write!(f, "{}{error}", if i == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ReloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::PrivateKey { error, .. }
            | Self::Certificate { error, .. }
            | Self::Authorities(error) => Some(error),
            Self::Roots(error) => Some(error),
            Self::Crls(error) => Some(error),
            Self::Verifier(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::{FileErrorCause, IgnoredReason};

    fn file() -> FileError {
        FileError {
            path: "a.pem".into(),
            cause: FileErrorCause::NotRegular,
        }
    }

    /// An operator must be able to act on the text alone.
    #[test]
    fn error_texts_contain_file_and_reason() {
        let path = || PathBuf::from("a.pem");
        let why = Error::General("why".into());
        let reason = "why".to_owned();
        let errors = [
            ReloadError::File(file()),
            ReloadError::Pem {
                path: path(),
                reason,
            },
            ReloadError::NoCertificate { path: path() },
            ReloadError::NoPrivateKey {
                path: path(),
                is_encrypted: false,
            },
            ReloadError::NoPrivateKey {
                path: path(),
                is_encrypted: true,
            },
            ReloadError::PrivateKey {
                path: path(),
                error: why.clone(),
            },
            ReloadError::Certificate {
                path: path(),
                position: 2,
                error: why.clone(),
            },
            ReloadError::OcspResponse {
                path: path(),
                reason: "why".into(),
                is_required: false,
            },
            ReloadError::OcspResponse {
                path: path(),
                reason: "why".into(),
                is_required: true,
            },
            ReloadError::NoOcspFile { chain: path() },
            ReloadError::KeyMismatch {
                chain: path(),
                key: "a.key".into(),
            },
        ];
        let texts = errors.each_ref().map(ToString::to_string);
        for (text, what) in texts.iter().zip([
            "",
            "malformed PEM: why",
            "no certificate",
            "no private key",
            "the private key is encrypted",
            "unusable private key: ",
            "certificate 2: ",
            "no OCSP response to staple: why",
            "no OCSP response to staple, although the certificate requires one: why",
            "no OCSP file was set",
            "the private key in a.key does not match",
        ]) {
            assert!(text.contains("a.pem") && text.contains(what), "{text}");
        }
        assert_eq!(texts[0], file().to_string());
        let sources = errors.each_ref().map(|error| error.source().is_some());
        assert_eq!(
            sources,
            [
                true, false, false, false, false, true, true, false, false, false, false
            ]
        );
    }

    #[test]
    fn errors_without_a_file_have_a_text() {
        let name = ReloadError::Name("a b".into()).to_string();
        assert_eq!(name, "not a DNS name: \"a b\"");
        assert!(
            ReloadError::Nothing
                .to_string()
                .contains("no certificate and key files")
        );
        assert!(ReloadError::NoTime.to_string().contains("time"));
        let error = Error::General("why".into());
        let authorities = ReloadError::Authorities(error.clone());
        assert_eq!(authorities.to_string(), error.to_string());
        let verifier = VerifierBuilderError::NoRootAnchors;
        let text = verifier.to_string();
        assert_eq!(ReloadError::from(verifier).to_string(), text);
    }

    /// All errors are listed, but only a few certificates, because a log line is short.
    #[test]
    fn several_errors_are_listed() {
        assert!(ReloadError::of(vec![]).is_none());
        let one = ReloadError::of(vec![ReloadError::NoTime]).unwrap();
        assert!(matches!(one, ReloadError::NoTime));
        let both = ReloadError::of(vec![ReloadError::Nothing, ReloadError::from(file())]);
        let [first, second] = [ReloadError::Nothing, file().into()].map(|error| error.to_string());
        assert_eq!(both.unwrap().to_string(), format!("{first}; {second}"));

        let ignored = |position| IgnoredCertificate {
            file: Some("ca.pem".into()),
            position: Some(position),
            reason: IgnoredReason::Pem("why".into()),
        };
        let unusable = ReloadError::UnusableRoots((1..=5).map(ignored).collect()).to_string();
        for position in 1..=5 {
            let is_listed = unusable.contains(&ignored(position).to_string());
            assert_eq!(is_listed, position <= 3, "{unusable}");
        }
        // the error of a connection contains it
        let Error::Other(other) = Error::from(ReloadError::NoTime) else {
            panic!("another error");
        };
        assert_eq!(other.to_string(), ReloadError::NoTime.to_string());
    }
}
