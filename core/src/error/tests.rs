use alloc::string::ToString;
use alloc::{format, vec};
use core::time::Duration;

use super::*;
use crate::enums::{AlertDescription as Alert, KeyExchangeAlgorithm};

const AT: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(7));

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn name(name: &'static str) -> ServerName<'static> {
    name.try_into().unwrap()
}

fn other() -> OtherError {
    OtherError(Arc::new(fmt::Error))
}

/// Every `InvalidMessage`, with the alert to which rustls 0.23.46 converts it.
const INVALID_MESSAGES: &[(InvalidMessage, Alert)] = &[
    (
        InvalidMessage::CertificatePayloadTooLarge,
        Alert::DecodeError,
    ),
    (
        InvalidMessage::DuplicateExtension(1),
        Alert::IllegalParameter,
    ),
    (InvalidMessage::EmptyTicketValue, Alert::DecodeError),
    (InvalidMessage::HandshakePayloadTooLarge, Alert::DecodeError),
    (InvalidMessage::IllegalEmptyList("x"), Alert::DecodeError),
    (InvalidMessage::IllegalEmptyValue, Alert::DecodeError),
    (InvalidMessage::InvalidCcs, Alert::DecodeError),
    (InvalidMessage::InvalidCertRequest, Alert::DecodeError),
    (
        InvalidMessage::InvalidCertificateStatusType,
        Alert::DecodeError,
    ),
    (InvalidMessage::InvalidContentType, Alert::DecodeError),
    (InvalidMessage::InvalidDhParams, Alert::DecodeError),
    (InvalidMessage::InvalidEmptyPayload, Alert::DecodeError),
    (InvalidMessage::InvalidKeyUpdate, Alert::DecodeError),
    (InvalidMessage::InvalidServerName, Alert::DecodeError),
    (InvalidMessage::MessageTooLarge, Alert::DecodeError),
    (InvalidMessage::MessageTooShort, Alert::DecodeError),
    (InvalidMessage::MissingData("x"), Alert::DecodeError),
    (InvalidMessage::MissingKeyExchange, Alert::DecodeError),
    (InvalidMessage::NoSignatureSchemes, Alert::DecodeError),
    (
        InvalidMessage::PreSharedKeyIsNotFinalExtension,
        Alert::IllegalParameter,
    ),
    (InvalidMessage::TrailingData("x"), Alert::DecodeError),
    (InvalidMessage::UnexpectedMessage("x"), Alert::DecodeError),
    (
        InvalidMessage::UnknownHelloRetryRequestExtension,
        Alert::UnsupportedExtension,
    ),
    (InvalidMessage::UnknownProtocolVersion, Alert::DecodeError),
    (InvalidMessage::UnsupportedCurveType, Alert::DecodeError),
    (
        InvalidMessage::UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm::DHE),
        Alert::DecodeError,
    ),
];

/// Every `CertificateError`, with the alert to which rustls 0.23.46 converts it.
#[allow(deprecated)] // the list names every variant
fn certificate_errors() -> Vec<(CertificateError, Alert)> {
    vec![
        (
            CertificateError::ApplicationVerificationFailure,
            Alert::AccessDenied,
        ),
        (CertificateError::BadEncoding, Alert::BadCertificate),
        (CertificateError::BadSignature, Alert::DecryptError),
        (CertificateError::Expired, Alert::CertificateExpired),
        (
            CertificateError::ExpiredContext {
                time: AT,
                not_after: AT,
            },
            Alert::CertificateExpired,
        ),
        (CertificateError::ExpiredRevocationList, Alert::UnknownCA),
        (
            CertificateError::ExpiredRevocationListContext {
                time: AT,
                next_update: AT,
            },
            Alert::UnknownCA,
        ),
        (
            CertificateError::InvalidOcspResponse,
            Alert::BadCertificateStatusResponse,
        ),
        (
            CertificateError::InvalidPurpose,
            Alert::UnsupportedCertificate,
        ),
        (
            CertificateError::InvalidPurposeContext {
                required: ExtendedKeyPurpose::ServerAuth,
                presented: vec![ExtendedKeyPurpose::ClientAuth],
            },
            Alert::UnsupportedCertificate,
        ),
        (CertificateError::NotValidForName, Alert::BadCertificate),
        (
            CertificateError::NotValidForNameContext {
                expected: name("a.example"),
                presented: vec!["b.example".to_string()],
            },
            Alert::BadCertificate,
        ),
        (CertificateError::NotValidYet, Alert::CertificateExpired),
        (
            CertificateError::NotValidYetContext {
                time: AT,
                not_before: AT,
            },
            Alert::CertificateExpired,
        ),
        (CertificateError::Other(other()), Alert::CertificateUnknown),
        (CertificateError::Revoked, Alert::CertificateRevoked),
        (
            CertificateError::UnhandledCriticalExtension,
            Alert::BadCertificate,
        ),
        (CertificateError::UnknownIssuer, Alert::UnknownCA),
        (CertificateError::UnknownRevocationStatus, Alert::UnknownCA),
        (
            CertificateError::UnsupportedSignatureAlgorithm,
            Alert::DecryptError,
        ),
        (
            CertificateError::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id: vec![1],
                supported_algorithms: vec![],
            },
            Alert::DecryptError,
        ),
        (
            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                signature_algorithm_id: vec![1],
                public_key_algorithm_id: vec![2],
            },
            Alert::DecryptError,
        ),
    ]
}

