//! The alert that the peer receives when a connection fails (RFC 9846 §6.2), as a table for each
//! type of error.
//!
//! To change the alert for an error, move its line to the match arm for that alert. If the alert
//! depends on the message, the handshake chooses it.

use super::{CertificateError, Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};
use crate::enums::AlertDescription;

impl Error {
    /// Returns the alert that is sent to the peer when a connection fails with this error, unless
    /// the handshake selects another.
    ///
    /// Returns `None` if no alert is sent, because the peer already sent one or floods the
    /// connection, or because records can no longer be sealed. Also returns `None` for errors that
    /// usually do not end a connection.
    pub fn alert(&self) -> Option<AlertDescription> {
        Some(match self {
            Self::InvalidMessage(cause) => (*cause).into(),
            // send nothing to a peer that floods the connection
            Self::PeerMisbehaved(
                PeerMisbehaved::TooManyKeyUpdateRequests
                | PeerMisbehaved::TooManyRenegotiationRequests
                | PeerMisbehaved::TooManyWarningAlertsReceived,
            ) => return None,
            Self::PeerMisbehaved(cause) => cause.alert(),
            Self::PeerIncompatible(cause) => cause.alert(),
            Self::InvalidCertificate(cause) => cause.alert(),

            Self::InappropriateMessage { .. } | Self::InappropriateHandshakeMessage { .. } => {
                AlertDescription::UnexpectedMessage
            }
            Self::DecryptError => AlertDescription::BadRecordMac,
            Self::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
            Self::NoCertificatesPresented => AlertDescription::CertificateRequired,
            Self::NoApplicationProtocol => AlertDescription::NoApplicationProtocol,

            Self::General(_)
            | Self::FailedToGetCurrentTime
            | Self::FailedToGetRandomBytes
            | Self::Other(_) => AlertDescription::InternalError,

            Self::AlertReceived(_)
            | Self::EncryptError
            | Self::HandshakeNotComplete
            | Self::UnsupportedNameType
            | Self::BadMaxFragmentSize
            | Self::InvalidCertRevocationList(_)
            | Self::InvalidEncryptedClientHello(_)
            | Self::InconsistentKeys(_) => return None,
        })
    }
}

impl From<InvalidMessage> for AlertDescription {
    fn from(cause: InvalidMessage) -> Self {
        match cause {
            InvalidMessage::DuplicateExtension(_)
            | InvalidMessage::PreSharedKeyIsNotFinalExtension
            | InvalidMessage::UnsupportedCompression => Self::IllegalParameter,

            InvalidMessage::UnknownCertificateExtension
            | InvalidMessage::UnknownHelloRetryRequestExtension => Self::UnsupportedExtension,

            InvalidMessage::CertificatePayloadTooLarge
            | InvalidMessage::EmptyTicketValue
            | InvalidMessage::HandshakePayloadTooLarge
            | InvalidMessage::IllegalEmptyList(_)
            | InvalidMessage::IllegalEmptyValue
            | InvalidMessage::InvalidCcs
            | InvalidMessage::InvalidCertRequest
            | InvalidMessage::InvalidCertificateStatusType
            | InvalidMessage::InvalidContentType
            | InvalidMessage::InvalidDhParams
            | InvalidMessage::InvalidEmptyPayload
            | InvalidMessage::InvalidKeyUpdate
            | InvalidMessage::InvalidServerName
            | InvalidMessage::MessageTooLarge
            | InvalidMessage::MessageTooShort
            | InvalidMessage::MissingData(_)
            | InvalidMessage::MissingKeyExchange
            | InvalidMessage::NoSignatureSchemes
            | InvalidMessage::TrailingData(_)
            | InvalidMessage::UnexpectedMessage(_)
            | InvalidMessage::UnknownProtocolVersion
            | InvalidMessage::UnsupportedCurveType
            | InvalidMessage::UnsupportedKeyExchangeAlgorithm(_) => Self::DecodeError,
        }
    }
}

