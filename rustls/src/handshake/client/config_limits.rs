//! The check that the configured lists of names fit into a ClientHello.

use alloc::vec::Vec;

use crate::config::settings::ClientSettings;
use crate::error::Error;

/// Rejects a configuration whose ALPN names or authorities do not fit into a ClientHello.
pub(crate) fn check(config: &ClientSettings, alpn_protocols: &[Vec<u8>]) -> Result<(), Error> {
    // RFC 7301 §3.1: names of 1 to 255 bytes
    if !alpn_protocols
        .iter()
        .all(|name| (1..=255).contains(&name.len()))
    {
        return Err(Error::General(
            "an ALPN protocol name must have 1 to 255 bytes".into(),
        ));
    }
    let names = alpn_protocols.iter().map(|name| 1 + name.len());
    let hints = config.verifier().root_hint_subjects().unwrap_or_default();
    let hints = hints.iter().map(|name| 2 + name.as_ref().len());
    if names.chain(hints).sum::<usize>() > MAX_LISTS_LEN {
        return Err(Error::General(
            "ALPN protocol names and certificate_authorities are too long for a ClientHello".into(),
        ));
    }
    Ok(())
}

/// The maximum length of both lists together in a ClientHello, whose extensions have at most 2^16 -
/// 1 bytes. The rest is reserved for everything else, including large key shares.
const MAX_LISTS_LEN: usize = 0xe000;
