//! The interface between a connection and its handshake.

#[cfg(feature = "tls12")]
use alloc::boxed::Box;
use core::task::Poll;

use crate::callbacks::Callbacks;
use crate::failure::Failure;
use crate::handshake::established::Established;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::operation::Wait;
use crate::handshake::tolerance::Tolerance;
use crate::handshake::transport::Transport;
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

    /// Handles the change_cipher_spec of TLS 1.2 (RFC 5246 §7.1). The caller has negotiated that
    /// version and buffers no handshake bytes.
    #[cfg(feature = "tls12")]
    fn handle_change_cipher_spec(&mut self, cx: &mut Context<'_, Data>) -> Result<(), Failure>;

    /// False until the application has chosen a configuration, and while the handshake waits for an
    /// operation. Messages are buffered until then.
    fn is_ready(&self) -> bool {
        self.wait().is_none()
    }

    /// Returns the call that the handshake waits for, if any.
    fn wait(&self) -> Option<Wait>;

    /// Polls the operation that the handshake waits for. Returns `Ready` if there is none.
    fn poll_operation(
        &mut self,
        task: &mut core::task::Context<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Poll<Result<(), Failure>>;

    /// On a server, returns the name that the client has requested.
    fn server_name<'a>(&self, _data: &'a Data) -> Option<&'a str> {
        None
    }

    /// Drops all secrets. Every later message is rejected. Calls no store of the application.
    fn fail(&mut self);
}

/// The parts of a connection that its handshake may access.
pub(crate) struct Context<'a, Data> {
    /// Takes handshake bytes and keys, and checks record alignment.
    pub(crate) transport: &'a mut dyn Transport,
    /// The values reported by the connection's accessors.
    pub(crate) negotiated: &'a mut Negotiated,
    /// The secrets that outlive the handshake, once derived.
    pub(crate) established: &'a mut Option<Established>,
    /// Counts useless messages of the peer.
    pub(crate) tolerance: &'a mut Tolerance,
    /// The session that is removed from its store if the connection fails.
    #[cfg(feature = "tls12")]
    pub(crate) session: &'a mut Option<Box<dyn SessionInUse>>,
    pub(crate) data: &'a mut Data,
    /// The methods of the application that the handshake may call.
    pub(crate) callbacks: Callbacks,
}

/// A TLS 1.2 session that a connection offers, resumes or has created.
///
/// RFC 5246 §7.2.2: it must not be resumed after a fatal alert. Only the driver forgets it, after
/// the failure is recorded and all secrets are dropped, because the store belongs to the
/// application and may panic.
#[cfg(feature = "tls12")]
pub(crate) trait SessionInUse: Send + Sync {
    /// Removes the session from its store.
    fn forget(&self);
}
