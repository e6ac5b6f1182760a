//! What a peer can do wrong: break the syntax of a message, break a rule, or offer nothing acceptable.

use alloc::vec::Vec;

use crate::ech_config::EchConfigPayload;
use crate::enums::KeyExchangeAlgorithm;

/// How a message from the peer breaks the syntax of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// A Certificate message is longer than this library accepts.
    CertificatePayloadTooLarge,
    /// An extension of this type stands twice in one block.
    DuplicateExtension(u16),
    /// A session ticket is empty.
    EmptyTicketValue,
    /// A handshake message is longer than this library accepts.
    HandshakePayloadTooLarge,
    /// The named list is empty and must not be.
    IllegalEmptyList(&'static str),
    /// A field is empty and must not be.
    IllegalEmptyValue,
    /// A ChangeCipherSpec is anything but a single byte 1.
    InvalidCcs,
    /// A CertificateRequest is malformed.
    InvalidCertRequest,
    /// A certificate status is of a type other than OCSP.
    InvalidCertificateStatusType,
    /// A record's content type is not known.
    InvalidContentType,
    /// Diffie-Hellman parameters are malformed.
    InvalidDhParams,
    /// A record is empty, of a type for which that is not allowed.
    InvalidEmptyPayload,
    /// A KeyUpdate carries a value that is not known.
    InvalidKeyUpdate,
    /// A server name is no DNS name.
    InvalidServerName,
    /// A record is longer than allowed.
    MessageTooLarge,
    /// A message ends before its length field says.
    MessageTooShort,
    /// The named field is missing or cut short.
    MissingData(&'static str),
    /// A ServerKeyExchange or ClientKeyExchange lacks its parameters.
    MissingKeyExchange,
    /// A list of signature schemes is empty.
    NoSignatureSchemes,
    /// In a ClientHello something follows `pre_shared_key`.
    PreSharedKeyIsNotFinalExtension,
    /// Bytes follow the end of the named structure.
    TrailingData(&'static str),
    /// The named message cannot be parsed where it came.
    UnexpectedMessage(&'static str),
    /// A certificate entry carries an extension that is not known.
    UnknownCertificateExtension,
    /// A HelloRetryRequest carries an extension that is not known.
    UnknownHelloRetryRequestExtension,
    /// A record's protocol version is not one of TLS.
    UnknownProtocolVersion,
    /// A compression method other than null.
    UnsupportedCompression,
    /// An elliptic curve that is not a named one.
    UnsupportedCurveType,
    /// Parameters of a key exchange that is not supported.
    UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm),
}

/// How the peer broke a rule of the protocol with messages that are well-formed.
// in the order of 0.23, since applications may cast it to a number
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// The server's random says it supports TLS 1.3, yet TLS 1.2 was negotiated.
    AttemptedDowngradeToTls12WhenTls13IsSupported,
    /// A certificate entry carries extensions it must not carry.
    BadCertChainExtensions,
    /// The second ClientHello's cipher suites exclude the one the retry chose.
    CipherSuiteDifferedOnRetry,
    /// EncryptedExtensions carries an extension that does not belong there.
    DisallowedEncryptedExtension,
    /// A ClientHello carries an extension twice.
    DuplicateClientHelloExtensions,
    /// EncryptedExtensions carries an extension twice.
    DuplicateEncryptedExtensions,
    /// A HelloRetryRequest carries an extension twice.
    DuplicateHelloRetryRequestExtensions,
    /// A NewSessionTicket carries an extension twice.
    DuplicateNewSessionTicketExtensions,
    /// A ServerHello carries an extension twice.
    DuplicateServerHelloExtensions,
    /// `server_name` carries two names of one type.
    DuplicateServerNameTypes,
    /// The ClientHello after a retry offers early data.
    EarlyDataAttemptedInSecondClientHello,
    /// The server accepted early data without accepting the session.
    EarlyDataExtensionWithoutResumption,
    /// The server accepted early data under another cipher suite than the session's.
    EarlyDataOfferedWithVariedCipherSuite,
    /// The HelloRetryRequest and the ServerHello disagree on whether ECH was accepted.
    EchAcceptanceVariedAfterRetry,
    /// The ServerHello after a retry implies another transcript hash.
    HandshakeHashVariedAfterRetry,
    /// A HelloRetryRequest with an empty cookie.
    IllegalHelloRetryRequestWithEmptyCookie,
    /// A HelloRetryRequest that asks for nothing.
    IllegalHelloRetryRequestWithNoChanges,
    /// A HelloRetryRequest for a group of which a share was already sent.
    IllegalHelloRetryRequestWithOfferedGroup,
    /// A HelloRetryRequest with a cipher suite that was not offered.
    IllegalHelloRetryRequestWithUnofferedCipherSuite,
    /// A HelloRetryRequest for a group that was not offered.
    IllegalHelloRetryRequestWithUnofferedNamedGroup,
    /// A HelloRetryRequest that does not select TLS 1.3.
    IllegalHelloRetryRequestWithUnsupportedVersion,
    /// A HelloRetryRequest that does not echo the session id.
    IllegalHelloRetryRequestWithWrongSessionId,
    /// A HelloRetryRequest with a malformed `encrypted_client_hello`.
    IllegalHelloRetryRequestWithInvalidEch,
    /// A ChangeCipherSpec where TLS 1.3 does not tolerate one.
    IllegalMiddleboxChangeCipherSpec,
    /// A protected record without a content type.
    IllegalTlsInnerPlaintext,
    /// A pre-shared key's binder does not verify.
    IncorrectBinder,
    /// A compressed certificate does not decompress to what it says.
    InvalidCertCompression,
    /// `max_early_data_size` is not what its context demands.
    InvalidMaxEarlyDataSize,
    /// A key share is not a valid public key.
    InvalidKeyShare,
    /// Handshake bytes follow, in one record, a message after which the keys change.
    KeyEpochWithPendingFragment,
    /// A KeyUpdate inside QUIC, which updates keys by itself.
    KeyUpdateReceivedInQuicConnection,
    /// Another message came between the fragments of a handshake message.
    MessageInterleavedWithHandshakeMessage,
    /// `pre_shared_key` carries no binder.
    MissingBinderInPskExtension,
    /// A ServerHello without `key_share`.
    MissingKeyShare,
    /// The ClientHello after a retry no longer carries `pre_shared_key`.
    MissingPskExtensionInSecondClientHello,
    /// `pre_shared_key` without `psk_key_exchange_modes`.
    MissingPskModesExtension,
    /// QUIC without `quic_transport_parameters`.
    MissingQuicTransportParameters,
    /// `compress_certificate` names an algorithm twice.
    OfferedDuplicateCertificateCompressions,
    /// `key_share` carries two shares of one group.
    OfferedDuplicateKeyShares,
    /// Early data, offered without TLS 1.3.
    OfferedEarlyDataWithOldProtocolVersion,
    /// ALPN carries an empty protocol name.
    OfferedEmptyApplicationProtocol,
    /// A TLS 1.3 ClientHello offers compression methods other than null alone.
    OfferedIncorrectCompressions,
    /// In a ClientHello something follows `pre_shared_key`.
    PskExtensionMustBeLast,
    /// `pre_shared_key` carries unequal numbers of identities and binders.
    PskExtensionWithMismatchedIdsAndBinders,
    /// The ClientHello after a retry does not do what the retry asked for.
    RefusedToFollowHelloRetryRequest,
    /// Rejected early data came between the fragments of a handshake message.
    RejectedEarlyDataInterleavedWithHandshakeMessage,
    /// The server resumed a session, and changed its use of extended master secrets.
    ResumptionAttemptedWithVariedEms,
    /// The server resumed a session under another cipher suite.
    ResumptionOfferedWithVariedCipherSuite,
    /// The client resumes a session, and changed its use of extended master secrets.
    ResumptionOfferedWithVariedEms,
    /// The server resumed a session under a cipher suite of another hash.
    ResumptionOfferedWithIncompatibleCipherSuite,
    /// The ServerHello's cipher suite is not the HelloRetryRequest's.
    SelectedDifferentCipherSuiteAfterRetry,
    /// The server selected a pre-shared key by an index that was not offered.
    SelectedInvalidPsk,
    /// `supported_versions` selects TLS 1.2, which it must not.
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
    /// The server selected a pre-shared key, and none was offered.
    SelectedUnofferedPsk,
    /// The server selected a cipher suite of another protocol version.
    SelectedUnusableCipherSuiteForVersion,
    /// The server resumed a session by an id that is in the ClientHello for middleboxes only.
    ServerEchoedCompatibilitySessionId,
    /// The server's point formats lack the uncompressed one.
    ServerHelloMustOfferUncompressedEcPoints,
    /// The ClientHello after a retry is for another server name.
    ServerNameDifferedOnRetry,
    /// `server_name` does not carry exactly one host name.
    ServerNameMustContainOneHostName,
    /// A ServerKeyExchange is signed with another kind of key than the cipher suite says.
    SignedKxWithWrongAlgorithm,
    /// A handshake signature's scheme was not offered.
    SignedHandshakeWithUnadvertisedSigScheme,
    /// More empty records in a row than this library accepts.
    TooManyEmptyFragments,
    /// More KeyUpdates in a row than this library accepts.
    TooManyKeyUpdateRequests,
    /// More refused renegotiations than this library accepts.
    TooManyRenegotiationRequests,
    /// More warning alerts than this library accepts.
    TooManyWarningAlertsReceived,
    /// More early data than the ticket, or the server, allows.
    TooMuchEarlyDataReceived,
    /// A ServerHello carries an extension that must come encrypted.
    UnexpectedCleartextExtension,
    /// A certificate entry carries an extension that was not asked for.
    UnsolicitedCertExtension,
    /// EncryptedExtensions carries an extension that was not offered.
    UnsolicitedEncryptedExtension,
    /// Certificate timestamps that were not asked for.
    UnsolicitedSctList,
    /// A ServerHello carries an extension that was not offered.
    UnsolicitedServerHelloExtension,
    /// A key share is for another group than the one asked for.
    WrongGroupForKeyShare,
    /// The server answers an ECH offer that was not made.
    UnsolicitedEchExtension,
}

/// What this configuration needs and the peer does not offer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// `ec_point_formats` is required.
    EcPointsExtensionRequired,
    /// `extended_master_secret` is required.
    ExtendedMasterSecretExtensionRequired,
    /// The certificate types offered or selected exclude the one configured.
    IncorrectCertificateTypeExtension,
    /// `key_share` is required.
    KeyShareExtensionRequired,
    /// `supported_groups` is required.
    NamedGroupsExtensionRequired,
    /// The CertificateRequest names no usable signature scheme.
    NoCertificateRequestSignatureSchemesInCommon,
    /// No cipher suite in common.
    NoCipherSuitesInCommon,
    /// No elliptic curve point format in common.
    NoEcPointFormatsInCommon,
    /// No key exchange group in common.
    NoKxGroupsInCommon,
    /// No signature scheme in common.
    NoSignatureSchemesInCommon,
    /// The client does not offer null compression.
    NullCompressionRequired,
    /// The server supports versions older than TLS 1.2 only.
    ServerDoesNotSupportTls12Or13,
    /// The server rejected ECH; these are the configurations to retry with, if it sent any.
    ServerRejectedEncryptedClientHello(Option<Vec<EchConfigPayload>>),
    /// A HelloRetryRequest carries an extension that is not known.
    ServerSentHelloRetryRequestWithUnknownExtension,
    /// The server selected a version that this configuration disables.
    ServerTlsVersionIsDisabledByOurConfig,
    /// `signature_algorithms` is required.
    SignatureAlgorithmsExtensionRequired,
    /// `supported_versions` is required.
    SupportedVersionsExtensionRequired,
    /// The client does not offer TLS 1.2, the only version enabled.
    Tls12NotOffered,
    /// The client does not offer TLS 1.3, and TLS 1.2 is not offered or not enabled.
    Tls12NotOfferedOrEnabled,
    /// QUIC needs TLS 1.3.
    Tls13RequiredForQuic,
    /// The client's point formats lack the uncompressed one.
    UncompressedEcPointsRequired,
    /// A certificate type was selected, and none was offered.
    UnsolicitedCertificateTypeExtension,
}
