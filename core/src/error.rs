//! The library's errors.
//!
//! Most fallible calls return [`Error`]. Its variants classify failures by cause, and some contain
//! a more precise enum, from this file or from `peer`. The `alert` submodule has the alert for each
//! error, and `label` its name for metrics. Builders and early data, for example, have their own
//! error types.

mod alert;
mod label;
mod peer;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error as StdError;
use core::fmt::{self, Display};
use core::net::{Ipv4Addr, Ipv6Addr};

pub use peer::{InvalidMessage, PeerIncompatible, PeerMisbehaved};
use pki_types::{AlgorithmIdentifier, IpAddr, ServerName, UnixTime};

use crate::enums::{AlertDescription, ContentType, HandshakeType};

/// An error from this library.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The peer sent a record of a type that is not allowed at this point.
    InappropriateMessage {
        /// The types expected.
        expect_types: Vec<ContentType>,
        /// The type received.
        got_type: ContentType,
    },
    /// The peer sent a handshake message of a type that is not allowed at this point.
    InappropriateHandshakeMessage {
        /// The types expected.
        expect_types: Vec<HandshakeType>,
        /// The type received: [`HandshakeType::HelloRetryRequest`] for a HelloRetryRequest.
        got_type: HandshakeType,
    },
    /// Encrypted Client Hello cannot be used with the given ECH configurations.
    InvalidEncryptedClientHello(EncryptedClientHelloError),
    /// The peer sent a record or message that is malformed or too long.
    InvalidMessage(InvalidMessage),
    /// The peer did not send the required certificates, or a certificate chain of this side is
    /// empty.
    NoCertificatesPresented,
    /// The call does not support server names of this kind. This library does not return this
    /// error.
    UnsupportedNameType,
    /// A record or QUIC packet cannot be decrypted, or the peer's Finished does not verify.
    DecryptError,
    /// A record or QUIC packet cannot be encrypted: the keys are used up, or the crypto provider
    /// failed.
    EncryptError,
    /// The peer and this configuration are incompatible.
    PeerIncompatible(PeerIncompatible),
    /// The peer violated the protocol.
    PeerMisbehaved(PeerMisbehaved),
    /// The peer sent an alert that ends the connection. A close_notify after the handshake does not
    /// cause this error, nor does a warning if it is `user_canceled` or TLS 1.3 is not negotiated.
    AlertReceived(AlertDescription),
    /// A certificate or a signature made with it is not acceptable. The certificate is the peer's,
    /// or one that the application passed to this library.
    InvalidCertificate(CertificateError),
    /// A certificate revocation list is not acceptable.
    InvalidCertRevocationList(CertRevocationListError),
    /// An error without a dedicated variant.
    General(String),
    /// The current time is not known.
    FailedToGetCurrentTime,
    /// The source of random bytes failed.
    FailedToGetRandomBytes,
    /// The handshake must be complete before this call. Replacing keys in TLS 1.2, which cannot do
    /// so, also returns this error.
    HandshakeNotComplete,
    /// The peer sent a record longer than the protocol allows.
    PeerSentOversizedRecord,
    /// The two sides support no common application protocol (ALPN), or over QUIC, only one of them
    /// uses ALPN (RFC 9001 §8.1).
    NoApplicationProtocol,
    /// The maximum fragment size is out of range.
    BadMaxFragmentSize,
    /// A private key does not match its certificate, or cannot be compared with it.
    InconsistentKeys(InconsistentKeys),
    /// An error with its own type: from a crypto provider or another extension of this library, or
    /// from a part of it, such as HPKE.
    Other(OtherError),
}

