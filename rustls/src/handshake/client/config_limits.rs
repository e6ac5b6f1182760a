//! Checks that a ClientHello can be made from a configuration.

use alloc::vec::Vec;

use crate::error::Error;
use crate::handshake::settings::ClientSettings;

/// Refuses a configuration that offers what no ClientHello can carry.
pub(super) fn check(config: &ClientSettings, alpn_protocols: &[Vec<u8>]) -> Result<(), Error> {
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

/// How much of a ClientHello, which has at most 2^16 - 1 bytes of extensions, the variable-length lists may
/// take. The rest is left for everything else, large key shares included.
const MAX_LISTS_LEN: usize = 0xe000;
