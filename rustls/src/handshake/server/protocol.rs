//! The application protocol (ALPN, RFC 7301), whatever the version.

use alloc::vec::Vec;

use crate::error::Error;
use crate::msgs::client_hello::ClientHello;
use crate::msgs::extensions::ProtocolName;
use crate::server::ServerConfig;

/// The server's most preferred protocol that the client offers too.
pub(crate) fn select_protocol(
    hello: &ClientHello<'_>,
    config: &ServerConfig,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(offered) = &hello.extensions.alpn_protocol_names else {
        return Ok(None);
    };
    if config.alpn_protocols.is_empty() {
        return Ok(None);
    }
    match config
        .alpn_protocols
        .iter()
        .find(|ours| offered.contains(&ProtocolName(ours)))
    {
        Some(protocol) => Ok(Some(protocol.clone())),
        // RFC 7301 §3.2: none in common is a no_application_protocol
        None => Err(Error::NoApplicationProtocol),
    }
}