/// Programs log, compare and send these texts, so they are identical to those of rustls 0.23.
impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InappropriateMessage {
                expect_types,
                got_type,
            } => {
                write!(
                    f,
                    "received unexpected message: got {got_type:?} when expecting "
                )?;
                write_alternatives(f, expect_types)
            }
            Self::InappropriateHandshakeMessage {
                expect_types,
                got_type,
            } => {
                write!(
                    f,
                    "received unexpected handshake message: got {got_type:?} when expecting "
                )?;
                write_alternatives(f, expect_types)
            }
            Self::InvalidEncryptedClientHello(cause) => {
                write!(f, "encrypted client hello failure: {cause:?}")
            }
            Self::InvalidMessage(cause) => {
                write!(f, "received corrupt message of type {cause:?}")
            }
            Self::NoCertificatesPresented => f.write_str("peer sent no certificates"),
            Self::UnsupportedNameType => f.write_str("presented server name type wasn't supported"),
            Self::DecryptError => f.write_str("cannot decrypt peer's message"),
            Self::EncryptError => f.write_str("cannot encrypt message"),
            Self::PeerIncompatible(cause) => write!(f, "peer is incompatible: {cause:?}"),
            Self::PeerMisbehaved(cause) => write!(f, "peer misbehaved: {cause:?}"),
            Self::AlertReceived(alert) => write!(f, "received fatal alert: {alert:?}"),
            Self::InvalidCertificate(cause) => write!(f, "invalid peer certificate: {cause}"),
            Self::InvalidCertRevocationList(cause) => {
                write!(f, "invalid certificate revocation list: {cause:?}")
            }
            Self::General(message) => write!(f, "unexpected error: {message}"),
            Self::FailedToGetCurrentTime => f.write_str("failed to get current time"),
            Self::FailedToGetRandomBytes => f.write_str("failed to get random bytes"),
            Self::HandshakeNotComplete => f.write_str("handshake not complete"),
            Self::PeerSentOversizedRecord => f.write_str("peer sent excess record size"),
            Self::NoApplicationProtocol => f.write_str("peer doesn't support any known protocol"),
            Self::BadMaxFragmentSize => {
                f.write_str("the supplied max_fragment_size was too small or large")
            }
            Self::InconsistentKeys(cause) => write!(f, "keys may not be consistent: {cause:?}"),
            Self::Other(cause) => write!(f, "other error: {cause}"),
        }
    }
}

impl StdError for Error {}

/// Prints `items`, with " or " between them.
fn write_alternatives<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        let separator = if i == 0 { "" } else { " or " };
        write!(f, "{separator}{item:?}")?;
    }
    Ok(())
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

/// An error that makes a certificate, or a signature made with it, unacceptable.
///
/// A variant with context never equals its plain counterpart.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The certificate or raw public key cannot be parsed.
    BadEncoding,
    /// The certificate is no longer valid, or its validity ends before it begins.
    Expired,
    /// Like `Expired`, with the end of the validity and the current time.
    ExpiredContext {
        /// The time of the verification.
        time: UnixTime,
        /// The end of the certificate's validity.
        not_after: UnixTime,
    },
    /// The certificate is not valid yet.
    NotValidYet,
    /// Like `NotValidYet`, with the start of the validity and the current time.
    NotValidYetContext {
        /// The time of the verification.
        time: UnixTime,
        /// The start of the certificate's validity.
        not_before: UnixTime,
    },
    /// The certificate has been revoked.
    Revoked,
    /// The certificate has an unknown critical extension. This library's verifiers return
    /// [`Self::Other`] instead.
    UnhandledCriticalExtension,
    /// No chain leads to a known trust anchor.
    UnknownIssuer,
    /// No revocation list covers the certificate, but the verifier requires one.
    UnknownRevocationStatus,
    /// The revocation list is out of date.
    ExpiredRevocationList,
    /// Like `ExpiredRevocationList`, with the time of the next update and the current time.
    ExpiredRevocationListContext {
        /// The time of the verification.
        time: UnixTime,
        /// The time at which a newer list was due.
        next_update: UnixTime,
    },
    /// A signature does not verify.
    BadSignature,
    /// A signature's algorithm is not supported.
    #[deprecated(note = "superseded by `UnsupportedSignatureAlgorithmContext`")]
    UnsupportedSignatureAlgorithm,
    /// Like `UnsupportedSignatureAlgorithm`, with the algorithm and those supported.
    UnsupportedSignatureAlgorithmContext {
        /// The algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The algorithms supported.
        supported_algorithms: Vec<AlgorithmIdentifier>,
    },
    /// A signature's algorithm does not match the kind of key that should verify it: the issuer's,
    /// or the peer's for a signature in the handshake.
    UnsupportedSignatureAlgorithmForPublicKeyContext {
        /// The signature algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The key's identifier, DER-encoded.
        public_key_algorithm_id: Vec<u8>,
    },
    /// The certificate is not for this server name.
    NotValidForName,
    /// Like `NotValidForName`, with the server's name and those in the certificate.
    NotValidForNameContext {
        /// The server's name.
        expected: ServerName<'static>,
        /// The names in the certificate, as text.
        presented: Vec<String>,
    },
    /// The certificate's extended key usage lacks the required purpose: server or client
    /// authentication.
    InvalidPurpose,
    /// Like `InvalidPurpose`, with the purpose needed and those in the certificate.
    InvalidPurposeContext {
        /// The purpose needed.
        required: ExtendedKeyPurpose,
        /// The purposes in the certificate.
        presented: Vec<ExtendedKeyPurpose>,
    },
    /// The stapled OCSP response is not acceptable.
    InvalidOcspResponse,
    /// The certificate is valid, but the application rejects it.
    ApplicationVerificationFailure,
    /// An error without a dedicated variant, from this library's verifiers or parsers or from a
    /// custom verifier.
    Other(OtherError),
}

