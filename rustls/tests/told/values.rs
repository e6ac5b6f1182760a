//! `Debug` of values and errors: what upstream's shows. What an error says is this crate's own, and says something;
//! where it comes from is the same.

use std::error::Error as StdError;
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use rustls_upstream::pki_types::{ServerName, UnixTime};

/// An error by its `Debug`, and whether it says what it comes from; `Display` has to say something.
fn told<E: StdError>(error: E) -> String {
    said(&error);
    format!("{error:?} {}", error.source().is_some())
}

fn said(error: &(impl Display + Debug)) {
    let text = error.to_string();
    assert!(text.len() > 3, "{error:?}: {text:?}");
    assert!(!text.ends_with(['.', '\n']), "{text:?}");
    assert!(text.len() < 300, "{text:?}");
}

macro_rules! values {
    ($module:ident, $tls:ident) => {
        mod $module {
            use $tls::client::{EarlyDataError, Resumption, Tls12Resumption, VerifierBuilderError};
            use $tls::crypto::GetRandomFailed;
            use $tls::crypto::cipher::UnsupportedOperationError;
            use $tls::unbuffered::{EncodeError, EncryptError, InsufficientSizeError};
            use $tls::{
                AlertDescription, CertRevocationListError, CertificateCompressionAlgorithm,
                CertificateError, CipherSuite, ContentType, DistinguishedName,
                EncryptedClientHelloError, Error, ExtendedKeyPurpose, HandshakeKind, HandshakeType,
                InconsistentKeys, InvalidMessage, NamedGroup, OtherError, PeerIncompatible,
                PeerMisbehaved, ProtocolVersion, RootCertStore, Side, SignatureAlgorithm,
                SignatureScheme,
            };

            use super::*;

            fn at(seconds: u64) -> UnixTime {
                UnixTime::since_unix_epoch(Duration::from_secs(seconds))
            }

            fn other() -> OtherError {
                OtherError(Arc::new(std::fmt::Error))
            }

            fn certificate_errors() -> Vec<CertificateError> {
                use CertificateError::*;
                vec![
                    BadEncoding,
                    Expired,
                    ExpiredContext {
                        time: at(10),
                        not_after: at(7),
                    },
                    NotValidYet,
                    NotValidYetContext {
                        time: at(7),
                        not_before: at(10),
                    },
                    Revoked,
                    UnhandledCriticalExtension,
                    UnknownIssuer,
                    UnknownRevocationStatus,
                    ExpiredRevocationList,
                    ExpiredRevocationListContext {
                        time: at(10),
                        next_update: at(7),
                    },
                    BadSignature,
                    UnsupportedSignatureAlgorithmContext {
                        signature_algorithm_id: vec![1, 2],
                        supported_algorithms: vec![],
                    },
                    UnsupportedSignatureAlgorithmForPublicKeyContext {
                        signature_algorithm_id: vec![1, 2],
                        public_key_algorithm_id: vec![3],
                    },
                    NotValidForName,
                    NotValidForNameContext {
                        expected: ServerName::try_from("a.example").unwrap(),
                        presented: vec!["b.example".into(), "*.c.example".into()],
                    },
                    InvalidPurpose,
                    InvalidPurposeContext {
                        required: ExtendedKeyPurpose::ClientAuth,
                        presented: vec![
                            ExtendedKeyPurpose::ServerAuth,
                            ExtendedKeyPurpose::Other(vec![1, 2, 3]),
                        ],
                    },
                    InvalidOcspResponse,
                    ApplicationVerificationFailure,
                    Other(other()),
                ]
            }

            fn revocation_errors() -> Vec<CertRevocationListError> {
                use CertRevocationListError::*;
                vec![
                    BadSignature,
                    UnsupportedSignatureAlgorithmContext {
                        signature_algorithm_id: vec![1],
                        supported_algorithms: vec![],
                    },
                    UnsupportedSignatureAlgorithmForPublicKeyContext {
                        signature_algorithm_id: vec![1],
                        public_key_algorithm_id: vec![2],
                    },
                    InvalidCrlNumber,
                    InvalidRevokedCertSerialNumber,
                    IssuerInvalidForCrl,
                    Other(other()),
                    ParseError,
                    UnsupportedCrlVersion,
                    UnsupportedCriticalExtension,
                    UnsupportedDeltaCrl,
                    UnsupportedIndirectCrl,
                    UnsupportedRevocationReason,
                ]
            }

            /// Errors by `From` where there is one.
            pub(super) fn errors() -> Vec<String> {
                let mut errors = vec![
                    Error::InappropriateMessage {
                        expect_types: vec![ContentType::Handshake, ContentType::Alert],
                        got_type: ContentType::ApplicationData,
                    },
                    Error::InappropriateHandshakeMessage {
                        expect_types: vec![HandshakeType::ClientHello],
                        got_type: HandshakeType::Unknown(77),
                    },
                    EncryptedClientHelloError::InvalidConfigList.into(),
                    EncryptedClientHelloError::NoCompatibleConfig.into(),
                    EncryptedClientHelloError::SniRequired.into(),
                    InvalidMessage::MissingData("Part").into(),
                    InvalidMessage::DuplicateExtension(7).into(),
                    Error::NoCertificatesPresented,
                    Error::UnsupportedNameType,
                    Error::DecryptError,
                    Error::EncryptError,
                    PeerIncompatible::NoKxGroupsInCommon.into(),
                    PeerIncompatible::ServerRejectedEncryptedClientHello(None).into(),
                    PeerMisbehaved::IncorrectBinder.into(),
                    Error::AlertReceived(AlertDescription::UnknownCA),
                    Error::AlertReceived(AlertDescription::Unknown(7)),
                    Error::General("of this kind".into()),
                    Error::FailedToGetCurrentTime,
                    Error::FailedToGetRandomBytes,
                    GetRandomFailed.into(),
                    UnsupportedOperationError.into(),
                    Error::HandshakeNotComplete,
                    Error::PeerSentOversizedRecord,
                    Error::NoApplicationProtocol,
                    Error::BadMaxFragmentSize,
                    InconsistentKeys::KeyMismatch.into(),
                    InconsistentKeys::Unknown.into(),
                    other().into(),
                ];
                errors.extend(certificate_errors().into_iter().map(Error::from));
                errors.extend(revocation_errors().into_iter().map(Error::from));
                let earlier = std::time::SystemTime::UNIX_EPOCH - Duration::from_secs(1);
                let no_time = earlier.duration_since(std::time::SystemTime::UNIX_EPOCH);
                errors.push(no_time.unwrap_err().into());

                let short = || InsufficientSizeError { required_size: 77 };
                let mut log: Vec<String> = errors.into_iter().map(told).collect();
                log.extend([
                    told(other()),
                    told(EncodeError::from(short())),
                    told(EncodeError::AlreadyEncoded),
                    told(EncryptError::from(short())),
                    told(EncryptError::EncryptExhausted),
                    told(EarlyDataError::ExceededAllowedEarlyData),
                    told(EarlyDataError::Encrypt(EncryptError::EncryptExhausted)),
                    told(VerifierBuilderError::NoRootAnchors),
                    told(UnsupportedOperationError),
                ]);
                for error in revocation_errors() {
                    log.push(told(VerifierBuilderError::from(error)));
                }
                for error in certificate_errors() {
                    // not an error by itself
                    said(&error);
                    log.push(format!("{error:?}"));
                }
                log.extend([
                    format!("{:?}", short()),
                    format!("{GetRandomFailed:?}"),
                    format!("{:?}", ExtendedKeyPurpose::Other(vec![1, 3, 6])),
                    format!("{:?}", $tls::crypto::tls13::OutputLengthError),
                    format!("{:?}", $tls::compress::CompressionFailed),
                    format!("{:?}", $tls::compress::DecompressionFailed),
                ]);
                log
            }

            pub(super) fn values() -> Vec<String> {
                let mut log = vec![
                    format!("{:?}", [Side::Client, Side::Server]),
                    format!(
                        "{:?}",
                        [
                            HandshakeKind::Full,
                            HandshakeKind::FullWithHelloRetryRequest,
                            HandshakeKind::Resumed
                        ]
                    ),
                    format!("{:?}", DistinguishedName::in_sequence(b"name")),
                    format!("{:?}", RootCertStore::empty()),
                    format!("{:?}", Resumption::disabled()),
                    format!("{:?}", Tls12Resumption::SessionIdOnly),
                    format!("{:?}", $tls::NoKeyLog),
                    format!("{:?}", $tls::server::NoClientAuth),
                    format!("{:?}", $tls::server::NoServerSessionStorage {}),
                    format!("{:?}", $tls::time_provider::DefaultTimeProvider),
                    format!(
                        "{:?}",
                        $tls::client::danger::ServerCertVerified::assertion()
                    ),
                    format!(
                        "{:?}",
                        $tls::client::danger::HandshakeSignatureValid::assertion()
                    ),
                    format!(
                        "{:?}",
                        $tls::server::danger::ClientCertVerified::assertion()
                    ),
                    format!("{:?}", $tls::compress::CompressionLevel::Amortized),
                    format!("{:?}", $tls::compress::CompressionCache::Disabled),
                    format!("{:?}", $tls::crypto::KeyExchangeAlgorithm::ECDHE),
                    format!("{:?}", $tls::quic::Version::V2),
                    format!(
                        "{:?}",
                        $tls::client::TicketRequest {
                            new_session_count: 1,
                            resumption_count: 2
                        }
                    ),
                ];
                // the wire's enums, known and unknown
                for value in 0..=u8::MAX {
                    log.push(format!(
                        "{:?} {:?} {:?} {:?} {:?} {:?}",
                        AlertDescription::from(value),
                        ContentType::from(value),
                        HandshakeType::from(value),
                        SignatureAlgorithm::from(value),
                        $tls::crypto::hash::HashAlgorithm::from(value),
                        $tls::server::CertificateType::from(value),
                    ));
                }
                for value in 0..=u16::MAX {
                    log.push(format!("{:?}", CipherSuite::from(value)));
                    log.push(format!(
                        "{:?} {:?} {:?} {:?}",
                        NamedGroup::from(value),
                        SignatureScheme::from(value),
                        ProtocolVersion::from(value),
                        CertificateCompressionAlgorithm::from(value),
                    ));
                }
                log
            }
        }
    };
}

values!(this, rustls);
values!(upstream, rustls_upstream);

fn assert_same(ours: &[String], theirs: &[String]) {
    let mut different = Vec::new();
    for (ours, theirs) in ours.iter().zip(theirs) {
        // upstream reads the numbers of the suites that nobody should use as unknown ones, this crate knows their
        // names
        if ours != theirs && !theirs.starts_with("CipherSuite(0x") {
            different.push(format!("ours   {ours}\ntheirs {theirs}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn errors() {
    assert_same(&this::errors(), &upstream::errors());
}

#[test]
fn values() {
    assert_same(&this::values(), &upstream::values());
}
