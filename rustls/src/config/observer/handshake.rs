//! The facts of a handshake, as its observer gets them.

use core::fmt;
use core::time::Duration;

use rustls_core::record::traffic::Traffic;

use crate::config::ech::EchStatus;
use crate::config::handshake_kind::HandshakeKind;
use crate::enums::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

/// The facts of a handshake: all of a finished one, and of a failed one those known so far. A field
/// that is not known yet is `None`, or has the value for nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandshakeFacts<'a> {
    /// The protocol version that the server has chosen.
    pub version: Option<ProtocolVersion>,
    /// The cipher suite. Until the server has chosen one, a client that offers a session of TLS 1.3
    /// reports the session's.
    pub cipher_suite: Option<CipherSuite>,
    /// The key exchange group; `None` if a TLS 1.2 session is resumed.
    pub group: Option<NamedGroup>,
    /// The signature scheme with which the server proved its identity; `None` if a session is
    /// resumed, and before the signature is made or verified.
    pub server_signature: Option<SignatureScheme>,
    /// The signature scheme with which the client proved its identity; `None` without a client
    /// certificate, and if a session is resumed.
    pub client_signature: Option<SignatureScheme>,
    /// The kind of handshake, once [`handshake_kind`](crate::CommonState::handshake_kind) has it.
    pub kind: Option<HandshakeKind>,
    /// The source of the session that the server resumes; `None` in a full handshake.
    pub resumed_from: Option<SessionSource>,
    /// The reason why a session was not resumed; `None` if one was, and if there was none. A client
    /// also has a reason for a session that it does not offer.
    ///
    /// On a server, this is the reason against the last session that the client offered. A server
    /// of TLS 1.2 takes any session ID for an offer, even a random one from a client with TLS 1.3.
    pub not_resumed: Option<NotResumed>,
    /// The outcome of early data.
    pub early_data: EarlyData,
    /// The outcome of Encrypted ClientHello. Always `NotOffered` on servers, which do not support
    /// it.
    pub ech: EchStatus,
    /// The application protocol (ALPN); `None` if none is used.
    pub alpn_protocol: Option<&'a [u8]>,
    /// The client's certificate; `NotRequested` if a session is resumed.
    pub client_certificate: ClientCertificate,
    /// The check of the peer's certificates.
    pub peer_chain: PeerChainCheck,
    /// The time that the handshake took, up to its end or its failure; `None` without `std`.
    pub durations: Option<Durations>,
    /// The data that this side has sent or queued until the event, also application data. If the
    /// receiving half of a split connection fails, that before the split.
    pub sent: Traffic,
    /// The data received until the event. If the sending half of a split connection fails, that
    /// before the split.
    pub received: Traffic,
}

/// The source of a resumed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionSource {
    /// The ticket: the server keeps nothing. On a client, also a ticket that refers to the server's
    /// storage, which looks the same.
    Ticket,
    /// The server's storage, by a ticket or a session ID that refers to it.
    Storage,
}

/// The check of the peer's certificate chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerChainCheck {
    /// No chain was accepted: the peer has sent none, its chain was rejected, or a session was
    /// resumed. Servers check the chain in a session again, which is not reported.
    #[default]
    None,
    /// The verifier has verified the chain.
    Verified,
    /// The chain was known, because an earlier handshake has verified it
    /// ([`VerifiedChains`](crate::certificates::VerifiedChains)).
    Known,
}

/// The client's certificate in a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientCertificate {
    /// The server has not requested one in this handshake.
    #[default]
    NotRequested,
    /// The server has requested one, and the client has not sent one.
    Missing,
    /// The client has sent one.
    Sent,
}

/// The outcome of early data (0-RTT, RFC 9846 §4.3.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EarlyData {
    /// The client has not offered it.
    #[default]
    NotOffered,
    /// The client has offered it, and the handshake failed before an answer. Only on clients.
    Offered,
    /// The server has accepted it.
    Accepted,
    /// The server has rejected it.
    Rejected(EarlyDataRejected),
}

