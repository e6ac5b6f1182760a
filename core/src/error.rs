//! The library's errors: what went wrong, and whose fault it was.
//!
//! [`Error`] is what every fallible call returns; its variants sort failures by cause, and most carry one of
//! the more precise enums below. What a peer is told about a failure stands in the `alert` submodule, and
//! only there. Errors of configuration builders and of early data stand beside those.

mod alert;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error as StdError;
use core::fmt;

use pki_types::{AlgorithmIdentifier, ServerName, UnixTime};

use crate::ech_config::EchConfigPayload;
use crate::enums::{AlertDescription, ContentType, HandshakeType, KeyExchangeAlgorithm};

/// Why a call into this library failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A message of a type that must not come at this point.
    InappropriateMessage {
        /// What could have come.
        expect_types: Vec<ContentType>,
        /// What came.
        got_type: ContentType,
    },
    /// A handshake message of a type that must not come at this point.
    InappropriateHandshakeMessage {
        /// What could have come.
        expect_types: Vec<HandshakeType>,
        /// What came.
        got_type: HandshakeType,
    },
    /// An error of Encrypted Client Hello on this side.
    InvalidEncryptedClientHello(EncryptedClientHelloError),
    /// A message that breaks its syntax.
    InvalidMessage(InvalidMessage),
    /// The peer authenticates with certificates, and sent none.
    NoCertificatesPresented,
    /// A server name of a kind that this call does not support.
    UnsupportedNameType,
    /// A record that cannot be deprotected.
    DecryptError,
    /// A record that cannot be protected: its keys are used up, or the cryptographic provider failed.
    EncryptError,
    /// The peer has nothing in common with this configuration.
    PeerIncompatible(PeerIncompatible),
    /// The peer broke the protocol.
    PeerMisbehaved(PeerMisbehaved),
    /// The peer closed the connection with an error alert.
    AlertReceived(AlertDescription),
    /// The peer's certificate, or a signature made with it, was not accepted.
    InvalidCertificate(CertificateError),
    /// A certificate revocation list was not accepted.
    InvalidCertRevocationList(CertRevocationListError),
    /// An error without a variant of its own.
    General(String),
    /// The current time is not known.
    FailedToGetCurrentTime,
    /// The source of random bytes failed.
    FailedToGetRandomBytes,
    /// The call needs a finished handshake.
    HandshakeNotComplete,
    /// The peer sent a record longer than the protocol allows.
    PeerSentOversizedRecord,
    /// No application protocol (ALPN) in common.
    NoApplicationProtocol,
    /// A maximum fragment size outside the range the configuration allows.
    BadMaxFragmentSize,
    /// A private key and its certificate do not belong together.
    InconsistentKeys(InconsistentKeys),
    /// An error of a cryptographic provider or other extension of this library.
    Other(OtherError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InappropriateMessage {
                expect_types,
                got_type,
            } => write!(
                f,
                "unexpected message: expected {}, got {got_type:?}",
                Alternatives(expect_types)
            ),
            Self::InappropriateHandshakeMessage {
                expect_types,
                got_type,
            } => write!(
                f,
                "unexpected handshake message: expected {}, got {got_type:?}",
                Alternatives(expect_types)
            ),
            Self::InvalidEncryptedClientHello(cause) => {
                write!(f, "cannot use encrypted client hello: {cause:?}")
            }
            Self::InvalidMessage(cause) => write!(f, "malformed message from peer: {cause:?}"),
            Self::NoCertificatesPresented => f.write_str("the peer presented no certificate"),
            Self::UnsupportedNameType => {
                f.write_str("this kind of server name is not supported here")
            }
            Self::DecryptError => f.write_str("a record from the peer could not be decrypted"),
            Self::EncryptError => f.write_str("a record could not be encrypted"),
            Self::PeerIncompatible(cause) => {
                write!(
                    f,
                    "the peer and this configuration are incompatible: {cause:?}"
                )
            }
            Self::PeerMisbehaved(cause) => write!(f, "the peer broke the protocol: {cause:?}"),
            // the two that applications match on most often keep the wording 0.23 prints
            Self::AlertReceived(alert) => write!(f, "received fatal alert: {alert:?}"),
            Self::InvalidCertificate(cause) => write!(f, "invalid peer certificate: {cause}"),
            Self::InvalidCertRevocationList(cause) => {
                write!(f, "unusable certificate revocation list: {cause:?}")
            }
            Self::General(message) => write!(f, "error: {message}"),
            Self::FailedToGetCurrentTime => f.write_str("the current time is not available"),
            Self::FailedToGetRandomBytes => f.write_str("the random number generator failed"),
            Self::HandshakeNotComplete => f.write_str("the handshake has not finished yet"),
            Self::PeerSentOversizedRecord => f.write_str("the peer sent a record that is too long"),
            Self::NoApplicationProtocol => {
                f.write_str("the peer supports none of the application protocols offered")
            }
            Self::BadMaxFragmentSize => f.write_str("the maximum fragment size is out of range"),
            Self::InconsistentKeys(cause) => {
                write!(f, "the private key does not fit the certificate: {cause:?}")
            }
            Self::Other(cause) => write!(f, "other: {cause}"),
        }
    }
}

