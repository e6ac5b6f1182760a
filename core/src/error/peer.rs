//! Errors caused by the peer: malformed messages, protocol violations, and offers without a usable
//! option.

use alloc::vec::Vec;

use crate::ech_config::EchConfigPayload;
use crate::enums::KeyExchangeAlgorithm;

/// A record or message from the peer that is malformed or too long.
///
/// Some variants are kept only for applications that name them. This library does not return these.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// A Certificate message declares a list of more than 2^16 bytes.
    CertificatePayloadTooLarge,
    /// A list of extensions contains this type twice.
    DuplicateExtension(u16),
    /// A TLS 1.3 NewSessionTicket contains an empty ticket.
    EmptyTicketValue,
    /// A handshake message is longer than this library accepts. Over QUIC, also returned if too
    /// many bytes arrive while the handshake is waiting for a callback.
    HandshakePayloadTooLarge,
    /// The named list is empty, but needs at least one entry. `PayloadU24` is an OCSP response.
    IllegalEmptyList(&'static str),
    /// A field is empty, but needs at least one byte.
    IllegalEmptyValue,
    /// A TLS 1.2 ChangeCipherSpec starts with a byte other than 1.
    InvalidCcs,
    /// A CertificateRequest or Certificate in the handshake has a `certificate_request_context`,
    /// which must be empty there (RFC 9846 §4.4.2, §4.5.1).
    InvalidCertRequest,
    /// A certificate status has a type other than OCSP.
    InvalidCertificateStatusType,
    /// A record has an unknown content type, or the unsupported type heartbeat.
    InvalidContentType,
    /// Bytes follow the public key in a ClientKeyExchange.
    InvalidDhParams,
    /// A record other than application data is empty (RFC 9846 §5.1).
    InvalidEmptyPayload,
    /// A KeyUpdate has an unknown `request_update` value.
    InvalidKeyUpdate,
    /// A ClientHello's `server_name` has two host names (RFC 6066 §3), or the `public_name` of an
    /// ECH configuration is not a host name (RFC 9849 §6.1.7).
    InvalidServerName,
    /// A record is longer than any record may be, a compressed certificate declares a length that
    /// this library does not accept, or the cookie of a HelloRetryRequest does not fit into the
    /// second ClientHello.
    MessageTooLarge,
    /// A vector or message is shorter than its length field states.
    MessageTooShort,
    /// The named field is missing or truncated.
    MissingData(&'static str),
    /// A ServerKeyExchange or ClientKeyExchange lacks its parameters.
    MissingKeyExchange,
    /// A list of signature schemes is empty.
    NoSignatureSchemes,
    /// In a ClientHello, another extension follows `pre_shared_key`.
    PreSharedKeyIsNotFinalExtension,
    /// The named structure is too long, or bytes follow its end.
    TrailingData(&'static str),
    /// The named message is not expected at this point, so it was not parsed.
    UnexpectedMessage(&'static str),
    /// A TLS 1.3 certificate entry has an extension other than `status_request`, which is the only
    /// one that this library supports there.
    UnknownCertificateExtension,
    /// A HelloRetryRequest has an extension that is unknown or not allowed there (RFC 9846 §4.2.4).
    UnknownHelloRetryRequestExtension,
    /// The major version in a record's header is not 3, which all TLS versions have.
    UnknownProtocolVersion,
    /// A HelloRetryRequest selects a compression method other than null.
    UnsupportedCompression,
    /// A ServerKeyExchange describes its elliptic curve otherwise than as a named curve (RFC 8422
    /// §5.4).
    UnsupportedCurveType,
    /// A ServerKeyExchange arrived for a cipher suite with this unsupported key exchange.
    UnsupportedKeyExchangeAlgorithm(KeyExchangeAlgorithm),
}

/// A protocol violation by the peer. Most malformed messages are an [`InvalidMessage`] instead.
///
/// Some variants are kept only for applications that name them. This library does not return these.
// Keep the order of rustls 0.23, because applications may cast the enum to a number. Append new
// variants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// The server selected TLS 1.2 or older, but the marker in its random (RFC 9846 §4.2.3) or its
    /// HelloRetryRequest shows that it supports a newer version.
    AttemptedDowngradeToTls12WhenTls13IsSupported,
    /// A certificate entry has extensions that are not allowed there.
    BadCertChainExtensions,
    /// With the cipher suites in the second ClientHello, the server would not select the suite of
    /// its HelloRetryRequest.
    CipherSuiteDifferedOnRetry,
    /// EncryptedExtensions, a CertificateRequest or a NewSessionTicket has an extension that
    /// belongs in another message.
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
    /// The server accepted ECH in its HelloRetryRequest, but not in its ServerHello (RFC 9849
    /// §6.1.5).
    EchAcceptanceVariedAfterRetry,
    /// The ServerHello after a HelloRetryRequest implies a different transcript hash.
    HandshakeHashVariedAfterRetry,
    /// A HelloRetryRequest has an empty cookie.
    IllegalHelloRetryRequestWithEmptyCookie,
    /// A HelloRetryRequest requests no change.
    IllegalHelloRetryRequestWithNoChanges,
    /// A HelloRetryRequest requests a group whose share has already been sent.
    IllegalHelloRetryRequestWithOfferedGroup,
    /// A HelloRetryRequest selects a cipher suite that was not offered for TLS 1.3.
    IllegalHelloRetryRequestWithUnofferedCipherSuite,
    /// A HelloRetryRequest requests a group that was not offered for TLS 1.3.
    IllegalHelloRetryRequestWithUnofferedNamedGroup,
    /// A HelloRetryRequest does not select TLS 1.3.
    IllegalHelloRetryRequestWithUnsupportedVersion,
    /// A HelloRetryRequest does not echo the session ID.
    IllegalHelloRetryRequestWithWrongSessionId,
    /// A HelloRetryRequest has an `encrypted_client_hello` that is malformed, or that the client
    /// did not offer.
    IllegalHelloRetryRequestWithInvalidEch,
    /// A ChangeCipherSpec is protected by TLS 1.3 keys. Or, while TLS 1.3 is possible, it is not a
    /// single byte 1, or is one of too many (RFC 9846 §5).
    IllegalMiddleboxChangeCipherSpec,
    /// A protected TLS 1.3 record has no content type, or is an empty handshake or alert record
    /// (RFC 9846 §5.4).
    IllegalTlsInnerPlaintext,
    /// The client's binder for the pre-shared key that the server chose does not verify.
    IncorrectBinder,
    /// A compressed certificate cannot be decompressed, or the result is not as long as declared.
    InvalidCertCompression,
    /// Over QUIC, the `max_early_data_size` of a ticket is not 2^32 - 1 (RFC 9001 §4.6.1).
    InvalidMaxEarlyDataSize,
    /// The peer's share in a key exchange has the wrong length, or is not a valid public key or
    /// ciphertext.
    InvalidKeyShare,
    /// Handshake bytes follow a message after which the peer must change its keys or wait for this
    /// side (RFC 9846 §5.1).
    KeyEpochWithPendingFragment,
    /// The peer sent a KeyUpdate over QUIC, which has its own key updates.
    KeyUpdateReceivedInQuicConnection,
    /// A record of another type came between the fragments of a handshake message.
    MessageInterleavedWithHandshakeMessage,
    /// `pre_shared_key` has no binder.
    MissingBinderInPskExtension,
    /// A ServerHello has no `key_share`.
    MissingKeyShare,
    /// The second ClientHello lacks `pre_shared_key`, although the first offers a key that fits the
    /// selected cipher suite.
    MissingPskExtensionInSecondClientHello,
    /// A ClientHello has `pre_shared_key` but no `psk_key_exchange_modes`.
    MissingPskModesExtension,
    /// A QUIC peer did not send `quic_transport_parameters`.
    MissingQuicTransportParameters,
    /// A ClientHello's `compress_certificate` names an algorithm twice.
    OfferedDuplicateCertificateCompressions,
    /// A ClientHello's `key_share` has two shares of one group.
    OfferedDuplicateKeyShares,
    /// The server selected TLS 1.2, although the client offered early data (RFC 9846 §E.3).
    OfferedEarlyDataWithOldProtocolVersion,
    /// ALPN has an empty protocol name.
    OfferedEmptyApplicationProtocol,
    /// The list of compression methods in a TLS 1.3 ClientHello is not just null.
    OfferedIncorrectCompressions,
    /// In a ClientHello, another extension follows `pre_shared_key`.
    PskExtensionMustBeLast,
    /// A ClientHello's `pre_shared_key` has different numbers of identities and binders.
    PskExtensionWithMismatchedIdsAndBinders,
    /// The second ClientHello does not offer TLS 1.3, has no share for the group that the
    /// HelloRetryRequest requested, or leads to the selection of another group.
    RefusedToFollowHelloRetryRequest,
    /// Rejected early data came between the fragments of a handshake message.
    RejectedEarlyDataInterleavedWithHandshakeMessage,
    /// The client offered to resume a session that uses the extended master secret, but its
    /// ClientHello does not offer the extended master secret (RFC 7627 §5.3).
    ResumptionAttemptedWithVariedEms,
    /// The server resumed a TLS 1.2 session under a different cipher suite.
    ResumptionOfferedWithVariedCipherSuite,
    /// The server resumed a session, but uses the extended master secret and the session does not,
    /// or the other way round (RFC 7627 §5.3).
    ResumptionOfferedWithVariedEms,
    /// The server resumed a TLS 1.3 session under a cipher suite with a different hash.
    ResumptionOfferedWithIncompatibleCipherSuite,
    /// ServerHello and HelloRetryRequest select different cipher suites.
    SelectedDifferentCipherSuiteAfterRetry,
    /// The server selected a pre-shared key by an index that was not offered, or the fake one in a
    /// ClientHello whose ECH it rejected.
    SelectedInvalidPsk,
    /// The server selected TLS 1.2 in `supported_versions`, which only selects TLS 1.3 or newer
    /// (RFC 9846 §4.3.1).
    SelectedTls12UsingTls13VersionExtension,
    /// The server selected an application protocol that was not offered.
    SelectedUnofferedApplicationProtocol,
    /// A certificate is compressed with an algorithm that was not offered.
    SelectedUnofferedCertCompression,
    /// The server selected a cipher suite that was not offered.
    SelectedUnofferedCipherSuite,
    /// The server selected a compression method that was not offered.
    SelectedUnofferedCompression,
    /// The server's ServerKeyExchange uses a group that was not offered.
    SelectedUnofferedKxGroup,
    /// The server selected a pre-shared key although none was offered.
    SelectedUnofferedPsk,
    /// The server selected a cipher suite for a different protocol version.
    SelectedUnusableCipherSuiteForVersion,
    /// The server echoed the session ID that the client sent only for compatibility with
    /// middleboxes, as if to resume a session.
    ServerEchoedCompatibilitySessionId,
    /// The server's point formats lack the uncompressed format.
    ServerHelloMustOfferUncompressedEcPoints,
    /// The second ClientHello has a different server name.
    ServerNameDifferedOnRetry,
    /// A ClientHello's `server_name` has no host name, or one that is neither a DNS name nor an IP
    /// address.
    ServerNameMustContainOneHostName,
    /// The server signed its ServerKeyExchange with a scheme whose kind of key does not fit the
    /// cipher suite.
    SignedKxWithWrongAlgorithm,
    /// The peer signed the handshake with a scheme that was not offered, or that the protocol
    /// version does not allow.
    SignedHandshakeWithUnadvertisedSigScheme,
    /// The peer sent too many empty records in a row.
    TooManyEmptyFragments,
    /// The peer sent too many KeyUpdates without application data between them.
    TooManyKeyUpdateRequests,
    /// The peer attempted too many renegotiations.
    TooManyRenegotiationRequests,
    /// The peer sent too many warning alerts.
    TooManyWarningAlertsReceived,
    /// The client sent more early data than its ticket allows.
    TooMuchEarlyDataReceived,
    /// A TLS 1.3 ServerHello has an extension that belongs in another message.
    UnexpectedCleartextExtension,
    /// A client's certificate entry has a `status_request`, which the server did not send.
    UnsolicitedCertExtension,
    /// EncryptedExtensions has an extension that was not offered.
    UnsolicitedEncryptedExtension,
    /// The server sent certificate timestamps that were not requested.
    UnsolicitedSctList,
    /// A ServerHello has an extension that was not offered.
    UnsolicitedServerHelloExtension,
    /// The server's key share is for a group for which the client sent no share.
    WrongGroupForKeyShare,
    /// EncryptedExtensions has an `encrypted_client_hello`, although the server accepted ECH.
    UnsolicitedEchExtension,
}

/// A requirement of this side that the peer does not meet.
///
/// Some variants are kept only for applications that name them. This library does not return these.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PeerIncompatible {
    /// The peer did not send the required `ec_point_formats`.
    EcPointsExtensionRequired,
    /// The peer does not use `extended_master_secret`, which this configuration requires in TLS
    /// 1.2.
    ExtendedMasterSecretExtensionRequired,
    /// The offered or selected certificate types do not include the configured one, or the version
    /// is TLS 1.2 although raw public keys are configured.
    IncorrectCertificateTypeExtension,
    /// A TLS 1.3 ClientHello lacks `key_share`.
    KeyShareExtensionRequired,
    /// A TLS 1.3 ClientHello lacks `supported_groups`.
    NamedGroupsExtensionRequired,
    /// The server's CertificateRequest names no signature scheme that TLS 1.3 allows in a
    /// CertificateVerify.
    NoCertificateRequestSignatureSchemesInCommon,
    /// The client offers no cipher suite that the server can use. In TLS 1.2, the suite must also
    /// fit the server's certificate and a common group.
    NoCipherSuitesInCommon,
    /// The two sides support no common elliptic curve point format.
    NoEcPointFormatsInCommon,
    /// The client offers no key exchange group that the server supports for the version.
    NoKxGroupsInCommon,
    /// The client offers no signature scheme that the server's key can use with the selected
    /// version and cipher suite.
    NoSignatureSchemesInCommon,
    /// The client does not offer null compression, the only method that the server supports.
    NullCompressionRequired,
    /// The server selected a version other than TLS 1.2 and 1.3, or TLS 1.3 with a `legacy_version`
    /// other than TLS 1.2.
    ServerDoesNotSupportTls12Or13,
    /// The server rejected ECH. Holds the configurations to retry with, if it sent any.
    ServerRejectedEncryptedClientHello(Option<Vec<EchConfigPayload>>),
    /// A HelloRetryRequest has an unknown extension.
    ServerSentHelloRetryRequestWithUnknownExtension,
    /// The server selected TLS 1.2, which this configuration disables.
    ServerTlsVersionIsDisabledByOurConfig,
    /// A ClientHello lacks `signature_algorithms`.
    SignatureAlgorithmsExtensionRequired,
    /// A ClientHello lacks `supported_versions`, so it does not offer TLS 1.3, the only version
    /// that the server enables.
    SupportedVersionsExtensionRequired,
    /// The `legacy_version` of a ClientHello is older than TLS 1.2 and `supported_versions` is
    /// missing, or it is not TLS 1.2 although TLS 1.3 is selected (RFC 9846 §4.2.2).
    Tls12NotOffered,
    /// The client's `supported_versions` names no version that the server enables.
    Tls12NotOfferedOrEnabled,
    /// A QUIC client's ClientHello lacks `supported_versions`, so it does not offer TLS 1.3.
    Tls13RequiredForQuic,
    /// The client's point formats lack the uncompressed format.
    UncompressedEcPointsRequired,
    /// The server selected a certificate type although none was offered.
    UnsolicitedCertificateTypeExtension,
}