#[allow(deprecated)] // the list names every variant
fn revocation_list_errors() -> Vec<CertRevocationListError> {
    vec![
        CertRevocationListError::BadSignature,
        CertRevocationListError::InvalidCrlNumber,
        CertRevocationListError::InvalidRevokedCertSerialNumber,
        CertRevocationListError::IssuerInvalidForCrl,
        CertRevocationListError::Other(other()),
        CertRevocationListError::ParseError,
        CertRevocationListError::UnsupportedCriticalExtension,
        CertRevocationListError::UnsupportedCrlVersion,
        CertRevocationListError::UnsupportedDeltaCrl,
        CertRevocationListError::UnsupportedIndirectCrl,
        CertRevocationListError::UnsupportedRevocationReason,
        CertRevocationListError::UnsupportedSignatureAlgorithm,
        CertRevocationListError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![1],
            supported_algorithms: vec![],
        },
        CertRevocationListError::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id: vec![1],
            public_key_algorithm_id: vec![2],
        },
    ]
}

const PEER_MISBEHAVED: &[PeerMisbehaved] = &[
    PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported,
    PeerMisbehaved::BadCertChainExtensions,
    PeerMisbehaved::CipherSuiteDifferedOnRetry,
    PeerMisbehaved::DisallowedEncryptedExtension,
    PeerMisbehaved::DuplicateClientHelloExtensions,
    PeerMisbehaved::DuplicateEncryptedExtensions,
    PeerMisbehaved::DuplicateHelloRetryRequestExtensions,
    PeerMisbehaved::DuplicateNewSessionTicketExtensions,
    PeerMisbehaved::DuplicateServerHelloExtensions,
    PeerMisbehaved::DuplicateServerNameTypes,
    PeerMisbehaved::EarlyDataAttemptedInSecondClientHello,
    PeerMisbehaved::EarlyDataExtensionWithoutResumption,
    PeerMisbehaved::EarlyDataOfferedWithVariedCipherSuite,
    PeerMisbehaved::EchAcceptanceVariedAfterRetry,
    PeerMisbehaved::HandshakeHashVariedAfterRetry,
    PeerMisbehaved::IllegalHelloRetryRequestWithEmptyCookie,
    PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch,
    PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges,
    PeerMisbehaved::IllegalHelloRetryRequestWithOfferedGroup,
    PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedCipherSuite,
    PeerMisbehaved::IllegalHelloRetryRequestWithUnofferedNamedGroup,
    PeerMisbehaved::IllegalHelloRetryRequestWithUnsupportedVersion,
    PeerMisbehaved::IllegalHelloRetryRequestWithWrongSessionId,
    PeerMisbehaved::IllegalMiddleboxChangeCipherSpec,
    PeerMisbehaved::IllegalTlsInnerPlaintext,
    PeerMisbehaved::IncorrectBinder,
    PeerMisbehaved::InvalidCertCompression,
    PeerMisbehaved::InvalidKeyShare,
    PeerMisbehaved::InvalidMaxEarlyDataSize,
    PeerMisbehaved::KeyEpochWithPendingFragment,
    PeerMisbehaved::KeyUpdateReceivedInQuicConnection,
    PeerMisbehaved::MessageInterleavedWithHandshakeMessage,
    PeerMisbehaved::MissingBinderInPskExtension,
    PeerMisbehaved::MissingKeyShare,
    PeerMisbehaved::MissingPskExtensionInSecondClientHello,
    PeerMisbehaved::MissingPskModesExtension,
    PeerMisbehaved::MissingQuicTransportParameters,
    PeerMisbehaved::OfferedDuplicateCertificateCompressions,
    PeerMisbehaved::OfferedDuplicateKeyShares,
    PeerMisbehaved::OfferedEarlyDataWithOldProtocolVersion,
    PeerMisbehaved::OfferedEmptyApplicationProtocol,
    PeerMisbehaved::OfferedIncorrectCompressions,
    PeerMisbehaved::PskExtensionMustBeLast,
    PeerMisbehaved::PskExtensionWithMismatchedIdsAndBinders,
    PeerMisbehaved::RefusedToFollowHelloRetryRequest,
    PeerMisbehaved::RejectedEarlyDataInterleavedWithHandshakeMessage,
    PeerMisbehaved::ResumptionAttemptedWithVariedEms,
    PeerMisbehaved::ResumptionOfferedWithIncompatibleCipherSuite,
    PeerMisbehaved::ResumptionOfferedWithVariedCipherSuite,
    PeerMisbehaved::ResumptionOfferedWithVariedEms,
    PeerMisbehaved::SelectedDifferentCipherSuiteAfterRetry,
    PeerMisbehaved::SelectedInvalidPsk,
    PeerMisbehaved::SelectedTls12UsingTls13VersionExtension,
    PeerMisbehaved::SelectedUnofferedApplicationProtocol,
    PeerMisbehaved::SelectedUnofferedCertCompression,
    PeerMisbehaved::SelectedUnofferedCipherSuite,
    PeerMisbehaved::SelectedUnofferedCompression,
    PeerMisbehaved::SelectedUnofferedKxGroup,
    PeerMisbehaved::SelectedUnofferedPsk,
    PeerMisbehaved::SelectedUnusableCipherSuiteForVersion,
    PeerMisbehaved::ServerEchoedCompatibilitySessionId,
    PeerMisbehaved::ServerHelloMustOfferUncompressedEcPoints,
    PeerMisbehaved::ServerNameDifferedOnRetry,
    PeerMisbehaved::ServerNameMustContainOneHostName,
    PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme,
    PeerMisbehaved::SignedKxWithWrongAlgorithm,
    PeerMisbehaved::TooManyEmptyFragments,
    PeerMisbehaved::TooManyKeyUpdateRequests,
    PeerMisbehaved::TooManyRenegotiationRequests,
    PeerMisbehaved::TooManyWarningAlertsReceived,
    PeerMisbehaved::TooMuchEarlyDataReceived,
    PeerMisbehaved::UnexpectedCleartextExtension,
    PeerMisbehaved::UnsolicitedCertExtension,
    PeerMisbehaved::UnsolicitedEchExtension,
    PeerMisbehaved::UnsolicitedEncryptedExtension,
    PeerMisbehaved::UnsolicitedSctList,
    PeerMisbehaved::UnsolicitedServerHelloExtension,
    PeerMisbehaved::WrongGroupForKeyShare,
];