impl StdError for Error {}

/// Prints what could have come instead: `A`, `A or B`.
struct Alternatives<'a, T>(&'a [T]);

impl<T: fmt::Debug> fmt::Display for Alternatives<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0 else {
            return f.write_str("nothing");
        };
        write!(f, "{first:?}")?;
        rest.iter().try_for_each(|next| write!(f, " or {next:?}"))
    }
}

impl From<InvalidMessage> for Error {
    fn from(cause: InvalidMessage) -> Self {
        Self::InvalidMessage(cause)
    }
}

impl From<PeerMisbehaved> for Error {
    fn from(cause: PeerMisbehaved) -> Self {
        Self::PeerMisbehaved(cause)
    }
}

impl From<PeerIncompatible> for Error {
    fn from(cause: PeerIncompatible) -> Self {
        Self::PeerIncompatible(cause)
    }
}

impl From<CertificateError> for Error {
    fn from(cause: CertificateError) -> Self {
        Self::InvalidCertificate(cause)
    }
}

impl From<CertRevocationListError> for Error {
    fn from(cause: CertRevocationListError) -> Self {
        Self::InvalidCertRevocationList(cause)
    }
}

impl From<EncryptedClientHelloError> for Error {
    fn from(cause: EncryptedClientHelloError) -> Self {
        Self::InvalidEncryptedClientHello(cause)
    }
}

impl From<InconsistentKeys> for Error {
    fn from(cause: InconsistentKeys) -> Self {
        Self::InconsistentKeys(cause)
    }
}

impl From<OtherError> for Error {
    fn from(cause: OtherError) -> Self {
        Self::Other(cause)
    }
}

#[cfg(feature = "std")]
impl From<std::time::SystemTimeError> for Error {
    fn from(_: std::time::SystemTimeError) -> Self {
        Self::FailedToGetCurrentTime
    }
}

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
    /// A HelloRetryRequest with a malformed `encrypted_client_hello`.
    IllegalHelloRetryRequestWithInvalidEch,
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
    /// A ChangeCipherSpec where TLS 1.3 does not tolerate one.
    IllegalMiddleboxChangeCipherSpec,
    /// A protected record without a content type.
    IllegalTlsInnerPlaintext,
    /// A pre-shared key's binder does not verify.
    IncorrectBinder,
    /// A compressed certificate does not decompress to what it says.
    InvalidCertCompression,
    /// A key share is not a valid public key.
    InvalidKeyShare,
    /// `max_early_data_size` is not what its context demands.
    InvalidMaxEarlyDataSize,
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
    /// The server resumed a session under a cipher suite of another hash.
    ResumptionOfferedWithIncompatibleCipherSuite,
    /// The server resumed a session under another cipher suite.
    ResumptionOfferedWithVariedCipherSuite,
    /// The client resumes a session, and changed its use of extended master secrets.
    ResumptionOfferedWithVariedEms,
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
    /// A handshake signature's scheme was not offered.
    SignedHandshakeWithUnadvertisedSigScheme,
    /// A ServerKeyExchange is signed with another kind of key than the cipher suite says.
    SignedKxWithWrongAlgorithm,
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
    /// The server answers an ECH offer that was not made.
    UnsolicitedEchExtension,
    /// EncryptedExtensions carries an extension that was not offered.
    UnsolicitedEncryptedExtension,
    /// Certificate timestamps that were not asked for.
    UnsolicitedSctList,
    /// A ServerHello carries an extension that was not offered.
    UnsolicitedServerHelloExtension,
    /// A key share is for another group than the one asked for.
    WrongGroupForKeyShare,
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

