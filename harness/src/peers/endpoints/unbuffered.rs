//! Unbuffered connections of this crate and of upstream, driven as their documentation describes.

use super::{Endpoint, Transfer};
pub use crate::peers::pairs::this::unbuffered::Unbuffered;
pub use crate::this::unbuffered::UnbufferedEndpoint as ThisUnbuffered;
pub use crate::upstream::unbuffered::UnbufferedEndpoint as UpstreamUnbuffered;

impl<C: Unbuffered> ThisUnbuffered<C> {
    /// Makes the endpoint encrypt in place.
    pub fn in_place(mut self) -> Self {
        self.encrypt = encrypt_in_place::<C::Data>;
        self
    }
}

impl<C: Unbuffered> Transfer for ThisUnbuffered<C> {
    fn output(&mut self) -> Vec<u8> {
        self.take_output()
    }

    fn input(&mut self, bytes: &[u8]) {
        self.receive(bytes).unwrap();
    }
}

fn encrypt_in_place<D>(
    mut state: rustls::unbuffered::WriteTraffic<'_, D>,
    plaintext: &[u8],
    outgoing: &mut Vec<u8>,
) {
    let room = state.in_place_room();
    for fragment in plaintext.chunks(room.max_payload) {
        let payload = room.headroom..room.headroom + fragment.len();
        let mut buffer = vec![0xa5; payload.end + room.tailroom];
        buffer[payload.clone()].copy_from_slice(fragment);
        let record = match state.encrypt_in_place(&mut buffer, payload.clone()) {
            Err(rustls::InPlaceError::OutputPending) => {
                encode_after_short_tries(outgoing, |out| encrypt_nothing(&mut state, out));
                state.encrypt_in_place(&mut buffer, payload)
            }
            record => record,
        };
        outgoing.extend_from_slice(&buffer[record.unwrap()]);
    }
}

/// Writes pending output. Returns the required length if `out` is too short.
fn encrypt_nothing<D>(
    state: &mut rustls::unbuffered::WriteTraffic<'_, D>,
    out: &mut [u8],
) -> Result<usize, usize> {
    match state.encrypt(&[], out) {
        Err(rustls::unbuffered::EncryptError::InsufficientSize(short)) => Err(short.required_size),
        written => Ok(written.unwrap()),
    }
}

/// Appends the output of `encode`, after trying buffers that are too short: an empty one, and one
/// that lacks a byte.
pub(crate) fn encode_after_short_tries(
    outgoing: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, usize>,
) {
    let required = encode(&mut []).unwrap_err();
    let mut out = vec![0xa5; required];
    assert_eq!(encode(&mut out[..required - 1]), Err(required));
    assert!(
        out.iter().all(|&byte| byte == 0xa5),
        "wrote to a short buffer"
    );
    assert_eq!(encode(&mut out), Ok(required));
    outgoing.extend_from_slice(&out);
}