fn peer_incompatible() -> Vec<PeerIncompatible> {
    vec![
        PeerIncompatible::EcPointsExtensionRequired,
        PeerIncompatible::ExtendedMasterSecretExtensionRequired,
        PeerIncompatible::IncorrectCertificateTypeExtension,
        PeerIncompatible::KeyShareExtensionRequired,
        PeerIncompatible::NamedGroupsExtensionRequired,
        PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon,
        PeerIncompatible::NoCipherSuitesInCommon,
        PeerIncompatible::NoEcPointFormatsInCommon,
        PeerIncompatible::NoKxGroupsInCommon,
        PeerIncompatible::NoSignatureSchemesInCommon,
        PeerIncompatible::NullCompressionRequired,
        PeerIncompatible::ServerDoesNotSupportTls12Or13,
        PeerIncompatible::ServerSentHelloRetryRequestWithUnknownExtension,
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        PeerIncompatible::SignatureAlgorithmsExtensionRequired,
        PeerIncompatible::SupportedVersionsExtensionRequired,
        PeerIncompatible::Tls12NotOffered,
        PeerIncompatible::Tls12NotOfferedOrEnabled,
        PeerIncompatible::Tls13RequiredForQuic,
        PeerIncompatible::UncompressedEcPointsRequired,
        PeerIncompatible::UnsolicitedCertificateTypeExtension,
        PeerIncompatible::ServerRejectedEncryptedClientHello(None),
    ]
}

