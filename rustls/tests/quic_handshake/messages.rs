//! Splits and changes handshake messages.

/// Splits `bytes` into messages with their headers. Nothing may be left over.
pub(crate) fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut rest = bytes;
    while let [_, high, mid, low, ..] = *rest {
        let len = 4 + u32::from_be_bytes([0, high, mid, low]) as usize;
        let (message, others) = rest.split_at(len);
        messages.push(message.to_vec());
        rest = others;
    }
    assert!(rest.is_empty());
    messages
}

/// A message of this type.
pub(crate) fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    let [_, len @ ..] = (body.len() as u32).to_be_bytes();
    [&[typ], &len[..], body].concat()
}

/// A ClientHello with this legacy_session_id instead of an empty one.
pub(crate) fn with_session_id(hello: &[u8], session_id: &[u8]) -> Vec<u8> {
    const SESSION_ID_AT: usize = 4 + 2 + 32;
    assert_eq!(hello[SESSION_ID_AT], 0);
    let mut body = hello[4..SESSION_ID_AT].to_vec();
    body.push(session_id.len() as u8);
    body.extend(session_id);
    body.extend(&hello[SESSION_ID_AT + 1..]);
    message(hello[0], &body)
}

/// Replaces each extension body of the ClientHello or EncryptedExtensions `encoded` by the result
/// of `change`, which receives its type and body.
pub(crate) fn with_extensions(
    encoded: &[u8],
    mut change: impl FnMut(u16, &[u8]) -> Option<Vec<u8>>,
) -> Vec<u8> {
    let at = extensions_at(encoded);
    let mut rest = &encoded[at + 2..];
    let mut block = Vec::new();
    while let [high, low, len_high, len_low, ..] = *rest {
        let typ = u16::from_be_bytes([high, low]);
        let end = 4 + usize::from(u16::from_be_bytes([len_high, len_low]));
        if let Some(body) = change(typ, &rest[4..end]) {
            block.extend(typ.to_be_bytes());
            block.extend((body.len() as u16).to_be_bytes());
            block.extend(body);
        }
        rest = &rest[end..];
    }
    let mut body = encoded[4..at].to_vec();
    body.extend((block.len() as u16).to_be_bytes());
    body.extend(block);
    message(encoded[0], &body)
}

/// The types of the extensions in ascending order.
pub(crate) fn extension_types(encoded: &[u8]) -> Vec<u16> {
    let mut types = Vec::new();
    with_extensions(encoded, |typ, _| {
        types.push(typ);
        None
    });
    types.sort_unstable();
    types
}

/// The offset of the extensions' length.
fn extensions_at(encoded: &[u8]) -> usize {
    const CLIENT_HELLO: u8 = 1;
    if encoded[0] != CLIENT_HELLO {
        return 4;
    }
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(encoded[at]);
    at += 2 + usize::from(u16::from_be_bytes([encoded[at], encoded[at + 1]]));
    at + 1 + usize::from(encoded[at])
}