impl Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExpiredContext { time, not_after } => write!(
                f,
                "certificate expired: verification time {} (UNIX), \
                 but certificate is not valid after {} ({} seconds ago)",
                time.as_secs(),
                not_after.as_secs(),
                seconds_between(not_after, time),
            ),
            Self::NotValidYetContext { time, not_before } => write!(
                f,
                "certificate not valid yet: verification time {} (UNIX), \
                 but certificate is not valid before {} ({} seconds in future)",
                time.as_secs(),
                not_before.as_secs(),
                seconds_between(time, not_before),
            ),
            Self::ExpiredRevocationListContext { time, next_update } => write!(
                f,
                "certificate revocation list expired: verification time {} (UNIX), \
                 but CRL is not valid after {} ({} seconds ago)",
                time.as_secs(),
                next_update.as_secs(),
                seconds_between(next_update, time),
            ),
            Self::NotValidForNameContext {
                expected,
                presented,
            } => {
                f.write_str("certificate not valid for name ")?;
                write_server_name(f, expected)?;
                f.write_str("; certificate is ")?;
                write_names(f, presented)
            }
            Self::InvalidPurposeContext {
                required,
                presented,
            } => {
                write!(
                    f,
                    "certificate does not allow extended key usage for {required}, allows "
                )?;
                write_list(f, presented)
            }
            other => write!(f, "{other:?}"),
        }
    }
}

/// Returns the seconds from `earlier` to `later`, or 0 if `later` is not later.
fn seconds_between(earlier: &UnixTime, later: &UnixTime) -> u64 {
    later.as_secs().saturating_sub(earlier.as_secs())
}

/// Prints a name in quotes. `ServerName::to_str` needs `std`.
fn write_server_name(f: &mut fmt::Formatter<'_>, name: &ServerName<'_>) -> fmt::Result {
    match name {
        ServerName::DnsName(name) => write!(f, "{:?}", name.as_ref()),
        ServerName::IpAddress(IpAddr::V4(address)) => {
            write!(f, "\"{}\"", Ipv4Addr::from(*address.as_ref()))
        }
        ServerName::IpAddress(IpAddr::V6(address)) => {
            write!(f, "\"{}\"", Ipv6Addr::from(*address.as_ref()))
        }
        other => write!(f, "{other:?}"),
    }
}

