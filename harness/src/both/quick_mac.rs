//! A quick replacement for HMAC, and for the HKDF and PRF based on it, for use if transcripts are
//! not hashed. The output depends on key and message, but is not secure.

use super::tls::crypto::hmac::{Hmac, Key, Tag};
use super::tls::crypto::tls12::PrfUsingHmac;
use super::tls::crypto::tls13::HkdfUsingHmac;

/// The bits set in every byte of a tag, so that no byte is a content type. Tags differ between the
/// crates, and a change may make a record end inside a tag. Both crates then find no content type
/// there.
const NO_CONTENT_TYPE: u64 = 0x8080_8080_8080_8080;

/// The length of the suite's hash.
const TAG_LEN: usize = 48;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

fn absorb(mut state: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = step(state, u64::from_le_bytes(word.try_into().unwrap()));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    step(
        step(state, u64::from_le_bytes(last)),
        ODD ^ bytes.len() as u64,
    )
}

/// Returns `message` up to a ticket's nonce (RFC 9846 §4.7.1). The two crates choose nonces
/// differently, so this gives resumed connections of both the same secrets.
fn without_nonce(message: &[u8]) -> &[u8] {
    const LABEL: &[u8] = b"tls13 resumption";
    let mut windows = message.windows(LABEL.len());
    match windows.position(|window| window == LABEL) {
        Some(at) => &message[..at + LABEL.len()],
        None => message,
    }
}

fn step(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(ODD).rotate_left(29) ^ word
}

fn tag(state: u64) -> [u8; TAG_LEN] {
    let mut tag = [0; TAG_LEN];
    for (number, word) in (1..).zip(tag.chunks_exact_mut(8)) {
        word.copy_from_slice(&(step(state, number) | NO_CONTENT_TYPE).to_le_bytes());
    }
    tag
}

pub(crate) static HKDF: HkdfUsingHmac<'static> = HkdfUsingHmac(&Quick);
pub(crate) static PRF: PrfUsingHmac<'static> = PrfUsingHmac(&Quick);

struct Quick;

impl Hmac for Quick {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        // RFC 2104 §2: a shorter key is padded with zeros
        let mut block = [0; 128];
        block[..key.len()].copy_from_slice(key);
        Box::new(Keyed(absorb(ODD, &block)))
    }

    fn hash_output_len(&self) -> usize {
        TAG_LEN
    }
}

struct Keyed(u64);

impl Key for Keyed {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let message = [first, &middle.concat(), last].concat();
        Tag::new(&tag(absorb(self.0, without_nonce(&message))))
    }

    fn tag_len(&self) -> usize {
        TAG_LEN
    }
}
