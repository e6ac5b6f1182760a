//! What an exchange and its expectations need of a connection, whatever carries its bytes.

use rustls::{CommonState, HandshakeKind};

use crate::failure::Failure;

/// A connection, and what moves its bytes.
pub(crate) trait Carrier {
    /// What is known about the connection.
    fn facts(&self) -> &CommonState;

    fn is_client(&self) -> bool;

    /// The name that a client asked this server for.
    fn server_name(&self) -> Option<&str>;

    /// The server accepted this client's early data.
    fn is_early_data_accepted(&self) -> bool;

    /// The server accepted this client's encrypted ClientHello.
    fn is_ech_accepted(&self) -> bool;

    /// The peer's transport parameters of QUIC.
    fn transport_parameters(&self) -> Option<&[u8]>;

    /// This client may send early data.
    fn offers_early_data(&mut self) -> bool;

    /// Sends of `data` what early data may be, and says how much that is.
    fn send_early_data(&mut self, data: &[u8]) -> Result<usize, Failure>;

    /// Goes on with the handshake until it is complete, or early data is there, which is returned.
    fn handshake(&mut self) -> Result<Vec<u8>, Failure>;

    /// Sends everything that waits to be sent.
    fn flush(&mut self) -> Result<(), Failure>;

    fn export_keying_material(
        &self,
        length: usize,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<Vec<u8>, Failure>;

    /// Sends a KeyUpdate with what is sent next.
    fn refresh_traffic_keys(&mut self) -> Result<(), Failure>;

    /// Reads application data, once there is any.
    fn read(&mut self, buf: &mut [u8]) -> Result<Received, Failure>;

    /// Looks at application data, once there is any, without taking it.
    fn peek(&mut self) -> Result<Vec<u8>, Failure>;

    /// Sends application data.
    fn write(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Writes application data that leave only after something was read.
    fn write_unfinished(&mut self, data: &[u8]) -> Result<(), Failure>;

    /// Says that nothing more will come from us.
    fn close(&mut self) -> Result<(), Failure>;

    /// Is done with the socket.
    fn finish(self: Box<Self>);

    fn resumed(&self) -> bool {
        self.facts().handshake_kind() == Some(HandshakeKind::Resumed)
    }
}

/// What there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes.
    Bytes(usize),
    /// The peer's close_notify.
    CloseNotify,
    /// The end of the socket, without close_notify.
    End,
}
