//! The facts of a handshake that its observer receives.

use core::fmt;
use core::time::Duration;

use rustls_core::record::traffic::Traffic;

use crate::config::ech::EchStatus;
use crate::config::handshake_kind::HandshakeKind;
use crate::enums::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

/// The facts of a handshake. If it failed, only some are known: the others are `None`, `NotOffered`
/// or `NotRequested`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandshakeFacts<'a> {
    /// The protocol version that the server chose.
    pub version: Option<ProtocolVersion>,
    /// The cipher suite. Until the server chooses one, a client with a usable TLS 1.3 session
    /// reports the suite with which it would resume that session.
    pub cipher_suite: Option<CipherSuite>,
    /// The key exchange group; `None` if a TLS 1.2 session is resumed.
    pub group: Option<NamedGroup>,
    /// The signature scheme with which the server proved its identity; `None` if a session is
    /// resumed, and until the server has signed or the client has authenticated the server.
    pub server_signature: Option<SignatureScheme>,
    /// The signature scheme with which the client proved its identity; `None` without a client
    /// certificate, if a session is resumed, and until the client has signed or the server has
    /// authenticated the client.
    pub client_signature: Option<SignatureScheme>,
    /// The kind of handshake, once [`handshake_kind`](crate::CommonState::handshake_kind) returns
    /// it.
    pub kind: Option<HandshakeKind>,
    /// The source of the session that the server resumes; `None` in a full handshake.
    pub resumed_from: Option<SessionSource>,
    /// The reason why a session was not resumed. `None` if a session was resumed, or if there was
    /// none to resume. A client also gives a reason for a session that it did not offer.
    ///
    /// On a server, the reason applies to the last offered session that it looked at. In TLS 1.2, a
    /// server treats any session ID as an offer, even the random one from a client that supports
    /// TLS 1.3.
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
    /// The way in which the peer's certificates were checked.
    pub peer_chain: PeerChainCheck,
    /// The time that the handshake took until it finished or failed. `None` without `std`.
    pub durations: Option<Durations>,
    /// The data that this side sent or queued before the event, including application data. If the
    /// receiving half of a split connection fails, only data from before the split is counted.
    pub sent: Traffic,
    /// The data received before the event. If the sending half of a split connection fails, only
    /// data from before the split is counted.
    pub received: Traffic,
}

/// The source of a resumed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionSource {
    /// The ticket itself holds the session. A client also reports this for a ticket that refers to
    /// the server's storage, because it cannot tell the two apart.
    Ticket,
    /// The server's storage, which a ticket or a session ID refers to.
    Storage,
}

/// The way in which the peer's certificate chain was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerChainCheck {
    /// No chain was accepted, for example because the peer sent none, its chain was rejected, or a
    /// session was resumed. A server that resumes a session also decides whether the client's chain
    /// is still acceptable, but does not report that.
    #[default]
    None,
    /// The verifier verified the chain in this handshake.
    Verified,
    /// The chain was not verified again, because an earlier handshake had verified it
    /// ([`VerifiedChains`](crate::certificates::VerifiedChains)).
    Known,
}

/// The client's certificate in a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientCertificate {
    /// The server did not request one in this handshake.
    #[default]
    NotRequested,
    /// The server requested one, but the client has not sent one.
    Missing,
    /// The client sent one.
    Sent,
}

/// The outcome of early data (0-RTT, RFC 9846 §4.3.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EarlyData {
    /// The client did not offer it.
    #[default]
    NotOffered,
    /// The client offered it, but the handshake failed before the server's answer. Only reported on
    /// clients.
    Offered,
    /// The server accepted it.
    Accepted,
    /// The server rejected it.
    Rejected(EarlyDataRejected),
}

/// The time spent in the parts of a handshake.
///
/// A wait for an asynchronous operation begins after the call that returns a future, and ends when
/// a poll returns the result. So polls count as waiting, and the work that follows counts as this
/// side's own. The time spent waiting for the peer's messages is part of `whole` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// The time from the creation of the client, or from the ClientHello on a server, until the
    /// handshake finished or failed.
    pub whole: Duration,
    /// The time that this side worked on the handshake: on messages, on the records that carry
    /// them, and in synchronous callbacks.
    pub own_work: Duration,
    /// The time spent waiting for an asynchronous resolver of this side's certificate.
    pub certificate: Duration,
    /// The time spent waiting for an asynchronous session storage.
    pub session: Duration,
    /// The time spent waiting for an asynchronous verification of the peer.
    pub verification: Duration,
    /// The time spent waiting for an asynchronous signature.
    pub signature: Duration,
    /// The time spent waiting for an asynchronous ticketer.
    pub ticket: Duration,
}

impl Durations {
    /// Returns the time spent waiting for each kind of asynchronous operation, in the order of the
    /// fields, with a label for metrics: the field's name. Later versions may add labels, but never
    /// change or remove one.
    #[inline]
    pub fn waits(&self) -> impl Iterator<Item = (&'static str, Duration)> + use<> {
        let Self {
            whole: _,
            own_work: _,
            certificate,
            session,
            verification,
            signature,
            ticket,
        } = *self;
        [
            ("certificate", certificate),
            ("session", session),
            ("verification", verification),
            ("signature", signature),
            ("ticket", ticket),
        ]
        .into_iter()
    }
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

        /// Prints the text for the log.
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
        /// The server has no ticketer for the client's TLS 1.2 ticket, or, in TLS 1.3, neither a
        /// ticketer nor a storage. Also used if this side does not know the time.
        NoSessions = "there is no ticketer or storage, or the time is unknown";
        /// The ticket cannot be opened, for example because its key is too old or another server
        /// made it.
        UnreadableTicket = "the ticket cannot be opened";
        /// The session is not in the storage.
        NotStored = "the session is not in the storage";
        /// The server's ticketer or storage returned something that is not a session of this
        /// version and format. On a client, the session has only a ticket, and the configuration
        /// allows only session IDs (TLS 1.2).
        OtherFormat = "it is not a session of this version in the current format";
        /// The session was created with a different cipher suite or, in TLS 1.3, with a different
        /// hash. On a client, none of the offered suites fits, or the suite of a HelloRetryRequest
        /// does not fit.
        OtherCipherSuite = "the cipher suite, or its hash, differs";
        /// The session was created over another version of QUIC.
        OtherCarrier = "it was created over another version of QUIC";
        /// The session has expired. On a client, also used if the verification of the server's
        /// certificate no longer holds.
        Expired = "it has expired";
        /// The session began with a full handshake that was too long ago.
        TooLongAgo = "its last full handshake is too long ago";
        /// The session belongs to another server name.
        OtherServerName = "it belongs to another server name";
        /// The policy for certificates has changed. On a server, this is the policy for client
        /// certificates; on a client, the verifier or the certificate resolver.
        OtherPolicy = "the policy for certificates has changed";
        /// The server's certificate has changed, and is not valid for the requested name. Also used
        /// if it has changed and no name is requested.
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
        /// The server did not accept the session that the client offered.
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
        /// A session other than the first one offered is resumed.
        OtherSession = "it belongs to another session";
        /// The cipher suite differs from the session's.
        OtherCipherSuite = "the cipher suite differs from the session's";
        /// The application protocol differs from the session's.
        OtherProtocol = "the application protocol differs from the session's";
        /// The session was created over records and is resumed over QUIC, or vice versa.
        OtherCarrier = "the session was not created over the same carrier";
        /// The session is in a ticket, which may be used twice.
        Replayable = "the session is in a ticket, so it may be used twice";
        /// The age of the ticket does not match the clock.
        TicketAge = "the age of the ticket does not match the clock";
    }
}
