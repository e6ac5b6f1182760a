//! CertificateVerify (RFC 9846 §4.5.2): the input of its signature.
//!
//! The encoding of the message is in [`crate::msgs`]. [`crate::handshake::peer_auth`] verifies the
//! signature.

use rustls_core::crypto::hash;

use crate::enums::Side;

/// Returns the content that `signer` signs. `transcript` is the hash up to and including the
/// signer's Certificate.
pub(crate) fn signed_content(signer: Side, transcript: &hash::Output) -> SignedContent {
    SignedContent::new(signer, transcript.as_ref())
}

/// The input of a CertificateVerify signature, built without allocation:
///
/// ```text
///   64 spaces ‖ context string ‖ 0 ‖ transcript hash
/// ```
pub(crate) struct SignedContent {
    bytes: [u8; Self::HASH_START + hash::Output::MAX_LEN],
    len: usize,
}

impl SignedContent {
    const PADDING: usize = 64;
    const CONTEXT_LEN: usize = 33;
    const HASH_START: usize = Self::PADDING + Self::CONTEXT_LEN + 1;

    fn new(signer: Side, transcript: &[u8]) -> Self {
        let context: &[u8; Self::CONTEXT_LEN] = match signer {
            Side::Client => b"TLS 1.3, client CertificateVerify",
            Side::Server => b"TLS 1.3, server CertificateVerify",
        };
        let mut bytes = [0; Self::HASH_START + hash::Output::MAX_LEN];
        let (padding, rest) = bytes.split_at_mut(Self::PADDING);
        padding.fill(0x20);
        rest[..Self::CONTEXT_LEN].copy_from_slice(context);
        // the separating zero byte is already there
        let len = Self::HASH_START + transcript.len();
        bytes[Self::HASH_START..len].copy_from_slice(transcript);
        Self { bytes, len }
    }
}

impl AsRef<[u8]> for SignedContent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_matches_the_example_in_the_rfc() {
        // RFC 9846 §4.5.2, with a hash of 32 bytes 01
        let expected = [
            &[0x20; 64][..],
            &[
                0x54, 0x4c, 0x53, 0x20, 0x31, 0x2e, 0x33, 0x2c, 0x20, 0x73, 0x65, 0x72, 0x76, 0x65,
                0x72, 0x20, 0x43, 0x65, 0x72, 0x74, 0x69, 0x66, 0x69, 0x63, 0x61, 0x74, 0x65, 0x56,
                0x65, 0x72, 0x69, 0x66, 0x79, 0x00,
            ],
            &[0x01; 32],
        ]
        .concat();
        let content = signed_content(Side::Server, &hash::Output::new(&[1; 32]));
        assert_eq!(content.as_ref(), expected);
    }

    #[test]
    fn signed_contents_of_client_and_server_differ_and_fit_every_hash() {
        for len in [32, 48, 64] {
            let hash = hash::Output::new(&[7; hash::Output::MAX_LEN][..len]);
            let client = signed_content(Side::Client, &hash);
            let server = signed_content(Side::Server, &hash);
            assert_eq!(client.as_ref().len(), 98 + len);
            assert_ne!(client.as_ref(), server.as_ref());
            assert_eq!(client.as_ref()[98..], [7; 64][..len]);
        }
    }
}