impl PeerMisbehaved {
    fn alert(&self) -> AlertDescription {
        match self {
            Self::IllegalMiddleboxChangeCipherSpec
            | Self::IllegalTlsInnerPlaintext
            | Self::KeyEpochWithPendingFragment
            | Self::KeyUpdateReceivedInQuicConnection
            | Self::MessageInterleavedWithHandshakeMessage
            | Self::RejectedEarlyDataInterleavedWithHandshakeMessage
            | Self::TooManyEmptyFragments
            | Self::TooManyKeyUpdateRequests
            | Self::TooManyRenegotiationRequests
            | Self::TooManyWarningAlertsReceived
            | Self::TooMuchEarlyDataReceived => AlertDescription::UnexpectedMessage,

            Self::MissingKeyShare
            | Self::MissingPskExtensionInSecondClientHello
            | Self::MissingPskModesExtension
            | Self::MissingQuicTransportParameters => AlertDescription::MissingExtension,

            // RFC 9846 §4.3: a known extension in the wrong message
            Self::DisallowedEncryptedExtension | Self::UnexpectedCleartextExtension => {
                AlertDescription::IllegalParameter
            }

            Self::EarlyDataExtensionWithoutResumption
            | Self::IllegalHelloRetryRequestWithInvalidEch
            | Self::UnsolicitedCertExtension
            | Self::UnsolicitedEchExtension
            | Self::UnsolicitedEncryptedExtension
            | Self::UnsolicitedSctList
            | Self::UnsolicitedServerHelloExtension => AlertDescription::UnsupportedExtension,

            Self::IllegalHelloRetryRequestWithEmptyCookie
            | Self::OfferedEmptyApplicationProtocol => AlertDescription::DecodeError,

            Self::IncorrectBinder => AlertDescription::DecryptError,

            Self::InvalidCertCompression => AlertDescription::BadCertificate,

            Self::AttemptedDowngradeToTls12WhenTls13IsSupported
            | Self::BadCertChainExtensions
            | Self::CipherSuiteDifferedOnRetry
            | Self::DuplicateClientHelloExtensions
            | Self::DuplicateEncryptedExtensions
            | Self::DuplicateHelloRetryRequestExtensions
            | Self::DuplicateNewSessionTicketExtensions
            | Self::DuplicateServerHelloExtensions
            | Self::DuplicateServerNameTypes
            | Self::EarlyDataAttemptedInSecondClientHello
            | Self::EarlyDataOfferedWithVariedCipherSuite
            | Self::EchAcceptanceVariedAfterRetry
            | Self::HandshakeHashVariedAfterRetry
            | Self::IllegalHelloRetryRequestWithNoChanges
            | Self::IllegalHelloRetryRequestWithOfferedGroup
            | Self::IllegalHelloRetryRequestWithUnofferedCipherSuite
            | Self::IllegalHelloRetryRequestWithUnofferedNamedGroup
            | Self::IllegalHelloRetryRequestWithUnsupportedVersion
            | Self::IllegalHelloRetryRequestWithWrongSessionId
            | Self::InvalidKeyShare
            | Self::InvalidMaxEarlyDataSize
            | Self::MissingBinderInPskExtension
            | Self::OfferedDuplicateCertificateCompressions
            | Self::OfferedDuplicateKeyShares
            | Self::OfferedEarlyDataWithOldProtocolVersion
            | Self::OfferedIncorrectCompressions
            | Self::PskExtensionMustBeLast
            | Self::PskExtensionWithMismatchedIdsAndBinders
            | Self::RefusedToFollowHelloRetryRequest
            | Self::ResumptionAttemptedWithVariedEms
            | Self::ResumptionOfferedWithIncompatibleCipherSuite
            | Self::ResumptionOfferedWithVariedCipherSuite
            | Self::ResumptionOfferedWithVariedEms
            | Self::SelectedDifferentCipherSuiteAfterRetry
            | Self::SelectedInvalidPsk
            | Self::SelectedTls12UsingTls13VersionExtension
            | Self::SelectedUnofferedApplicationProtocol
            | Self::SelectedUnofferedCertCompression
            | Self::SelectedUnofferedCipherSuite
            | Self::SelectedUnofferedCompression
            | Self::SelectedUnofferedKxGroup
            | Self::SelectedUnofferedPsk
            | Self::SelectedUnusableCipherSuiteForVersion
            | Self::ServerEchoedCompatibilitySessionId
            | Self::ServerHelloMustOfferUncompressedEcPoints
            | Self::ServerNameDifferedOnRetry
            | Self::ServerNameMustContainOneHostName
            | Self::SignedHandshakeWithUnadvertisedSigScheme
            | Self::SignedKxWithWrongAlgorithm
            | Self::WrongGroupForKeyShare => AlertDescription::IllegalParameter,
        }
    }
}

