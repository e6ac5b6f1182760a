//! A session in a server's storage: its bytes, and the client's certificates, which many sessions
//! may share.

use alloc::vec::Vec;
use core::{fmt, mem};

use rustls_core::codec::{LengthSize, with_length_prefix};
use zeroize::Zeroizing;

use crate::certificates::{PeerChain, encoded_chain};

/// A server's session, for a [`StoresServerSessions`](super::server::StoresServerSessions) in the
/// memory of this process.
///
/// If the client has certificates, they make up most of a session's length. Usually, they are
/// stored separately from the session's bytes, in memory shared by all sessions and connections of
/// the client. The [encoded form](Self::into_vec) contains a copy of them.
///
/// A value contains the session's secrets, which are zeroized on drop.
#[derive(Clone)]
pub struct ServerSessionValue {
    /// The encoded session, without the chain at its end if `chain` is present.
    bytes: Zeroizing<Vec<u8>>,
    chain: Option<PeerChain>,
}

impl ServerSessionValue {
    /// Creates a session from `bytes`, which do not end with a chain, and the `chain`.
    pub(crate) fn new(bytes: Vec<u8>, chain: PeerChain) -> Self {
        Self {
            bytes: Zeroizing::new(bytes),
            chain: Some(chain),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the chain if [`bytes`](Self::bytes) lacks it.
    pub(crate) fn chain(&self) -> Option<&PeerChain> {
        self.chain.as_ref()
    }

    /// Encodes the session, for
    /// [`StoresServerSessions::put`](super::server::StoresServerSessions::put) or any storage
    /// outside this process.
    pub fn into_vec(mut self) -> Vec<u8> {
        let Some(chain) = &self.chain else {
            return mem::take(&mut *self.bytes);
        };
        // the vector never grows, so no copy of a secret remains in freed memory
        let mut joined = Vec::with_capacity(self.bytes.len() + chain_len(chain));
        joined.extend_from_slice(&self.bytes);
        encode_chain(chain, &mut joined);
        joined
    }
}

impl From<Vec<u8>> for ServerSessionValue {
    /// Restores a session from the result of [`into_vec`](Self::into_vec). Any other bytes are
    /// ignored when a client tries to resume the session.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Zeroizing::new(bytes),
            chain: None,
        }
    }
}

impl fmt::Debug for ServerSessionValue {
    /// Omits the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSessionValue")
            .field("len", &self.bytes.len())
            .field("has_shared_chain", &self.chain.is_some())
            .finish_non_exhaustive()
    }
}

/// Returns the length of an encoded chain in bytes.
pub(super) fn chain_len(chain: &PeerChain) -> usize {
    3 + encoded_chain::encoded_len(chain.der())
}

/// Appends `client_chain`, the last field of an encoded session.
pub(super) fn encode_chain(chain: &PeerChain, bytes: &mut Vec<u8>) {
    with_length_prefix(bytes, LengthSize::U24, |bytes| {
        encoded_chain::encode(chain.der(), bytes);
    });
}
