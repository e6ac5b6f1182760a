//! Where a connection and its handshake meet: what each may ask of the other.

use crate::conn::CommonState;
use crate::error::Error;
use crate::msgs::HandshakeMessage;

/// The handshake state machine of one side and version, from the first message to the last
/// post-handshake one.
pub(crate) trait Machine<Data>: Send + Sync {
    /// Handles one complete handshake message: decode, check, transcript, install keys and go on.
    ///
    /// An error ends the connection: the caller sends the alert it maps to.
    fn handle(
        &mut self,
        message: HandshakeMessage<'_>,
        cx: &mut Context<'_, Data>,
    ) -> Result<(), Error>;

    /// Sends a KeyUpdate that requests one in return, and goes on with new sending keys (RFC 9846
    /// §4.7.3).
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete.
    fn refresh_traffic_keys(&mut self, common: &mut CommonState) -> Result<(), Error>;

    /// Fills `output` with keying material (RFC 9846 §7.5).
    ///
    /// # Errors
    ///
    /// [`Error::HandshakeNotComplete`] before the handshake is complete.
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<(), Error>;
}

/// What a handshake state may touch of its connection.
pub(crate) struct Context<'a, Data> {
    pub(crate) common: &'a mut CommonState,
    pub(crate) data: &'a mut Data,
}
