//! Renegotiation (RFC 5746), which both sides refuse.

use crate::enums::AlertDescription;
use crate::failure::Failure;
use crate::handshake::Context;
use crate::logging::debug;

/// Refuses the peer's HelloRequest or ClientHello on an established connection. The connection
/// continues.
///
/// # Errors
///
/// Returns `TooManyRenegotiationRequests` on the second attempt, and errors of
/// [`Transport::send_warning`](crate::handshake::transport::Transport::send_warning).
pub(crate) fn refuse_renegotiation<Data>(cx: &mut Context<'_, Data>) -> Result<(), Failure> {
    debug!("refused to renegotiate");
    cx.tolerance.count_renegotiation()?;
    // RFC 5246 §7.2.2: no_renegotiation is a warning
    cx.transport
        .send_warning(AlertDescription::NoRenegotiation)?;
    Ok(())
}
