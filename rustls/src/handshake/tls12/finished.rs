//! This side's Finished (RFC 5246 §7.4.9), the first message under its new key.

use crate::enums::{HandshakeType, Side};
use crate::error::Error;
use crate::handshake::transcript::Transcript;
use crate::handshake::transport::Transport;
use crate::keys::tls12::KeyBlock;
use crate::logging::trace;

/// Sends change_cipher_spec, then Finished under the key of `side`.
pub(super) fn send_finished(
    side: Side,
    keys: &KeyBlock,
    transcript: &mut Transcript,
    transport: &mut dyn Transport,
) -> Result<(), Error> {
    transport.change_sending_cipher(keys, side);
    trace!("sending {:?}", HandshakeType::Finished);
    let verify_data = keys.sent_verify_data(side, transcript.current());
    // encoded here rather than in a flight, which allocates
    let mut message = [0; 4 + 12];
    message[0] = HandshakeType::Finished.into();
    message[3] = 12;
    message[4..].copy_from_slice(&verify_data);
    transcript.add(&message);
    transport.send_handshake(&message)
}
