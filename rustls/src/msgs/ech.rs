//! The `encrypted_client_hello` extension of a ClientHello, a HelloRetryRequest and
//! EncryptedExtensions: RFC 9849 §5.

use alloc::vec::Vec;

use rustls_core::codec::{Codec, LengthSize, Reader, encode_bytes};
use rustls_core::ech_config::{EchConfigPayload, HpkeSymmetricCipherSuite};
use rustls_core::error::InvalidMessage;

/// The type of the `outer` variant of `ECHClientHello`.
const OUTER: u8 = 0;

/// The body of the extension in a ClientHelloInner: the empty `inner` variant of `ECHClientHello`.
pub(crate) const INNER: &[u8] = &[1];

/// The number of bytes that confirm the acceptance of ECH.
pub(crate) const CONFIRMATION_LEN: usize = 8;

/// The body of the extension in a ClientHelloOuter: the `outer` variant of `ECHClientHello`.
pub(crate) struct OuterEch<'a> {
    pub(crate) cipher_suite: HpkeSymmetricCipherSuite,
    pub(crate) config_id: u8,
    /// The encapsulated key; empty after a HelloRetryRequest.
    pub(crate) enc: &'a [u8],
    pub(crate) payload: &'a [u8],
}

impl OuterEch<'_> {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(10 + self.enc.len() + self.payload.len());
        bytes.push(OUTER);
        self.cipher_suite.encode(&mut bytes);
        bytes.push(self.config_id);
        encode_bytes(&mut bytes, LengthSize::U16, self.enc);
        encode_bytes(&mut bytes, LengthSize::U16, self.payload);
        bytes
    }
}

/// Reads the body of the extension in EncryptedExtensions: the server's `retry_configs`.
pub(crate) fn read_retry_configs(body: &[u8]) -> Result<Vec<EchConfigPayload>, InvalidMessage> {
    let mut r = Reader::new(body);
    let configs = EchConfigPayload::read_list(&mut r)?;
    r.expect_empty("ECHEncryptedExtensions")?;
    Ok(configs)
}
