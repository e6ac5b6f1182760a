//! Handles the peer's KeyUpdate (RFC 9846 §4.7.3), on both sides.

use crate::enums::{AlertDescription, KeyUpdateRequest};
use crate::error::{Error, InvalidMessage};
use crate::failure::Failure;
use crate::handshake::Context;
use crate::handshake::established::Established;

/// Switches to the peer's next keys. If the peer requests a KeyUpdate, schedules one as the reply,
/// unless no more updates are allowed.
pub(crate) fn read_key_update<Data>(
    request: KeyUpdateRequest,
    cx: &mut Context<'_, Data>,
) -> Result<(), Failure> {
    // RFC 9846 §5.1: handshake messages must not span key changes
    cx.transport.check_aligned()?;
    let responds = match request {
        KeyUpdateRequest::UpdateRequested => true,
        KeyUpdateRequest::UpdateNotRequested => false,
        // RFC 9846 §4.7.3: any other value is an illegal_parameter
        _ => {
            return Err(Failure::new(
                InvalidMessage::InvalidKeyUpdate,
                AlertDescription::IllegalParameter,
            ));
        }
    };
    let updatable = cx.established.as_mut().and_then(Established::updatable);
    let Some((secrets, mut answered_by)) = updatable else {
        return Err(Error::HandshakeNotComplete.into());
    };
    let awaited = answered_by.take_awaited_update();
    if responds || !awaited {
        cx.tolerance.count_key_update()?;
    }
    // RFC 9846 §4.7.3: a receiver must update its receiving keys
    secrets.update(cx.transport)?;
    cx.recorder.events(|events| events.receiving_keys += 1);
    // RFC 9846 §4.7.3: a request must be answered before the next application data
    if responds {
        answered_by.answer_update(cx.transport);
    }
    Ok(())
}
