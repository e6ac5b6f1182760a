//! A session as a server's storage keeps it: its bytes, and the client's certificates, which many sessions share.

use alloc::vec::Vec;
use core::{fmt, mem};

use zeroize::Zeroizing;

use super::chain::PeerChain;
use super::value::{chain_len, encode_chain};

/// A session of a server, for a [`StoresServerSessions`](super::server::StoresServerSessions) in the memory of this
/// process.
///
/// The client's certificates, most of a session's length, are kept beside its bytes, in memory that all sessions and
/// connections of the client share. As [bytes alone](Self::into_vec) a session holds a copy of them.
///
/// It holds the secrets of the session, which are overwritten when it is dropped.
#[derive(Clone)]
pub struct ServerSessionValue {
    /// All of the value, or all but the chain at its end if that is beside it.
    bytes: Zeroizing<Vec<u8>>,
    chain: Option<PeerChain>,
}

impl ServerSessionValue {
    /// `bytes` lack the chain at the end of the value.
    pub(crate) fn new(bytes: Vec<u8>, chain: PeerChain) -> Self {
        Self {
            bytes: Zeroizing::new(bytes),
            chain: Some(chain),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What [`bytes`](Self::bytes) lacks, if it does.
    pub(crate) fn chain(&self) -> Option<&PeerChain> {
        self.chain.as_ref()
    }

    /// The session as bytes, for [`StoresServerSessions::put`](super::server::StoresServerSessions::put) or whatever
    /// does not share memory with this process.
    pub fn into_vec(mut self) -> Vec<u8> {
        let Some(chain) = &self.chain else {
            return mem::take(&mut *self.bytes);
        };
        // it never grows: no copy of a secret is left in freed memory
        let mut joined = Vec::with_capacity(self.bytes.len() + chain_len(chain));
        joined.extend_from_slice(&self.bytes);
        encode_chain(chain, &mut joined);
        joined
    }
}

impl From<Vec<u8>> for ServerSessionValue {
    /// What [`into_vec`](Self::into_vec) made, from wherever it was. Other bytes are no session, and resume nothing.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Zeroizing::new(bytes),
            chain: None,
        }
    }
}

impl fmt::Debug for ServerSessionValue {
    /// Leaves out the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSessionValue")
            .field("len", &self.bytes.len())
            .field("has_shared_chain", &self.chain.is_some())
            .finish_non_exhaustive()
    }
}