/// Why a certificate, or a signature made with it, was not accepted.
///
/// A variant with context never equals its plain counterpart.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The certificate cannot be parsed.
    BadEncoding,
    /// The certificate is no longer valid.
    Expired,
    /// The certificate is no longer valid, and since when.
    ExpiredContext {
        /// The time it was verified for.
        time: UnixTime,
        /// The end of its validity.
        not_after: UnixTime,
    },
    /// The certificate is not valid yet.
    NotValidYet,
    /// The certificate is not valid yet, and until when.
    NotValidYetContext {
        /// The time it was verified for.
        time: UnixTime,
        /// The start of its validity.
        not_before: UnixTime,
    },
    /// The certificate has been revoked.
    Revoked,
    /// The certificate carries a critical extension that is not known.
    UnhandledCriticalExtension,
    /// No chain leads to a known trust anchor.
    UnknownIssuer,
    /// No revocation list covers the certificate.
    UnknownRevocationStatus,
    /// The revocation list is out of date.
    ExpiredRevocationList,
    /// The revocation list is out of date, and since when.
    ExpiredRevocationListContext {
        /// The time it was verified for.
        time: UnixTime,
        /// When it should have been replaced.
        next_update: UnixTime,
    },
    /// A signature does not verify.
    BadSignature,
    /// A signature's algorithm is not supported.
    #[deprecated(note = "what is returned is `UnsupportedSignatureAlgorithmContext`")]
    UnsupportedSignatureAlgorithm,
    /// A signature's algorithm is not supported, and which one it is.
    UnsupportedSignatureAlgorithmContext {
        /// The algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// What is supported.
        supported_algorithms: Vec<AlgorithmIdentifier>,
    },
    /// A signature's algorithm is not one for the issuer's kind of key.
    UnsupportedSignatureAlgorithmForPublicKeyContext {
        /// The signature algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The key's identifier, DER-encoded.
        public_key_algorithm_id: Vec<u8>,
    },
    /// The certificate is not for this server name.
    NotValidForName,
    /// The certificate is not for this server name, and for which it is.
    NotValidForNameContext {
        /// The name that was asked for.
        expected: ServerName<'static>,
        /// The names the certificate is for, as text.
        presented: Vec<String>,
    },
    /// The certificate is not for this purpose.
    InvalidPurpose,
    /// The certificate is not for this purpose, and for which it is.
    InvalidPurposeContext {
        /// The purpose that was asked for.
        required: ExtendedKeyPurpose,
        /// The purposes the certificate is for.
        presented: Vec<ExtendedKeyPurpose>,
    },
    /// The stapled OCSP response was not accepted.
    InvalidOcspResponse,
    /// The certificate is valid, and the application refuses it.
    ApplicationVerificationFailure,
    /// An error of a verifier outside this library.
    Other(OtherError),
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExpiredContext { time, not_after } => write!(
                f,
                "certificate expired {} seconds ago (now {}, not after {}, in Unix time)",
                seconds_between(not_after, time),
                time.as_secs(),
                not_after.as_secs(),
            ),
            Self::NotValidYetContext { time, not_before } => write!(
                f,
                "certificate not valid for another {} seconds (now {}, not before {}, in Unix time)",
                seconds_between(time, not_before),
                time.as_secs(),
                not_before.as_secs(),
            ),
            Self::ExpiredRevocationListContext { time, next_update } => write!(
                f,
                "revocation list expired {} seconds ago (now {}, next update {}, in Unix time)",
                seconds_between(next_update, time),
                time.as_secs(),
                next_update.as_secs(),
            ),
            Self::NotValidForNameContext {
                expected,
                presented,
            } => {
                write!(f, "certificate is not for {:?} but for ", expected.to_str())?;
                write_list(f, presented)
            }
            Self::InvalidPurposeContext {
                required,
                presented,
            } => {
                write!(f, "certificate is not for {required} but for ")?;
                write_list(f, presented)
            }
            Self::Other(cause) => write!(f, "other: {cause}"),
            // for the others the name says it all, and is what 0.23 prints
            other => write!(f, "{other:?}"),
        }
    }
}

