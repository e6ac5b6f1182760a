//! Renegotiation (RFC 5746), which neither side takes part in.

use crate::enums::AlertDescription;
use crate::handshake::{Context, Failure};
use crate::logging::debug;

/// Refuses the peer's HelloRequest or ClientHello on a complete connection, which goes on.
///
/// # Errors
///
/// `TooManyRenegotiationRequests` for a peer that does not take no for an answer.
pub(crate) fn refuse_renegotiation<Data>(cx: &mut Context<'_, Data>) -> Result<(), Failure> {
    debug!("refused to renegotiate");
    cx.tolerance.count_renegotiation()?;
    // RFC 5246 §7.2.2: a warning
    cx.transport
        .send_warning(AlertDescription::NoRenegotiation)?;
    Ok(())
}
