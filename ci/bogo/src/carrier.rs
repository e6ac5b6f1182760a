//! The interface of a connection for exchanges and expectations, over records or QUIC.

use rustls::{CommonState, HandshakeKind};

use crate::failure::Failure;

/// A connection with its transport.
pub(crate) trait Carrier {
    /// The state of the connection.
    fn facts(&self) -> &CommonState;

    fn is_client(&self) -> bool;

    /// The name that the client sent to this server.
    fn server_name(&self) -> Option<&str>;

    /// True if the server accepted this client's early data.
    fn is_early_data_accepted(&self) -> bool;

    /// True if the server accepted this client's encrypted ClientHello.
    fn is_ech_accepted(&self) -> bool;

    /// The peer's QUIC transport parameters.
    fn transport_parameters(&self) -> Option<&[u8]>;

    /// True if this client may send early data.
    fn offers_early_data(&mut self) -> bool;

    /// Sends as much of `data` as early data allows. Returns how much that is.
    fn send_early_data(&mut self, data: &[u8]) -> Result<usize, Failure>;

    /// Continues the handshake until it is complete or early data arrives. Returns the early data.
    fn handshake(&mut self) -> Result<Vec<u8>, Failure>;

    /// Sends all pending output.
    fn flush(&mut self) -> Result<(), Failure>;

    fn export_keying_material(
        &self,
        length: usize,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<Vec<u8>, Failure>;

    /// Sends a KeyUpdate with the next output.
    fn refresh_traffic_keys(&mut self) -> Result<(), Failure>;

    /// Waits for application data and reads it.
    fn read(&mut self, buf: &mut [u8]) -> Result<Received, Failure>;

    /// Waits for application data and returns it without consuming it.
    fn peek(&mut self) -> Result<Vec<u8>, Failure>;

    /// Sends application data.
    fn write(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Writes application data that are only sent after the next read.
    fn write_unfinished(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Sends close_notify.
    fn close(&mut self) -> Result<(), Failure>;

    /// Closes the socket.
    fn finish(self: Box<Self>);

    fn resumed(&self) -> bool {
        self.facts().handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The number of bytes read.
    Bytes(usize),
    /// The peer's close_notify.
    CloseNotify,
    /// The end of the socket, without close_notify.
    End,
}