/// Zero if `later` is not later.
fn seconds_between(earlier: &UnixTime, later: &UnixTime) -> u64 {
    later.as_secs().saturating_sub(earlier.as_secs())
}

/// Prints `a, b, c`, or `nothing`.
fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    let [first, rest @ ..] = items else {
        return f.write_str("nothing");
    };
    write!(f, "{first}")?;
    rest.iter().try_for_each(|item| write!(f, ", {item}"))
}

/// What a certificate may be used for: an extended key usage of RFC 5280 §4.2.1.12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtendedKeyPurpose {
    /// Authenticating a client.
    ClientAuth,
    /// Authenticating a server.
    ServerAuth,
    /// Another use, by the numbers of its object identifier.
    Other(Vec<usize>),
}

impl fmt::Display for ExtendedKeyPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientAuth => f.write_str("client authentication"),
            Self::ServerAuth => f.write_str("server authentication"),
            Self::Other(oid) => {
                let [first, rest @ ..] = oid.as_slice() else {
                    return f.write_str("an unnamed purpose");
                };
                write!(f, "{first}")?;
                rest.iter().try_for_each(|number| write!(f, ".{number}"))
            }
        }
    }
}

/// Why a certificate revocation list was not accepted.
///
/// A variant with context never equals its plain counterpart.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CertRevocationListError {
    /// Its signature does not verify.
    BadSignature,
    /// Its signature algorithm is not supported.
    #[deprecated(note = "what is returned is `UnsupportedSignatureAlgorithmContext`")]
    UnsupportedSignatureAlgorithm,
    /// Its signature algorithm is not supported, and which one it is.
    UnsupportedSignatureAlgorithmContext {
        /// The algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// What is supported.
        supported_algorithms: Vec<AlgorithmIdentifier>,
    },
    /// Its signature algorithm is not one for the issuer's kind of key.
    UnsupportedSignatureAlgorithmForPublicKeyContext {
        /// The signature algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The key's identifier, DER-encoded.
        public_key_algorithm_id: Vec<u8>,
    },
    /// Its CRL number is malformed.
    InvalidCrlNumber,
    /// A revoked certificate's serial number is malformed.
    InvalidRevokedCertSerialNumber,
    /// Its issuer may not sign revocation lists.
    IssuerInvalidForCrl,
    /// It cannot be parsed.
    ParseError,
    /// It is not of version 2.
    UnsupportedCrlVersion,
    /// It carries a critical extension that is not known.
    UnsupportedCriticalExtension,
    /// It lists changes only.
    UnsupportedDeltaCrl,
    /// It covers certificates of other issuers.
    UnsupportedIndirectCrl,
    /// It gives a reason for revocation that is not known.
    UnsupportedRevocationReason,
    /// An error of a verifier outside this library.
    Other(OtherError),
}

/// Why Encrypted Client Hello cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptedClientHelloError {
    /// The list of ECH configurations is malformed.
    InvalidConfigList,
    /// No configuration in the list is usable with the HPKE suites given.
    NoCompatibleConfig,
    /// The configuration turns off `server_name`, without which there is nothing to encrypt.
    SniRequired,
}

/// Why a private key is not the one of its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InconsistentKeys {
    /// Their public keys differ.
    KeyMismatch,
    /// The private key does not tell its public key.
    Unknown,
}

/// An error from outside this library.
///
/// Two of them never compare equal, not even a value and its clone: nothing is known about what they hold.
#[derive(Clone, Debug)]
pub struct OtherError(
    /// The error itself.
    pub Arc<dyn StdError + Send + Sync>,
);

impl PartialEq for OtherError {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl fmt::Display for OtherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for OtherError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.0.as_ref())
    }
}