/// The variants of `Error` that hold none of the enums above, with their alerts.
fn plain_errors() -> Vec<(Error, Option<Alert>)> {
    vec![
        (
            Error::InappropriateMessage {
                expect_types: vec![ContentType::Alert],
                got_type: ContentType::Handshake,
            },
            Some(Alert::UnexpectedMessage),
        ),
        (
            Error::InappropriateHandshakeMessage {
                expect_types: vec![],
                got_type: HandshakeType::Finished,
            },
            Some(Alert::UnexpectedMessage),
        ),
        (Error::DecryptError, Some(Alert::BadRecordMac)),
        (Error::PeerSentOversizedRecord, Some(Alert::RecordOverflow)),
        (
            Error::NoCertificatesPresented,
            Some(Alert::CertificateRequired),
        ),
        (
            Error::NoApplicationProtocol,
            Some(Alert::NoApplicationProtocol),
        ),
        (
            Error::General("cause".to_string()),
            Some(Alert::InternalError),
        ),
        (Error::FailedToGetCurrentTime, Some(Alert::InternalError)),
        (Error::FailedToGetRandomBytes, Some(Alert::InternalError)),
        (Error::Other(other()), Some(Alert::InternalError)),
        (Error::AlertReceived(Alert::HandshakeFailure), None),
        (Error::EncryptError, None),
        (Error::HandshakeNotComplete, None),
        (Error::UnsupportedNameType, None),
        (Error::BadMaxFragmentSize, None),
        (CertRevocationListError::ParseError.into(), None),
        (EncryptedClientHelloError::InvalidConfigList.into(), None),
        (EncryptedClientHelloError::NoCompatibleConfig.into(), None),
        (EncryptedClientHelloError::SniRequired.into(), None),
        (InconsistentKeys::KeyMismatch.into(), None),
        (InconsistentKeys::Unknown.into(), None),
    ]
}

#[test]
fn invalid_messages_have_the_alerts_of_0_23() {
    for (cause, alert) in INVALID_MESSAGES {
        assert_eq!(Alert::from(*cause), *alert, "{cause:?}");
        assert_eq!(Error::from(*cause).alert(), Some(*alert), "{cause:?}");
    }
}

#[test]
fn alerts_follow_rfc_9846_where_0_23_sends_decode_error() {
    for (cause, alert) in [
        (
            InvalidMessage::UnknownCertificateExtension,
            Alert::UnsupportedExtension,
        ),
        (
            InvalidMessage::UnsupportedCompression,
            Alert::IllegalParameter,
        ),
    ] {
        assert_eq!(Alert::from(cause), alert, "{cause:?}");
    }
}

#[test]
fn certificate_errors_have_the_alerts_of_0_23() {
    for (cause, alert) in certificate_errors() {
        assert_eq!(Alert::from(cause.clone()), alert, "{cause:?}");
        assert_eq!(Error::from(cause.clone()).alert(), Some(alert), "{cause:?}");
    }
}

#[test]
fn other_errors_have_their_alerts() {
    for (error, alert) in plain_errors() {
        assert_eq!(error.alert(), alert, "{error:?}");
    }
}

