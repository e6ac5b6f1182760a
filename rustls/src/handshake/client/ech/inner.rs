//! The EncodedClientHelloInner (RFC 9849 §5.1): the inner hello as it is encrypted.

use alloc::vec::Vec;

use rustls_core::codec::Codec;

use crate::msgs::client_extensions::{ClientExtensions, Layout};
use crate::msgs::client_hello::{ClientHello, SessionId};
use crate::msgs::server_name::ServerNamePayload;

/// Returns `inner` and its EncodedClientHelloInner (RFC 9849 §5.1). The binder is taken from
/// `message`, the encoding of `inner`. Without a `message`, it is zero.
pub(super) fn encode_inner<'a>(
    inner: ClientHello<'a>,
    message: Option<&[u8]>,
    maximum_name_length: u8,
) -> (ClientHello<'a>, Vec<u8>) {
    let session_id = inner.legacy_session_id;
    let encoded = ClientHello {
        legacy_session_id: SessionId::EMPTY,
        extensions: ClientExtensions {
            layout: Layout::EncodedInner,
            ..inner.extensions
        },
        ..inner
    };
    let mut bytes = Vec::with_capacity(512);
    encoded.encode(&mut bytes);
    if let (Some(psk), Some(message)) = (&encoded.extensions.pre_shared_key, message) {
        // copy the binders from `message`
        let binders = message.len().saturating_sub(psk.binders_len());
        bytes.truncate(bytes.len() - psk.binders_len());
        bytes.extend_from_slice(&message[binders..]);
    }
    let padded = bytes.len() + name_padding(&encoded.extensions, maximum_name_length);
    // RFC 9849 §6.1.3: pad to a multiple of 32
    bytes.resize(padded.next_multiple_of(32), 0);

    let inner = ClientHello {
        legacy_session_id: session_id,
        ..encoded
    };
    (inner, bytes)
}

/// Returns the padding that hides the length of the server name (RFC 9849 §6.1.3). The outer hello
/// reveals all other lengths anyway.
fn name_padding(inner: &ClientExtensions<'_>, maximum_name_length: u8) -> usize {
    let longest = usize::from(maximum_name_length);
    match &inner.server_name {
        Some(ServerNamePayload::DnsName(name)) => {
            let name = name.as_ref();
            let sent = name.strip_suffix('.').unwrap_or(name);
            longest.saturating_sub(sent.len())
        }
        // pad for a whole server_name extension with the longest name
        _ => longest + 9,
    }
}
