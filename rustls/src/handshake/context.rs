//! The interface between a connection and its handshake.

#[cfg(feature = "tls12")]
use alloc::boxed::Box;
use core::task::Poll;

use crate::callbacks::Callbacks;
use crate::failure::Failure;
use crate::handshake::established::Established;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::observation::Recorder;
use crate::handshake::tolerance::Tolerance;
use crate::handshake::transport::Transport;
use crate::handshake::wait::Wait;
use crate::msgs::HandshakeMessage;

/// The handshake of one side, from the first message to the last one after the handshake.
///
/// This is a trait only because the public connection types put no bound on their `Data`. Each side
/// has one implementation.
pub(crate) trait Machine<Data>: Send + Sync {
    /// Handles one complete handshake message. A failure ends the connection and the handshake.
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Result<(), Failure>;

    /// Handles a TLS 1.2 change_cipher_spec (RFC 5246 §7.1). Fails if TLS 1.2 was not negotiated,
    /// or if handshake bytes are buffered.
    #[cfg(feature = "tls12")]
    fn handle_change_cipher_spec(&mut self, cx: &mut Context<'_, Data>) -> Result<(), Failure>;

    /// False while the handshake waits for the application: for its choice of a configuration, or
    /// for an operation. Messages stay buffered meanwhile.
    fn is_ready(&self) -> bool {
        self.wait().is_none()
    }

    /// Returns the callback that the handshake is waiting for, if any. The choice of a
    /// configuration does not count.
    fn wait(&self) -> Option<Wait>;

    /// Polls the operation that the handshake is waiting for. Returns `Ready` if there is none.
    fn poll_operation(
        &mut self,
        task: &mut core::task::Context<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Poll<Result<(), Failure>>;

    /// On a server, returns the name that the client requested.
    fn server_name<'a>(&self, _data: &'a Data) -> Option<&'a str> {
        None
    }

    /// Drops all secrets of the handshake. Every later message is rejected. Does not call the
    /// application's stores.
    fn fail(&mut self);
}

/// The parts of a connection that its handshake may access.
pub(crate) struct Context<'a, Data> {
    /// Sends handshake messages, installs keys, and checks record alignment.
    pub(crate) transport: &'a mut dyn Transport,
    /// The properties that the connection's accessors and its observer report.
    pub(crate) negotiated: &'a mut Negotiated,
    /// The secrets that outlive the handshake, once derived.
    pub(crate) established: &'a mut Option<Established>,
    /// Counts the peer's useless messages.
    pub(crate) tolerance: &'a mut Tolerance,
    /// The session that is removed from its store if the connection fails.
    #[cfg(feature = "tls12")]
    pub(crate) session: &'a mut Option<Box<dyn SessionInUse>>,
    pub(crate) data: &'a mut Data,
    /// The kinds of application callbacks that the handshake may use.
    pub(crate) callbacks: Callbacks,
    /// Records events for the observer.
    pub(crate) recorder: Recorder<'a>,
}

/// A TLS 1.2 session that a connection offers, resumes or created.
///
/// RFC 5246 §7.2.2: it must not be resumed after a fatal alert. A connection forgets it only once
/// the failure is recorded and all secrets are dropped, because the store belongs to the
/// application and may panic.
#[cfg(feature = "tls12")]
pub(crate) trait SessionInUse: Send + Sync {
    /// Removes the session from its store.
    fn forget(&self);
}