#[test]
fn misbehaviour_has_the_alert_of_its_rule() {
    let alert = |cause: PeerMisbehaved| Error::from(cause).alert();
    for cause in [
        PeerMisbehaved::KeyEpochWithPendingFragment,
        PeerMisbehaved::MessageInterleavedWithHandshakeMessage,
        PeerMisbehaved::IllegalMiddleboxChangeCipherSpec,
        PeerMisbehaved::IllegalTlsInnerPlaintext,
        PeerMisbehaved::TooManyEmptyFragments,
        PeerMisbehaved::TooMuchEarlyDataReceived,
    ] {
        assert_eq!(alert(cause), Some(Alert::UnexpectedMessage));
    }
    for cause in [
        PeerMisbehaved::TooManyKeyUpdateRequests,
        PeerMisbehaved::TooManyWarningAlertsReceived,
    ] {
        assert_eq!(alert(cause), None);
    }
    assert_eq!(
        alert(PeerMisbehaved::MissingKeyShare),
        Some(Alert::MissingExtension)
    );
    assert_eq!(
        alert(PeerMisbehaved::IncorrectBinder),
        Some(Alert::DecryptError)
    );
    assert_eq!(
        alert(PeerMisbehaved::UnsolicitedServerHelloExtension),
        Some(Alert::UnsupportedExtension)
    );
    assert_eq!(
        alert(PeerMisbehaved::SelectedUnofferedCipherSuite),
        Some(Alert::IllegalParameter)
    );
}

#[test]
fn incompatibility_has_the_alert_of_its_rule() {
    let alert = |cause: PeerIncompatible| Error::from(cause).alert();
    assert_eq!(
        alert(PeerIncompatible::NoCipherSuitesInCommon),
        Some(Alert::HandshakeFailure)
    );
    assert_eq!(
        alert(PeerIncompatible::Tls12NotOfferedOrEnabled),
        Some(Alert::ProtocolVersion)
    );
    assert_eq!(
        alert(PeerIncompatible::KeyShareExtensionRequired),
        Some(Alert::MissingExtension)
    );
    assert_eq!(
        alert(PeerIncompatible::NullCompressionRequired),
        Some(Alert::IllegalParameter)
    );
    assert_eq!(
        alert(PeerIncompatible::ServerRejectedEncryptedClientHello(None)),
        Some(Alert::EncryptedClientHelloRequired)
    );
}

fn every_error() -> Vec<Error> {
    let mut all: Vec<Error> = Vec::new();
    all.extend(plain_errors().into_iter().map(|(error, _)| error));
    all.extend(
        INVALID_MESSAGES
            .iter()
            .map(|(cause, _)| Error::from(*cause)),
    );
    all.extend(
        certificate_errors()
            .into_iter()
            .map(|(cause, _)| Error::from(cause)),
    );
    all.extend(revocation_list_errors().into_iter().map(Error::from));
    all.extend(PEER_MISBEHAVED.iter().cloned().map(Error::from));
    all.extend(peer_incompatible().into_iter().map(Error::from));
    all
}

#[test]
fn every_error_has_a_unique_text() {
    let mut texts: Vec<_> = every_error().iter().map(Error::to_string).collect();
    assert!(texts.iter().all(|text| !text.is_empty()));
    let count = texts.len();
    texts.sort();
    texts.dedup();
    // the lists contain `CertRevocationListError::ParseError` twice
    assert_eq!(texts.len(), count - 1);
}

