//! Extension blocks within handshake messages: parsing and replacing them.

use std::ops::Range;

use super::flights::Framing;
use crate::wire::{extensions, message, u16_vec};

/// Types and bodies, in order.
pub type Extensions = Vec<(u16, Vec<u8>)>;

/// Returns the extensions of a handshake message; for a Certificate, those of the first entry.
/// `None` if there are none or they cannot be found.
pub fn read(framing: Framing, message: &[u8]) -> Option<Extensions> {
    Some(parse(&message[block(framing, message)?]))
}

/// Changes the extensions of a message and corrects all lengths.
pub fn change(
    framing: Framing,
    content: &[u8],
    change: impl FnOnce(&mut Extensions),
) -> Option<Vec<u8>> {
    let range = block(framing, content)?;
    let mut changed = parse(&content[range.clone()]);
    change(&mut changed);
    let block = u16_vec(&extensions(&changed));
    let mut body = [&content[4..range.start - 2], &block].concat();
    // a certificate's entry is inside a list with its own length
    if content[0] == CERTIFICATE {
        let entries = u32::try_from(body.len() - 4).ok()?;
        body[1..4].copy_from_slice(&entries.to_be_bytes()[1..]);
    }
    body.extend_from_slice(&content[range.end..]);
    Some(message(content[0], &body))
}

const CERTIFICATE: u8 = 11;

/// Returns the range of the extensions in a message, excluding the length prefix.
pub fn block(framing: Framing, message: &[u8]) -> Option<Range<usize>> {
    let skip = |at: usize, size: usize| {
        let bytes = message.get(at..at + size)?;
        let len = bytes
            .iter()
            .fold(0, |len, byte| len << 8 | usize::from(*byte));
        (at + size + len <= message.len()).then_some(at + size + len)
    };
    let len_at = match message.first()? {
        1 => skip(skip(skip(4 + 2 + 32, 1)?, 2)?, 1)?,
        2 => skip(4 + 2 + 32, 1)? + 2 + 1,
        _ if framing == Framing::Tls12 => return None,
        4 => skip(skip(4 + 4 + 4, 1)?, 2)?,
        8 => 4,
        &CERTIFICATE if message.len() > 8 => skip(skip(4, 1)? + 3, 3)?,
        13 => skip(4, 1)?,
        _ => return None,
    };
    Some(len_at + 2..skip(len_at, 2)?)
}

/// Parses extensions up to the first truncated one.
fn parse(mut block: &[u8]) -> Extensions {
    let mut extensions = Vec::new();
    while let &[typ_high, typ_low, high, low, ref rest @ ..] = block {
        let len = usize::from(u16::from_be_bytes([high, low]));
        let Some((body, rest)) = rest.split_at_checked(len) else {
            break;
        };
        extensions.push((u16::from_be_bytes([typ_high, typ_low]), body.to_vec()));
        block = rest;
    }
    extensions
}
