//! Errors caused by the peer: malformed messages, protocol violations, and offers without a usable
//! option.

use alloc::vec::Vec;

use crate::ech_config::EchConfigPayload;
use crate::enums::KeyExchangeAlgorithm;

/// A syntax error in a message from the peer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// A Certificate message is longer than this library accepts.
    CertificatePayloadTooLarge,
    /// A list of extensions contains this type twice.
    DuplicateExtension(u16),
    /// A session ticket is empty.
    EmptyTicketValue,
    /// A handshake message is longer than this library accepts.
    HandshakePayloadTooLarge,
    /// The named list must not be empty.
    IllegalEmptyList(&'static str),
    /// A field must not be empty.
    IllegalEmptyValue,
    /// A ChangeCipherSpec is not a single byte 1.
    InvalidCcs,
    /// A CertificateRequest is malformed.
    InvalidCertRequest,
    /// A certificate status has a type other than OCSP.
    InvalidCertificateStatusType,
    /// A record has an unknown content type.
    InvalidContentType,
    /// Diffie-Hellman parameters are malformed.
    InvalidDhParams,
    /// A record of this type must not be empty.
    InvalidEmptyPayload,
    /// A KeyUpdate has an unknown value.
    InvalidKeyUpdate,
    /// A server name is not a DNS name.
    InvalidServerName,
    /// A record is longer than allowed.
    MessageTooLarge,
    /// A message is shorter than its length field states.
    MessageTooShort,
    /// The named field is missing or truncated.
    MissingData(&'static str),
    /// A ServerKeyExchange or ClientKeyExchange lacks its parameters.
    MissingKeyExchange,
    /// A list of signature schemes is empty.
    NoSignatureSchemes,
    /// In a ClientHello, another extension follows `pre_shared_key`.
    PreSharedKeyIsNotFinalExtension,
    /// Bytes follow the end of the named structure.
    TrailingData(&'static str),
    /// The named message is not expected at this point, so it was not parsed.
    UnexpectedMessage(&'static str),
    /// A certificate entry has an unknown extension.
    UnknownCertificateExtension,
    /// A HelloRetryRequest has an unknown extension.
    UnknownHelloRetryRequestExtension,
    /// A record's protocol version is not a TLS version.
    UnknownProtocolVersion,
    /// The compression method is not null.
    UnsupportedCompression,
    /// The elliptic curve is not a named curve.
    UnsupportedCurveType,
    /// The parameters belong to an unsupported key exchange.
    UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm),
}

/// A protocol violation in well-formed messages.
// Keep the order of rustls 0.23, because applications may cast the enum to a number. Append new
// variants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// The server negotiated TLS 1.2 although its random shows that it supports TLS 1.3.
    AttemptedDowngradeToTls12WhenTls13IsSupported,
    /// A certificate entry has extensions that are not allowed there.
    BadCertChainExtensions,
    /// The second ClientHello lacks the cipher suite that the HelloRetryRequest selected.
    CipherSuiteDifferedOnRetry,
    /// EncryptedExtensions has an extension that is not allowed there.
    DisallowedEncryptedExtension,
    /// A ClientHello has an extension twice.
    DuplicateClientHelloExtensions,
    /// EncryptedExtensions has an extension twice.
    DuplicateEncryptedExtensions,
    /// A HelloRetryRequest has an extension twice.
    DuplicateHelloRetryRequestExtensions,
    /// A NewSessionTicket has an extension twice.
    DuplicateNewSessionTicketExtensions,
    /// A ServerHello has an extension twice.
    DuplicateServerHelloExtensions,
    /// `server_name` has two names of one type.
    DuplicateServerNameTypes,
    /// The second ClientHello offers early data.
    EarlyDataAttemptedInSecondClientHello,
    /// The server accepted early data without accepting the session.
    EarlyDataExtensionWithoutResumption,
    /// The server accepted early data under a cipher suite other than the session's.
    EarlyDataOfferedWithVariedCipherSuite,
    /// HelloRetryRequest and ServerHello disagree about the acceptance of ECH.
    EchAcceptanceVariedAfterRetry,
    /// The ServerHello after a HelloRetryRequest implies a different transcript hash.
    HandshakeHashVariedAfterRetry,
    /// A HelloRetryRequest has an empty cookie.
    IllegalHelloRetryRequestWithEmptyCookie,
    /// A HelloRetryRequest requests no change.
    IllegalHelloRetryRequestWithNoChanges,
    /// A HelloRetryRequest requests a group whose share has already been sent.
    IllegalHelloRetryRequestWithOfferedGroup,
    /// A HelloRetryRequest selects a cipher suite that was not offered.
    IllegalHelloRetryRequestWithUnofferedCipherSuite,
    /// A HelloRetryRequest requests a group that was not offered.
    IllegalHelloRetryRequestWithUnofferedNamedGroup,
    /// A HelloRetryRequest does not select TLS 1.3.
    IllegalHelloRetryRequestWithUnsupportedVersion,
    /// A HelloRetryRequest does not echo the session ID.
    IllegalHelloRetryRequestWithWrongSessionId,
    /// A HelloRetryRequest has a malformed `encrypted_client_hello`.
    IllegalHelloRetryRequestWithInvalidEch,
    /// A ChangeCipherSpec came at a point where TLS 1.3 does not allow one.
    IllegalMiddleboxChangeCipherSpec,
    /// An encrypted record has no content type.
    IllegalTlsInnerPlaintext,
    /// A pre-shared key's binder does not verify.
    IncorrectBinder,
    /// A compressed certificate cannot be decompressed, or its length differs from the declared
    /// length.
    InvalidCertCompression,
    /// Over QUIC, the `max_early_data_size` of a ticket is not 2^32 - 1 (RFC 9001 §4.6.1).
    InvalidMaxEarlyDataSize,
    /// A key share is not a valid public key.
    InvalidKeyShare,
    /// A record continues after a message that changes the keys.
    KeyEpochWithPendingFragment,
    /// The peer sent a KeyUpdate over QUIC, which has its own key updates.
    KeyUpdateReceivedInQuicConnection,
    /// Another message came between the fragments of a handshake message.
    MessageInterleavedWithHandshakeMessage,
    /// `pre_shared_key` has no binder.
    MissingBinderInPskExtension,
    /// A ServerHello has no `key_share`.
    MissingKeyShare,
    /// The second ClientHello lacks the `pre_shared_key` of the first.
    MissingPskExtensionInSecondClientHello,
    /// A ClientHello has `pre_shared_key` but no `psk_key_exchange_modes`.
    MissingPskModesExtension,
    /// A QUIC peer did not send `quic_transport_parameters`.
    MissingQuicTransportParameters,
    /// `compress_certificate` names an algorithm twice.
    OfferedDuplicateCertificateCompressions,
    /// `key_share` has two shares of one group.
    OfferedDuplicateKeyShares,
    /// A client offers early data without TLS 1.3.
    OfferedEarlyDataWithOldProtocolVersion,
    /// ALPN has an empty protocol name.
    OfferedEmptyApplicationProtocol,
    /// A TLS 1.3 ClientHello offers compression methods other than null.
    OfferedIncorrectCompressions,
    /// In a ClientHello, another extension follows `pre_shared_key`.
    PskExtensionMustBeLast,
    /// `pre_shared_key` has different numbers of identities and binders.
    PskExtensionWithMismatchedIdsAndBinders,
    /// The second ClientHello does not follow the HelloRetryRequest.
    RefusedToFollowHelloRetryRequest,
    /// Rejected early data came between the fragments of a handshake message.
    RejectedEarlyDataInterleavedWithHandshakeMessage,
    /// The server resumed a session with a different use of extended master secrets.
    ResumptionAttemptedWithVariedEms,
    /// The server resumed a session under a different cipher suite.
    ResumptionOfferedWithVariedCipherSuite,
    /// The client resumes a session with a different use of extended master secrets.
    ResumptionOfferedWithVariedEms,
    /// The server resumed a session under a cipher suite with a different hash.
    ResumptionOfferedWithIncompatibleCipherSuite,
    /// ServerHello and HelloRetryRequest select different cipher suites.
    SelectedDifferentCipherSuiteAfterRetry,
    /// The server selected a pre-shared key by an index that was not offered.
    SelectedInvalidPsk,
    /// `supported_versions` must not select TLS 1.2.
    SelectedTls12UsingTls13VersionExtension,
    /// The server selected an application protocol that was not offered.
    SelectedUnofferedApplicationProtocol,
    /// A certificate is compressed with an algorithm that was not offered.
    SelectedUnofferedCertCompression,
    /// The server selected a cipher suite that was not offered.
    SelectedUnofferedCipherSuite,
    /// The server selected a compression method that was not offered.
    SelectedUnofferedCompression,
    /// The server selected a group that was not offered.
    SelectedUnofferedKxGroup,
    /// The server selected a pre-shared key although none was offered.
    SelectedUnofferedPsk,
    /// The server selected a cipher suite for a different protocol version.
    SelectedUnusableCipherSuiteForVersion,
    /// The server resumed a session by an ID that only serves compatibility with middleboxes.
    ServerEchoedCompatibilitySessionId,
    /// The server's point formats lack the uncompressed format.
    ServerHelloMustOfferUncompressedEcPoints,
    /// The second ClientHello has a different server name.
    ServerNameDifferedOnRetry,
    /// `server_name` must have exactly one host name.
    ServerNameMustContainOneHostName,
    /// The key that signed a ServerKeyExchange is not of the kind that the cipher suite needs.
    SignedKxWithWrongAlgorithm,
    /// A handshake signature uses a scheme that was not offered.
    SignedHandshakeWithUnadvertisedSigScheme,
    /// The peer sent too many empty records in a row.
    TooManyEmptyFragments,
    /// The peer sent too many KeyUpdates in a row.
    TooManyKeyUpdateRequests,
    /// The peer attempted too many renegotiations.
    TooManyRenegotiationRequests,
    /// The peer sent too many warning alerts.
    TooManyWarningAlertsReceived,
    /// The client sent more early data than the ticket or the server allows.
    TooMuchEarlyDataReceived,
    /// A ServerHello has an extension that must be encrypted.
    UnexpectedCleartextExtension,
    /// A certificate entry has an extension that was not requested.
    UnsolicitedCertExtension,
    /// EncryptedExtensions has an extension that was not offered.
    UnsolicitedEncryptedExtension,
    /// The server sent certificate timestamps that were not requested.
    UnsolicitedSctList,
    /// A ServerHello has an extension that was not offered.
    UnsolicitedServerHelloExtension,
    /// A key share is for a group other than the one requested.
    WrongGroupForKeyShare,
    /// The server responded to ECH, which the client did not offer.
    UnsolicitedEchExtension,
}

/// A requirement of this configuration that the peer does not meet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// `ec_point_formats` is required.
    EcPointsExtensionRequired,
    /// `extended_master_secret` is required.
    ExtendedMasterSecretExtensionRequired,
    /// The offered or selected certificate types do not include the configured one.
    IncorrectCertificateTypeExtension,
    /// `key_share` is required.
    KeyShareExtensionRequired,
    /// `supported_groups` is required.
    NamedGroupsExtensionRequired,
    /// The CertificateRequest names no usable signature scheme.
    NoCertificateRequestSignatureSchemesInCommon,
    /// The two sides support no common cipher suite.
    NoCipherSuitesInCommon,
    /// The two sides support no common elliptic curve point format.
    NoEcPointFormatsInCommon,
    /// The two sides support no common key exchange group.
    NoKxGroupsInCommon,
    /// The two sides support no common signature scheme.
    NoSignatureSchemesInCommon,
    /// The client does not offer null compression.
    NullCompressionRequired,
    /// The server only supports versions older than TLS 1.2.
    ServerDoesNotSupportTls12Or13,
    /// The server rejected ECH. Holds the configurations to retry with, if it sent any.
    ServerRejectedEncryptedClientHello(Option<Vec<EchConfigPayload>>),
    /// A HelloRetryRequest has an unknown extension.
    ServerSentHelloRetryRequestWithUnknownExtension,
    /// The server selected a version that this configuration disables.
    ServerTlsVersionIsDisabledByOurConfig,
    /// `signature_algorithms` is required.
    SignatureAlgorithmsExtensionRequired,
    /// `supported_versions` is required.
    SupportedVersionsExtensionRequired,
    /// The client does not offer TLS 1.2, and no other version is enabled.
    Tls12NotOffered,
    /// The client does not offer TLS 1.3, and TLS 1.2 is not offered or not enabled.
    Tls12NotOfferedOrEnabled,
    /// QUIC needs TLS 1.3.
    Tls13RequiredForQuic,
    /// The client's point formats lack the uncompressed format.
    UncompressedEcPointsRequired,
    /// The server selected a certificate type although none was offered.
    UnsolicitedCertificateTypeExtension,
}