impl PeerIncompatible {
    fn alert(&self) -> AlertDescription {
        match self {
            Self::ServerDoesNotSupportTls12Or13
            | Self::ServerTlsVersionIsDisabledByOurConfig
            | Self::SupportedVersionsExtensionRequired
            | Self::Tls12NotOffered
            | Self::Tls12NotOfferedOrEnabled
            | Self::Tls13RequiredForQuic => AlertDescription::ProtocolVersion,

            Self::KeyShareExtensionRequired
            | Self::NamedGroupsExtensionRequired
            | Self::SignatureAlgorithmsExtensionRequired => AlertDescription::MissingExtension,

            Self::ServerSentHelloRetryRequestWithUnknownExtension
            | Self::UnsolicitedCertificateTypeExtension => AlertDescription::UnsupportedExtension,

            // RFC 7250 §4.2
            Self::IncorrectCertificateTypeExtension => AlertDescription::UnsupportedCertificate,

            Self::NullCompressionRequired | Self::UncompressedEcPointsRequired => {
                AlertDescription::IllegalParameter
            }

            // RFC 9849 §6.1.6
            Self::ServerRejectedEncryptedClientHello(_) => {
                AlertDescription::EncryptedClientHelloRequired
            }

            Self::EcPointsExtensionRequired
            | Self::ExtendedMasterSecretExtensionRequired
            | Self::NoCertificateRequestSignatureSchemesInCommon
            | Self::NoCipherSuitesInCommon
            | Self::NoEcPointFormatsInCommon
            | Self::NoKxGroupsInCommon
            | Self::NoSignatureSchemesInCommon => AlertDescription::HandshakeFailure,
        }
    }
}

impl From<CertificateError> for AlertDescription {
    fn from(cause: CertificateError) -> Self {
        cause.alert()
    }
}

impl CertificateError {
    #[allow(deprecated)] // the match names every variant
    fn alert(&self) -> AlertDescription {
        match self {
            Self::BadEncoding
            | Self::NotValidForName
            | Self::NotValidForNameContext { .. }
            | Self::UnhandledCriticalExtension => AlertDescription::BadCertificate,

            Self::Expired
            | Self::ExpiredContext { .. }
            | Self::NotValidYet
            | Self::NotValidYetContext { .. } => AlertDescription::CertificateExpired,

            Self::Revoked => AlertDescription::CertificateRevoked,

            // a missing or stale revocation list is the fault of the authority, not of the
            // certificate
            Self::UnknownIssuer
            | Self::UnknownRevocationStatus
            | Self::ExpiredRevocationList
            | Self::ExpiredRevocationListContext { .. } => AlertDescription::UnknownCA,

            Self::BadSignature
            | Self::UnsupportedSignatureAlgorithm
            | Self::UnsupportedSignatureAlgorithmContext { .. }
            | Self::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                AlertDescription::DecryptError
            }

            Self::InvalidPurpose | Self::InvalidPurposeContext { .. } => {
                AlertDescription::UnsupportedCertificate
            }

            Self::InvalidOcspResponse => AlertDescription::BadCertificateStatusResponse,
            Self::ApplicationVerificationFailure => AlertDescription::AccessDenied,
            Self::Other(_) => AlertDescription::CertificateUnknown,
        }
    }
}
