//! Events other than handshakes.

use core::time::Duration;

use rustls_core::record::traffic::Traffic;

use super::handshake::{HandshakeFacts, NotResumed};
use crate::enums::AlertDescription;
use crate::error::Error;

/// The failure of a connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionFailed<'a> {
    /// The facts of the handshake that are known so far.
    pub handshake: HandshakeFacts<'a>,
    /// True if the handshake was not complete.
    pub during_handshake: bool,
    /// The error; `None` if the connection was dropped without an error before its handshake was
    /// complete.
    pub error: Option<&'a Error>,
    /// The [label](Error::label) of the error. Without an error, `end_of_stream` if a buffered
    /// connection reached the end of the stream, and `dropped` otherwise.
    pub label: &'static str,
    /// The party that caused the failure.
    pub fault: Fault,
    /// The alert that was sent because of the error, or the received alert that is the error.
    /// `None` if there was none, or if it could not be sent.
    pub alert: Option<Alert>,
}

/// The party that caused a failure, judging by the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The peer: it broke the protocol, is incompatible with this side, is not trusted, or sent an
    /// alert.
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
    /// This side queued the alert, or passed it to QUIC.
    Sent(AlertDescription),
    /// The peer sent the alert.
    Received(AlertDescription),
}

/// A key update in one direction.
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

/// An event concerning a session ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TicketEvent {
    /// The kind of event.
    pub action: TicketAction,
    /// The reason why the ticket was refused; `None` for other events.
    pub reason: Option<NotResumed>,
}

/// The kind of a [`TicketEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TicketAction {
    /// A server created the ticket, and queued it for the client.
    Made,
    /// A client received the ticket.
    Received,
    /// A server did not resume the session in a ticket that the client offered.
    Refused,
}

/// The result of storing a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionEvent {
    /// True on a server if the storage accepted the session, and on a client if the session was
    /// passed to the store. False if the storage did not accept it, or if a client could not use
    /// it, for example because it has no store for it or does not know the time, or because the
    /// ticket or the verification of the server does not outlive the handshake.
    pub is_stored: bool,
}

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionClosed {
    /// The way in which the connection ended.
    pub end: End,
    /// True if this side queued a close_notify; over QUIC, if that is the connection's alert.
    pub close_notify_sent: bool,
    /// True if the peer's close_notify was received; never over QUIC.
    pub close_notify_received: bool,
    /// The data sent or queued. Records after [an extraction](End::Extracted) are not counted.
    pub sent: Traffic,
    /// The data received. Records that cannot be opened are not counted.
    pub received: Traffic,
    /// The time since the observer was set, usually when the connection was created. `None` without
    /// `std`.
    pub age: Option<Duration>,
}

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// The peer sent a close_notify (RFC 9846 §6.1), or this side did and the end of the stream was
    /// not reached.
    Clean,
    /// The stream ended without the peer's close_notify, so data may be missing. Only buffered
    /// connections see the end of the stream.
    Truncated,
    /// An error ended the connection.
    Failed,
    /// The application extracted the record keys.
    Extracted,
    /// The application dropped the connection without any of these. This is normal over QUIC, which
    /// closes connections itself.
    Dropped,
}
