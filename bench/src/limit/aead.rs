//! The AEAD of a library, for records.

use harness::peers::pairs::Result;

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

/// An AEAD key of a provider.
pub(super) trait Aead: 'static {
    /// Seals `plaintext` and the trailer into `out`, which has exactly enough room for them and the
    /// tag.
    fn seal_record(&self, inputs: &Inputs, plaintext: &[u8], out: &mut [u8]) -> Result<()>;

    /// Seals the plaintext at the front of `record` and the trailer after it; the tag fills the
    /// rest.
    fn seal_record_in_place(&self, inputs: &Inputs, record: &mut [u8]) -> Result<()>;

    /// Opens `record`; returns plaintext and trailer.
    fn open_record<'a>(&self, inputs: &Inputs, record: &'a mut [u8]) -> Result<&'a [u8]>;
}
