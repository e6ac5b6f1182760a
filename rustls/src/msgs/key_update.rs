//! KeyUpdate: RFC 9846 §4.7.3. The message is just an enum from `rustls_core`.

use alloc::vec::Vec;

use rustls_core::codec::Codec;
use rustls_core::enums::{HandshakeType, KeyUpdateRequest};

use super::EncodeMessage;

impl EncodeMessage for KeyUpdateRequest {
    const TYPE: HandshakeType = HandshakeType::KeyUpdate;

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        self.encode(bytes);
    }
}
