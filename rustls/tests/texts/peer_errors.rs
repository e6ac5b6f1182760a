//! Prints every error that a peer can cause.

macro_rules! peer_errors {
    ($module:ident, $tls:ident) => {
        pub mod $module {
            use $tls::crypto::KeyExchangeAlgorithm;
            use $tls::{InvalidMessage, PeerIncompatible, PeerMisbehaved};

            use crate::texts::log::named;

            pub fn invalid_messages() -> Vec<(&'static str, InvalidMessage)> {
                named! {
                    InvalidMessage:
                    CertificatePayloadTooLarge, DuplicateExtension(1), DuplicateExtension(0xfe0d),
                    EmptyTicketValue, HandshakePayloadTooLarge, IllegalEmptyList("part"),
                    IllegalEmptyList(""), IllegalEmptyValue, InvalidCcs, InvalidCertRequest,
                    InvalidCertificateStatusType, InvalidContentType, InvalidDhParams,
                    InvalidEmptyPayload, InvalidKeyUpdate, InvalidServerName, MessageTooLarge,
                    MessageTooShort, MissingData("part"), MissingData(""), MissingKeyExchange,
                    NoSignatureSchemes, PreSharedKeyIsNotFinalExtension, TrailingData("part"),
                    TrailingData(""), UnexpectedMessage("part"), UnexpectedMessage(""),
                    UnknownCertificateExtension, UnknownHelloRetryRequestExtension,
                    UnknownProtocolVersion, UnsupportedCompression, UnsupportedCurveType,
                    UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm::DHE),
                    UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm::ECDHE),
                }
            }

            pub fn peer_misbehaved() -> Vec<(&'static str, PeerMisbehaved)> {
                named! {
                    PeerMisbehaved:
                    AttemptedDowngradeToTls12WhenTls13IsSupported, BadCertChainExtensions,
                    CipherSuiteDifferedOnRetry, DisallowedEncryptedExtension,
                    DuplicateClientHelloExtensions, DuplicateEncryptedExtensions,
                    DuplicateHelloRetryRequestExtensions, DuplicateNewSessionTicketExtensions,
                    DuplicateServerHelloExtensions, DuplicateServerNameTypes,
                    EarlyDataAttemptedInSecondClientHello, EarlyDataExtensionWithoutResumption,
                    EarlyDataOfferedWithVariedCipherSuite, EchAcceptanceVariedAfterRetry,
                    HandshakeHashVariedAfterRetry, IllegalHelloRetryRequestWithEmptyCookie,
                    IllegalHelloRetryRequestWithInvalidEch, IllegalHelloRetryRequestWithNoChanges,
                    IllegalHelloRetryRequestWithOfferedGroup,
                    IllegalHelloRetryRequestWithUnofferedCipherSuite,
                    IllegalHelloRetryRequestWithUnofferedNamedGroup,
                    IllegalHelloRetryRequestWithUnsupportedVersion,
                    IllegalHelloRetryRequestWithWrongSessionId, IllegalMiddleboxChangeCipherSpec,
                    IllegalTlsInnerPlaintext, IncorrectBinder, InvalidCertCompression,
                    InvalidKeyShare, InvalidMaxEarlyDataSize, KeyEpochWithPendingFragment,
                    KeyUpdateReceivedInQuicConnection, MessageInterleavedWithHandshakeMessage,
                    MissingBinderInPskExtension, MissingKeyShare,
                    MissingPskExtensionInSecondClientHello, MissingPskModesExtension,
                    MissingQuicTransportParameters, OfferedDuplicateCertificateCompressions,
                    OfferedDuplicateKeyShares, OfferedEarlyDataWithOldProtocolVersion,
                    OfferedEmptyApplicationProtocol, OfferedIncorrectCompressions,
                    PskExtensionMustBeLast, PskExtensionWithMismatchedIdsAndBinders,
                    RefusedToFollowHelloRetryRequest,
                    RejectedEarlyDataInterleavedWithHandshakeMessage,
                    ResumptionAttemptedWithVariedEms,
                    ResumptionOfferedWithIncompatibleCipherSuite,
                    ResumptionOfferedWithVariedCipherSuite, ResumptionOfferedWithVariedEms,
                    SelectedDifferentCipherSuiteAfterRetry, SelectedInvalidPsk,
                    SelectedTls12UsingTls13VersionExtension, SelectedUnofferedApplicationProtocol,
                    SelectedUnofferedCertCompression, SelectedUnofferedCipherSuite,
                    SelectedUnofferedCompression, SelectedUnofferedKxGroup, SelectedUnofferedPsk,
                    SelectedUnusableCipherSuiteForVersion, ServerEchoedCompatibilitySessionId,
                    ServerHelloMustOfferUncompressedEcPoints, ServerNameDifferedOnRetry,
                    ServerNameMustContainOneHostName, SignedHandshakeWithUnadvertisedSigScheme,
                    SignedKxWithWrongAlgorithm, TooManyEmptyFragments, TooManyKeyUpdateRequests,
                    TooManyRenegotiationRequests, TooManyWarningAlertsReceived,
                    TooMuchEarlyDataReceived, UnexpectedCleartextExtension,
                    UnsolicitedCertExtension, UnsolicitedEchExtension,
                    UnsolicitedEncryptedExtension, UnsolicitedSctList,
                    UnsolicitedServerHelloExtension, WrongGroupForKeyShare,
                }
            }

            pub fn peer_incompatible() -> Vec<(&'static str, PeerIncompatible)> {
                named! {
                    PeerIncompatible:
                    EcPointsExtensionRequired, ExtendedMasterSecretExtensionRequired,
                    IncorrectCertificateTypeExtension, KeyShareExtensionRequired,
                    NamedGroupsExtensionRequired, NoCertificateRequestSignatureSchemesInCommon,
                    NoCipherSuitesInCommon, NoEcPointFormatsInCommon, NoKxGroupsInCommon,
                    NoSignatureSchemesInCommon, NullCompressionRequired,
                    ServerDoesNotSupportTls12Or13, ServerRejectedEncryptedClientHello(None),
                    ServerRejectedEncryptedClientHello(Some(vec![])),
                    ServerSentHelloRetryRequestWithUnknownExtension,
                    ServerTlsVersionIsDisabledByOurConfig, SignatureAlgorithmsExtensionRequired,
                    SupportedVersionsExtensionRequired, Tls12NotOffered, Tls12NotOfferedOrEnabled,
                    Tls13RequiredForQuic, UncompressedEcPointsRequired,
                    UnsolicitedCertificateTypeExtension,
                }
            }
        }
    };
}

peer_errors!(this, rustls);
peer_errors!(upstream, rustls_upstream);