/// The test `texts` of `rustls` compares each text with that of 0.23. This one covers texts that
/// are composed of several parts.
#[test]
fn texts_name_what_was_expected_and_received() {
    for (expect_types, text) in [
        (vec![], ""),
        (vec![ContentType::Alert], "Alert"),
        (
            vec![ContentType::Alert, ContentType::Unknown(9)],
            "Alert or ContentType(0x9)",
        ),
    ] {
        let error = Error::InappropriateMessage {
            expect_types,
            got_type: ContentType::Handshake,
        };
        let expected = format!("received unexpected message: got Handshake when expecting {text}");
        assert_eq!(error.to_string(), expected);
    }

    for (time, text) in [(90, "60 seconds ago"), (30, "0 seconds ago")] {
        let not_after = at(30);
        let time = at(time);
        let error = CertificateError::ExpiredContext { time, not_after };
        assert!(error.to_string().contains(text), "{error}");
    }

    for (presented, text) in [
        (vec![], "not valid for any names"),
        (vec!["b.example"], "only valid for b.example"),
        (vec!["b", "c"], "only valid for b or c"),
        (vec!["b", "c", "d"], "only valid for b, c or d"),
    ] {
        let error = CertificateError::NotValidForNameContext {
            expected: name("2001:db8::1"),
            presented: presented.iter().map(ToString::to_string).collect(),
        };
        let expected =
            format!("certificate not valid for name \"2001:db8::1\"; certificate is {text}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    let error = CertificateError::InvalidPurposeContext {
        required: ExtendedKeyPurpose::ServerAuth,
        presented: vec![
            ExtendedKeyPurpose::ClientAuth,
            ExtendedKeyPurpose::Other(vec![2, 5, 29]),
        ],
    };
    assert_eq!(
        error.to_string(),
        "certificate does not allow extended key usage for server authentication, \
         allows client authentication, 2, 5, 29"
    );
}

/// Applications may cast the enum to a number. In 0.23, these variants are not in alphabetical
/// order.
#[test]
fn peer_misbehaviour_has_the_numbers_of_0_23() {
    for (wrong, number) in [
        (PeerMisbehaved::IllegalHelloRetryRequestWithEmptyCookie, 15),
        (PeerMisbehaved::IllegalHelloRetryRequestWithNoChanges, 16),
        (PeerMisbehaved::IllegalHelloRetryRequestWithInvalidEch, 22),
        (PeerMisbehaved::InvalidMaxEarlyDataSize, 27),
        (PeerMisbehaved::InvalidKeyShare, 28),
        (PeerMisbehaved::ResumptionOfferedWithVariedCipherSuite, 47),
        (PeerMisbehaved::ResumptionOfferedWithVariedEms, 48),
        (
            PeerMisbehaved::ResumptionOfferedWithIncompatibleCipherSuite,
            49,
        ),
        (PeerMisbehaved::SignedKxWithWrongAlgorithm, 64),
        (PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme, 65),
        (PeerMisbehaved::UnsolicitedEncryptedExtension, 73),
        (PeerMisbehaved::WrongGroupForKeyShare, 76),
        (PeerMisbehaved::UnsolicitedEchExtension, 77),
    ] {
        assert_eq!(wrong.clone() as usize, number, "{wrong:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "compares all pairs of errors")]
fn every_error_except_other_equals_only_itself() {
    let all = every_error();
    for (i, left) in all.iter().enumerate() {
        for (j, right) in all.iter().enumerate() {
            let same = i == j || format!("{left:?}") == format!("{right:?}");
            let holds_other = format!("{left:?}").contains("OtherError");
            assert_eq!(
                left == right,
                same && !holds_other,
                "{left:?} and {right:?}"
            );
        }
    }
}

#[test]
fn context_is_compared() {
    let expired = |time, not_after| CertificateError::ExpiredContext {
        time: at(time),
        not_after: at(not_after),
    };
    assert_eq!(expired(2, 1), expired(2, 1));
    assert_ne!(expired(2, 1), expired(3, 1));
    assert_ne!(expired(2, 1), expired(2, 0));
    assert_ne!(expired(2, 1), CertificateError::Expired);

    let purpose = |presented| CertificateError::InvalidPurposeContext {
        required: ExtendedKeyPurpose::ServerAuth,
        presented,
    };
    assert_ne!(
        purpose(vec![
            ExtendedKeyPurpose::ClientAuth,
            ExtendedKeyPurpose::ServerAuth
        ]),
        purpose(vec![
            ExtendedKeyPurpose::ServerAuth,
            ExtendedKeyPurpose::ClientAuth
        ])
    );
}

#[test]
fn an_other_error_equals_nothing_and_has_a_source() {
    let error = other();
    assert_ne!(error, error.clone());
    assert!(
        error
            .source()
            .is_some_and(|source| source.is::<fmt::Error>())
    );
    assert_eq!(error.to_string(), fmt::Error.to_string());
}

#[cfg(feature = "std")]
#[test]
fn a_time_before_1970_is_an_error() {
    let future = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    let error = std::time::SystemTime::UNIX_EPOCH
        .duration_since(future)
        .unwrap_err();
    assert_eq!(Error::from(error), Error::FailedToGetCurrentTime);
}
