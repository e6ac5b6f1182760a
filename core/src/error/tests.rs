use alloc::string::ToString;
use alloc::{format, vec};
use core::time::Duration;

use super::*;
use crate::enums::AlertDescription as Alert;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn name(name: &'static str) -> ServerName<'static> {
    name.try_into().unwrap()
}

fn other() -> OtherError {
    OtherError(Arc::new(fmt::Error))
}

/// Returns the variants of `Error` that do not contain a cause from a peer or a certificate, with
/// their alerts. `rustls/tests/texts` compares the text, alert and equality of each such cause with
/// rustls 0.23.
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
fn some_alerts_follow_rfc_9846_although_0_23_sends_decode_error() {
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
fn each_plain_error_maps_to_its_alert() {
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
fn each_incompatibility_maps_to_its_specified_alert() {
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

/// These texts are composed from several parts.
#[test]
fn texts_name_the_expected_and_the_received_value() {
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

/// Applications may cast the enum to a number. In rustls 0.23, these variants are not in
/// alphabetical order.
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
fn errors_with_different_contexts_differ() {
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
fn error_other_never_compares_equal_and_has_a_source() {
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