/// Prints the names in a certificate: `only valid for a, b or c`.
fn write_names(f: &mut fmt::Formatter<'_>, names: &[String]) -> fmt::Result {
    let Some((last, others)) = names.split_last() else {
        return f.write_str("not valid for any names (according to its subjectAltName extension)");
    };
    f.write_str("only valid for ")?;
    if !others.is_empty() {
        write_list(f, others)?;
        f.write_str(" or ")?;
    }
    f.write_str(last)
}

/// Prints `items`, separated by commas.
fn write_list<T: Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        let separator = if i == 0 { "" } else { ", " };
        write!(f, "{separator}{item}")?;
    }
    Ok(())
}

/// A purpose of a certificate: an extended key usage of RFC 5280 §4.2.1.12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtendedKeyPurpose {
    /// Client authentication.
    ClientAuth,
    /// Server authentication.
    ServerAuth,
    /// Any other purpose, as the numbers of its object identifier.
    Other(Vec<usize>),
}

impl Display for ExtendedKeyPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientAuth => f.write_str("client authentication"),
            Self::ServerAuth => f.write_str("server authentication"),
            Self::Other(oid) => write_list(f, oid),
        }
    }
}

/// An error that makes a certificate revocation list unacceptable.
///
/// A variant with context never equals its plain counterpart.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CertRevocationListError {
    /// The list's signature does not verify.
    BadSignature,
    /// The list's signature algorithm is not supported.
    #[deprecated(note = "superseded by `UnsupportedSignatureAlgorithmContext`")]
    UnsupportedSignatureAlgorithm,
    /// Like `UnsupportedSignatureAlgorithm`, with the algorithm and those supported.
    UnsupportedSignatureAlgorithmContext {
        /// The algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The algorithms supported.
        supported_algorithms: Vec<AlgorithmIdentifier>,
    },
    /// The list's signature algorithm does not match the issuer's kind of key.
    UnsupportedSignatureAlgorithmForPublicKeyContext {
        /// The signature algorithm's identifier, DER-encoded.
        signature_algorithm_id: Vec<u8>,
        /// The key's identifier, DER-encoded.
        public_key_algorithm_id: Vec<u8>,
    },
    /// The CRL number is malformed.
    InvalidCrlNumber,
    /// A revoked certificate's serial number is malformed.
    InvalidRevokedCertSerialNumber,
    /// The issuer may not sign revocation lists.
    IssuerInvalidForCrl,
    /// The list cannot be parsed.
    ParseError,
    /// The list is not version 2.
    UnsupportedCrlVersion,
    /// The list has an unknown critical extension.
    UnsupportedCriticalExtension,
    /// The list is a delta CRL: it contains only changes.
    UnsupportedDeltaCrl,
    /// The list is an indirect CRL: it covers certificates from other issuers.
    UnsupportedIndirectCrl,
    /// The list has an unknown reason for a revocation.
    UnsupportedRevocationReason,
    /// An error without a dedicated variant, for example from a custom verifier or from loading
    /// lists.
    Other(OtherError),
}

/// An error in the configuration of Encrypted Client Hello.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptedClientHelloError {
    /// The list of ECH configurations is malformed.
    InvalidConfigList,
    /// The list has no usable configuration: it is empty, or each entry has an unknown version, an
    /// invalid public name, a mandatory or duplicate extension, or no usable suite among the given
    /// HPKE suites.
    NoCompatibleConfig,
    /// The configuration disables `server_name`, so there is no name to encrypt. This library does
    /// not return this error.
    SniRequired,
}

/// An inconsistency between a private key and its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InconsistentKeys {
    /// The private key's public key differs from the certificate's.
    KeyMismatch,
    /// The private key does not reveal its public key, so the two cannot be compared.
    Unknown,
}

/// An error of any type, from outside this library or from a part with its own error type.
///
/// Two values never compare equal, not even a value and its clone: their contents are opaque.
#[derive(Clone, Debug)]
pub struct OtherError(
    /// The wrapped error.
    pub Arc<dyn StdError + Send + Sync>,
);

impl PartialEq for OtherError {
    fn eq(&self, _: &Self) -> bool {
        false
    }
}

impl Display for OtherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for OtherError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.0.as_ref())
    }
}
