//! Where a connection and its handshake meet: what each may use of the other.

use super::Failure;
use crate::client::ClientConnectionData;
use crate::conn::established::Established;
use crate::conn::negotiated::Negotiated;
use crate::conn::tolerance::Tolerance;
use crate::conn::transport::Transport;
use crate::msgs::HandshakeMessage;
use crate::server::ServerConnectionData;

/// The handshake of one side, from the first message to the last one after the handshake.
///
/// A trait only because the public connection types put no bound on their `Data`; each side has one
/// implementation.
pub(crate) trait Machine<Data>: Send + Sync {
    /// Handles one complete handshake message. A failure ends the connection, and the machine with it.
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Result<(), Failure>;

    /// Handles the change_cipher_spec of TLS 1.2 (RFC 5246 §7.1); called once that version is negotiated. No
    /// handshake bytes wait.
    #[cfg(feature = "tls12")]
    fn handle_change_cipher_spec(&mut self, cx: &mut Context<'_, Data>) -> Result<(), Failure>;

    /// False until the application has chosen a configuration: messages wait until then.
    fn is_ready(&self) -> bool {
        true
    }

    /// Drops all secrets; every later message is refused.
    fn fail(&mut self);
}

/// What a handshake may touch of its connection.
pub(crate) struct Context<'a, Data> {
    /// Where its bytes, keys and alignment go.
    pub(crate) transport: &'a mut dyn Transport,
    /// What the connection's accessors report.
    pub(crate) negotiated: &'a mut Negotiated,
    /// The secrets that outlive the handshake, once there are any.
    pub(crate) established: &'a mut Option<Established>,
    /// How much useless work the peer has caused.
    pub(crate) tolerance: &'a mut Tolerance,
    pub(crate) data: &'a mut Data,
}

/// What a client's handlers may touch of their connection.
pub(crate) type ClientContext<'a> = Context<'a, ClientConnectionData>;

/// What a server's handlers may touch of their connection.
pub(crate) type ServerContext<'a> = Context<'a, ServerConnectionData>;
