//! The inputs of an AEAD, for records.

pub(super) const TAG_LEN: usize = 16;

/// The inputs of an AEAD besides plaintext and key.
pub(super) struct Inputs {
    pub(super) nonce: [u8; 12],
    pub(super) aad: [u8; 13],
    pub(super) aad_len: usize,
    /// The bytes encrypted after the plaintext.
    pub(super) trailer: &'static [u8],
}

impl Inputs {
    pub(super) fn aad(&self) -> &[u8] {
        &self.aad[..self.aad_len]
    }
}