/// The times of a handshake.
///
/// A wait for an asynchronous operation begins with the call that returns a future, and ends when
/// a poll returns the result. So polls count as waiting, and the work that follows as this side's
/// own. The time until the peer's next message is in none of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// From the client's creation, or from the ClientHello on a server, to the end of the handshake
    /// or its failure.
    pub whole: Duration,
    /// The work of this side on handshake messages, including synchronous callbacks.
    pub own_work: Duration,
    /// Waiting for an asynchronous choice of this side's certificate.
    pub certificate: Duration,
    /// Waiting for an asynchronous session storage.
    pub session: Duration,
    /// Waiting for an asynchronous verification of the peer.
    pub verification: Duration,
    /// Waiting for an asynchronous signature.
    pub signature: Duration,
    /// Waiting for an asynchronous ticketer.
    pub ticket: Duration,
}

/// Defines an enum of reasons, each with a text for the log.
macro_rules! reasons {
    (
        $(#[$doc:meta])* $name:ident
        { $($(#[$variant_doc:meta])* $variant:ident = $text:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        #[cfg(all(test, feature = "std"))]
        impl $name {
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        /// Prints a sentence.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }
    };
}

reasons! {
    /// The reason why a session was not resumed.
    NotResumed {
        /// The server has no ticketer for the client's ticket, or neither a ticketer nor a storage.
        /// Also if this side does not know the time.
        NoSessions = "there is no ticketer or storage, or the time is unknown";
        /// The ticket cannot be opened: its key is too old, or another server made it.
        UnreadableTicket = "the ticket cannot be opened";
        /// The session is not in the storage.
        NotStored = "the session is not in the storage";
        /// The server's ticketer or storage returned something that is not a session of this
        /// version and format. On a client, the session has only a ticket, and the configuration
        /// allows only session IDs (TLS 1.2).
        OtherFormat = "it is not a session of this version in the current format";
        /// The session was created with another cipher suite, or in TLS 1.3, with another hash. On
        /// a client, none of the offered suites fits.
        OtherCipherSuite = "the cipher suite, or its hash, differs";
        /// The session was created over another version of QUIC.
        OtherCarrier = "it was created over another version of QUIC";
        /// The session has expired.
        Expired = "it has expired";
        /// The full handshake before the session is too long ago.
        TooLongAgo = "its last full handshake is too long ago";
        /// The session belongs to another server name.
        OtherServerName = "it belongs to another server name";
        /// The policy for certificates has changed: on a server, that for client certificates; on a
        /// client, its verifier or its own certificate.
        OtherPolicy = "the policy for certificates has changed";
        /// The server's certificate has changed, and is not valid for the name.
        OtherCertificate = "the server's certificate differs, and is not valid for the name";
        /// The client's certificate is no longer accepted.
        ClientNotAccepted = "the client's certificate is no longer accepted";
        /// The session has no extended master secret (RFC 7627). On a server, the client now offers
        /// it; on a client, the configuration requires it.
        NoExtendedMasterSecret = "it has no extended master secret";
        /// The client does not offer the mode psk_dhe_ke (RFC 9846 §4.3.9).
        NoKeyExchangeMode = "the client does not offer psk_dhe_ke";
        /// The client's configuration does not enable the version of the session.
        VersionDisabled = "its version is not enabled";
        /// The ticket does not fit into the ClientHello.
        TooLong = "its ticket is too long";
        /// The server has not accepted the session that the client offered.
        RefusedByServer = "the server does not resume it";
    }
}

reasons! {
    /// The reason why a server rejects early data.
    EarlyDataRejected {
        /// The client does not know the reason.
        ByServer = "the server rejects it";
        /// The application of the server rejects it.
        ByApplication = "the application rejects it";
        /// No session is resumed.
        NotResumed = "no session is resumed";
        /// The server sends a HelloRetryRequest.
        HelloRetryRequest = "a HelloRetryRequest is needed";
        /// The ticket or the configuration does not allow early data.
        NotAllowed = "the ticket or the configuration does not allow it";
        /// Another session than the first one is resumed.
        OtherSession = "it belongs to another session";
        /// The cipher suite differs from the session's.
        OtherCipherSuite = "the cipher suite differs from the session's";
        /// The application protocol differs from the session's.
        OtherProtocol = "the application protocol differs from the session's";
        /// The session was created over records, and is resumed over QUIC, or the reverse.
        OtherCarrier = "the session was not created over the same carrier";
        /// The session is in a ticket, which may be used twice.
        Replayable = "the session is in a ticket, so it may be used twice";
        /// The age of the ticket does not match the clock.
        TicketAge = "the age of the ticket does not match the clock";
    }
}
