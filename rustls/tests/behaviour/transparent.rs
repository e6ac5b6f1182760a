//! Records of TLS 1.3 under the transparent cipher.

use harness::providers::transparent::TAG;
use harness::wire::{APPLICATION_DATA, frame};
use rustls::ContentType;

/// Creates a record with `padding` zeros.
pub fn padded(typ: ContentType, content: &[u8], padding: usize) -> Vec<u8> {
    let payload = [content, &[typ.into()], &vec![0; padding], &TAG].concat();
    frame(APPLICATION_DATA, &payload)
}

pub fn protected(typ: ContentType, content: &[u8]) -> Vec<u8> {
    padded(typ, content, 0)
}

pub fn data(content: &[u8]) -> Vec<u8> {
    protected(ContentType::ApplicationData, content)
}

pub fn key_update(request: u8) -> Vec<u8> {
    protected(ContentType::Handshake, &[24, 0, 0, 1, request])
}

pub fn alert(level: u8, description: u8) -> Vec<u8> {
    protected(ContentType::Alert, &[level, description])
}
