//! The choice of the application protocol (ALPN, RFC 7301), in either version.

use alloc::vec::Vec;

use crate::config::settings::ServerSettings;
use crate::error::Error;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::extensions::ProtocolName;

/// Returns the server's most preferred protocol among those that the client offers. Returns `None`
/// if one side names no protocol and the carrier allows that.
///
/// # Errors
///
/// Returns [`Error::NoApplicationProtocol`] if a protocol is required, and there is none in common.
pub(crate) fn select_protocol(
    hello: &ClientHello<'_>,
    config: &ServerSettings,
) -> Result<Option<Vec<u8>>, Error> {
    let offered = hello.extensions.alpn_protocol_names.as_deref();
    let offered = offered.unwrap_or(&[]);
    let ours = &config.alpn_protocols;
    if config
        .carrier
        .allows_no_protocol(!offered.is_empty(), !ours.is_empty())
    {
        return Ok(None);
    }
    match ours
        .iter()
        .find(|ours| offered.contains(&ProtocolName(ours)))
    {
        Some(protocol) => Ok(Some(protocol.clone())),
        // RFC 7301 §3.2: without a common protocol the alert is no_application_protocol
        None => Err(Error::NoApplicationProtocol),
    }
}
