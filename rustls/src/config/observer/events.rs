//! Events besides handshakes.

use core::time::Duration;

use rustls_core::record::traffic::Traffic;

use super::handshake::{HandshakeFacts, NotResumed};
use crate::enums::AlertDescription;
use crate::error::Error;

/// The failure of a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionFailed<'a> {
    /// The facts of the handshake, as far as known. Later failures have all, with the data sent and
    /// received until then.
    pub handshake: HandshakeFacts<'a>,
    /// True if the handshake was not complete.
    pub during_handshake: bool,
    /// The error; `None` if the connection was dropped before its handshake was complete.
    pub error: Option<&'a Error>,
    /// The [label](Error::label) of the error. Without an error, `end_of_stream` if a buffered
    /// connection has read the end of the stream, and `dropped` otherwise.
    pub label: &'static str,
    /// The party that caused the failure.
    pub fault: Fault,
    /// The alert for the error, or which is the error; `None` if there was none, or if it could not
    /// be sent any more.
    pub alert: Option<Alert>,
}

/// The party that caused a failure, as far as an error shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The peer: it broke the protocol, has nothing in common with this side, is not trusted, or
    /// sent an alert.
    Peer,
    /// This library, its configuration, its crypto provider or its clock.
    Local,
    /// The network or the peer's machine: the stream ended during the handshake.
    Network,
    /// The application: its code panicked or returned [`Error::Other`], or it dropped the
    /// connection during the handshake.
    Application,
}

impl Fault {
    /// Returns the party that caused `error`.
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::InvalidEncryptedClientHello(_)
            | Error::InvalidMessage(_)
            | Error::NoCertificatesPresented
            | Error::UnsupportedNameType
            | Error::DecryptError
            | Error::PeerIncompatible(_)
            | Error::PeerMisbehaved(_)
            | Error::AlertReceived(_)
            | Error::InvalidCertificate(_)
            | Error::PeerSentOversizedRecord
            | Error::NoApplicationProtocol => Self::Peer,
            Error::Other(_) => Self::Application,
            _ => Self::Local,
        }
    }
}

/// An alert that ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alert {
    /// This side has queued the alert, or passed it to QUIC.
    Sent(AlertDescription),
    /// The peer has sent the alert.
    Received(AlertDescription),
}

/// An update of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeysUpdated {
    /// The direction whose keys were replaced.
    pub direction: Direction,
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// From this side to the peer.
    Sending,
    /// From the peer to this side.
    Receiving,
}

/// An event of a session ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TicketEvent {
    /// The event.
    pub action: TicketAction,
    /// The reason, for a refused ticket; otherwise `None`.
    pub reason: Option<NotResumed>,
}

/// An event of a session ticket, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TicketAction {
    /// A server has made it, and queued it for the client.
    Made,
    /// A client has received it.
    Received,
    /// A server does not resume its session, which the client offered.
    Refused,
}

/// An event of a session and its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEvent {
    /// True if the session was given to the store; on a server, also that the storage has accepted
    /// it. False if the storage has not, or if a client has no store or does not know the time.
    pub is_stored: bool,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionClosed {
    /// The way in which the connection ended.
    pub end: End,
    /// True if this side has queued a close_notify; over QUIC, if it has that alert.
    pub close_notify_sent: bool,
    /// True if the peer's close_notify was received; never over QUIC.
    pub close_notify_received: bool,
    /// The data sent or queued. Records after [an extraction](End::Extracted) are not counted.
    pub sent: Traffic,
    /// The data received. Records that cannot be opened are not counted.
    pub received: Traffic,
    /// The time since the connection got its observer, usually since it was created; `None` without
    /// `std`.
    pub age: Option<Duration>,
}

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// The peer's close_notify ended it, or this side's if the end of the stream was not seen (RFC
    /// 9846 §6.1).
    Clean,
    /// The stream ended without the peer's close_notify, so data may be missing. Only buffered
    /// connections see the end of the stream.
    Truncated,
    /// An error ended it.
    Failed,
    /// The application has taken the keys, and continues elsewhere.
    Extracted,
    /// The application dropped the connection without any of these. Usual over QUIC, which closes
    /// connections itself.
    Dropped,
}
