//! Prints every public error in all ways in which a program can print it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls_upstream::pki_types::{ServerName, UnixTime, alg_id};

use crate::texts::log::{Log, named};
use crate::texts::peer_errors;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn name(name: &'static str) -> ServerName<'static> {
    ServerName::try_from(name).unwrap()
}

macro_rules! errors {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use std::fmt::Debug;

            use peer_errors::$module::*;
            use $tls::client::{EarlyDataError, VerifierBuilderError};
            use $tls::compress::{CompressionFailed, DecompressionFailed};
            use $tls::crypto::GetRandomFailed;
            use $tls::crypto::cipher::UnsupportedOperationError;
            use $tls::crypto::tls13::OutputLengthError;
            use $tls::unbuffered::{EncodeError, EncryptError, InsufficientSizeError};
            use $tls::{
                AlertDescription, CertRevocationListError, CertificateError, ContentType,
                EncryptedClientHelloError, Error, ExtendedKeyPurpose, HandshakeType,
                InconsistentKeys, OtherError,
            };

            use super::*;

            fn other() -> OtherError {
                OtherError(Arc::new(std::fmt::Error))
            }

            fn purposes() -> Vec<(&'static str, ExtendedKeyPurpose)> {
                named![
                    ExtendedKeyPurpose::ClientAuth,
                    ExtendedKeyPurpose::ServerAuth,
                    ExtendedKeyPurpose::Other(vec![]),
                    ExtendedKeyPurpose::Other(vec![7]),
                    ExtendedKeyPurpose::Other(vec![1, 3, 6]),
                ]
            }

            #[allow(deprecated)] // every variant is printed
            pub fn certificate_errors() -> Vec<(&'static str, CertificateError)> {
                let mut errors = named![
                    CertificateError::BadEncoding,
                    CertificateError::Expired,
                    CertificateError::NotValidYet,
                    CertificateError::Revoked,
                    CertificateError::UnhandledCriticalExtension,
                    CertificateError::UnknownIssuer,
                    CertificateError::UnknownRevocationStatus,
                    CertificateError::ExpiredRevocationList,
                    CertificateError::BadSignature,
                    CertificateError::UnsupportedSignatureAlgorithm,
                    CertificateError::UnsupportedSignatureAlgorithmContext {
                        signature_algorithm_id: vec![],
                        supported_algorithms: vec![]
                    },
                    CertificateError::UnsupportedSignatureAlgorithmContext {
                        signature_algorithm_id: vec![1, 0xab],
                        supported_algorithms: vec![alg_id::ED25519, alg_id::ECDSA_SHA256]
                    },
                    CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                        signature_algorithm_id: vec![1, 0xab],
                        public_key_algorithm_id: vec![]
                    },
                    CertificateError::NotValidForName,
                    CertificateError::InvalidPurpose,
                    CertificateError::InvalidOcspResponse,
                    CertificateError::ApplicationVerificationFailure,
                    CertificateError::Other(other()),
                ];
                for (time, limit) in [(10, 7), (10, 9), (7, 10), (9, 10), (7, 7)] {
                    let (time, limit) = (at(time), at(limit));
                    errors.extend(named![
                        CertificateError::ExpiredContext {
                            time: time,
                            not_after: limit
                        },
                        CertificateError::NotValidYetContext {
                            time: time,
                            not_before: limit
                        },
                        CertificateError::ExpiredRevocationListContext {
                            time: time,
                            next_update: limit
                        },
                    ]);
                }
                let presented: [&[&str]; 4] = [
                    &[],
                    &["DnsName(\"b.example\")"],
                    &["b.example", "*.c.example"],
                    &["b.example", "c.example", "d.example"],
                ];
                for expected in ["a.example", "A.Example.", "192.0.2.1", "2001:db8::1", "::"] {
                    for presented in presented {
                        errors.extend(named![CertificateError::NotValidForNameContext {
                            expected: name(expected),
                            presented: presented.iter().map(|name| name.to_string()).collect()
                        }]);
                    }
                }
                for (_, required) in purposes() {
                    for len in 0..=purposes().len() {
                        let presented = purposes().into_iter().take(len);
                        errors.extend(named![CertificateError::InvalidPurposeContext {
                            required: required.clone(),
                            presented: presented.map(|(_, purpose)| purpose).collect()
                        }]);
                    }
                }
                errors
            }

            #[allow(deprecated)] // every variant is printed
            fn revocation_list_errors() -> Vec<(&'static str, CertRevocationListError)> {
                named![
                    CertRevocationListError::BadSignature,
                    CertRevocationListError::UnsupportedSignatureAlgorithm,
                    CertRevocationListError::UnsupportedSignatureAlgorithmContext {
                        signature_algorithm_id: vec![1],
                        supported_algorithms: vec![alg_id::ED25519]
                    },
                    CertRevocationListError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                        signature_algorithm_id: vec![1],
                        public_key_algorithm_id: vec![2]
                    },
                    CertRevocationListError::InvalidCrlNumber,
                    CertRevocationListError::InvalidRevokedCertSerialNumber,
                    CertRevocationListError::IssuerInvalidForCrl,
                    CertRevocationListError::Other(other()),
                    CertRevocationListError::ParseError,
                    CertRevocationListError::UnsupportedCrlVersion,
                    CertRevocationListError::UnsupportedCriticalExtension,
                    CertRevocationListError::UnsupportedDeltaCrl,
                    CertRevocationListError::UnsupportedIndirectCrl,
                    CertRevocationListError::UnsupportedRevocationReason,
                ]
            }

            fn ech_errors() -> Vec<(&'static str, EncryptedClientHelloError)> {
                named![
                    EncryptedClientHelloError::InvalidConfigList,
                    EncryptedClientHelloError::NoCompatibleConfig,
                    EncryptedClientHelloError::SniRequired,
                ]
            }

            fn inconsistent_keys() -> Vec<(&'static str, InconsistentKeys)> {
                named![InconsistentKeys::KeyMismatch, InconsistentKeys::Unknown]
            }

            fn encrypt_errors() -> Vec<(&'static str, EncryptError)> {
                let short = InsufficientSizeError { required_size: 77 };
                named![
                    EncryptError::InsufficientSize(short),
                    EncryptError::EncryptExhausted,
                ]
            }

            /// Returns errors that contain no other error.
            fn plain_errors() -> Vec<(&'static str, Error)> {
                let mut errors = named![
                    Error::NoCertificatesPresented,
                    Error::UnsupportedNameType,
                    Error::DecryptError,
                    Error::EncryptError,
                    Error::General("a text".into()),
                    Error::General(String::new()),
                    Error::FailedToGetCurrentTime,
                    Error::FailedToGetRandomBytes,
                    Error::HandshakeNotComplete,
                    Error::PeerSentOversizedRecord,
                    Error::NoApplicationProtocol,
                    Error::BadMaxFragmentSize,
                ];
                let content = [
                    ContentType::Handshake,
                    ContentType::Alert,
                    ContentType::Unknown(9),
                ];
                let handshake = [
                    HandshakeType::ClientHello,
                    HandshakeType::Unknown(77),
                    HandshakeType::Finished,
                ];
                for len in 0..=3 {
                    for got in [ContentType::ApplicationData, ContentType::Unknown(200)] {
                        errors.extend(named![Error::InappropriateMessage {
                            expect_types: content[..len].to_vec(),
                            got_type: got
                        }]);
                    }
                    for got in [HandshakeType::Unknown(78), HandshakeType::CertificateURL] {
                        errors.extend(named![Error::InappropriateHandshakeMessage {
                            expect_types: handshake[..len].to_vec(),
                            got_type: got
                        }]);
                    }
                }
                for number in 0..=u8::MAX {
                    errors.extend(named![Error::AlertReceived(AlertDescription::from(number))]);
                }
                errors
            }

            /// Logs each of `causes` and the [`Error`] to which it converts.
            fn causes<T: Clone + Debug>(log: &mut Log, error: &str, causes: &[(&str, T)])
            where
                Error: From<T>,
            {
                for (path, cause) in causes {
                    log.debug(path, cause);
                    log.error(&format!("Error::{error}"), &Error::from(cause.clone()));
                }
            }

            pub fn all() -> Log {
                let mut log = Log::default();
                causes(&mut log, "InvalidMessage", &invalid_messages());
                causes(&mut log, "PeerMisbehaved", &peer_misbehaved());
                causes(&mut log, "PeerIncompatible", &peer_incompatible());
                causes(&mut log, "InvalidCertificate", &certificate_errors());
                let lists = revocation_list_errors();
                causes(&mut log, "InvalidCertRevocationList", &lists);
                causes(&mut log, "InvalidEncryptedClientHello", &ech_errors());
                causes(&mut log, "InconsistentKeys", &inconsistent_keys());
                causes(&mut log, "Other", &[("OtherError", other())]);
                let unsupported = "crypto::cipher::UnsupportedOperationError";
                causes(
                    &mut log,
                    "General",
                    &[(unsupported, UnsupportedOperationError)],
                );
                for (path, error) in plain_errors() {
                    log.error(path, &error);
                }
                let path = "Error::FailedToGetRandomBytes";
                log.error(path, &Error::from(GetRandomFailed));
                let no_time = SystemTime::UNIX_EPOCH
                    .duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
                let path = "Error::FailedToGetCurrentTime";
                log.error(path, &Error::from(no_time.unwrap_err()));
                for (path, error) in certificate_errors() {
                    log.display(path, &error);
                }
                for (path, purpose) in purposes() {
                    log.display(path, &purpose);
                }
                log.error("OtherError", &other());
                log.error(unsupported, &UnsupportedOperationError);
                for side in ["client", "server"] {
                    let path = format!("{side}::VerifierBuilderError::InvalidCrl");
                    for (_, error) in revocation_list_errors() {
                        log.error(&path, &VerifierBuilderError::from(error));
                    }
                    let path = format!("{side}::VerifierBuilderError::NoRootAnchors");
                    log.error(&path, &VerifierBuilderError::NoRootAnchors);
                }
                for (path, error) in encrypt_errors() {
                    log.error(&format!("unbuffered::{path}"), &error);
                    let path = "client::EarlyDataError::Encrypt";
                    log.error(path, &EarlyDataError::Encrypt(error));
                }
                let path = "client::EarlyDataError::ExceededAllowedEarlyData";
                log.error(path, &EarlyDataError::ExceededAllowedEarlyData);
                let short = InsufficientSizeError { required_size: 77 };
                for (path, error) in named![
                    EncodeError::InsufficientSize(short),
                    EncodeError::AlreadyEncoded,
                ] {
                    log.error(&format!("unbuffered::{path}"), &error);
                }
                log.debug("unbuffered::InsufficientSizeError", &short);
                log.debug("crypto::GetRandomFailed", &GetRandomFailed);
                log.debug("crypto::tls13::OutputLengthError", &OutputLengthError);
                log.debug("compress::CompressionFailed", &CompressionFailed);
                log.debug("compress::DecompressionFailed", &DecompressionFailed);
                log
            }

            /// Returns every [`Error`], with any cause, after the name of the innermost variant.
            pub fn every_error() -> Vec<(&'static str, Error)> {
                fn errors<T: Into<Error>>(
                    causes: Vec<(&'static str, T)>,
                ) -> impl Iterator<Item = (&'static str, Error)> {
                    causes.into_iter().map(|(path, cause)| (path, cause.into()))
                }
                errors(invalid_messages())
                    .chain(errors(peer_misbehaved()))
                    .chain(errors(peer_incompatible()))
                    .chain(errors(certificate_errors()))
                    .chain(errors(revocation_list_errors()))
                    .chain(errors(ech_errors()))
                    .chain(errors(inconsistent_keys()))
                    .chain(errors(vec![("Error::Other", other())]))
                    .chain(errors(plain_errors()))
                    .collect()
            }

            /// Returns the numbers of the errors that equal each error, after its text.
            pub fn equal_errors() -> Vec<String> {
                let all = every_error();
                let equals = |error: &Error| {
                    let equal = all
                        .iter()
                        .enumerate()
                        .filter(|(_, (_, other))| error == other);
                    equal.map(|(at, _)| at).collect::<Vec<_>>()
                };
                let errors = all.iter();
                errors
                    .map(|(_, it)| format!("{it:?} {:?}", equals(it)))
                    .collect()
            }

            /// Returns each error with the alert to which its cause converts, as `error / alert`.
            pub fn alerts() -> Vec<String> {
                fn name<T: Clone + Into<Error> + Into<AlertDescription>>(cause: T) -> String {
                    let alert: AlertDescription = cause.clone().into();
                    let error: Error = cause.into();
                    format!("{error:?} / {}", u8::from(alert))
                }
                let messages = invalid_messages().into_iter().map(|(_, cause)| name(cause));
                let certificates = certificate_errors()
                    .into_iter()
                    .map(|(_, cause)| name(cause));
                messages.chain(certificates).collect()
            }
        }
    };
}

errors!(this, rustls);
errors!(upstream, rustls_upstream);
