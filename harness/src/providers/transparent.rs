//! A crypto provider without encryption and randomness, for both crates.
//!
//! Its ciphers, one for each version, copy the plaintext and append a tag that is never checked.
//! Its key exchange always yields the same secret, and its random bytes and clock are constant. So
//! protected handshake messages are sent in plaintext, where a test can change any byte. The input
//! of a connection can be recorded once and replayed to any number of others.

use crate::peers::configs::{ClientAuth, Versions};
pub use crate::this::transparent as this;
pub use crate::upstream::transparent as upstream;

/// The last bytes of every protected record.
pub const TAG: [u8; 16] = [0x77; 16];
/// The transport parameters of both sides.
pub(crate) const PARAMETERS: &[u8] = b"transport parameters";
/// The only ticket.
pub(crate) const TICKET: [u8; 48] = [0x71; 48];

/// The parameters of two connections.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The client's versions, then the server's.
    pub versions: [Versions; 2],
    pub auth: ClientAuth,
    /// True if the client's first key share is for a group that the server does not support.
    pub retry: bool,
    /// True if the transcript is hashed. Otherwise its hash is constant, so that a changed message
    /// that was accepted does not fail the handshake later. MACs and secrets then do not depend on
    /// a hash either.
    pub hashes_transcript: bool,
    /// `Some` to resume: each connection with the same configurations resumes an earlier one. A
    /// server keeps its first sessions and returns them any number of times; a client uses the
    /// thread's most recent session once.
    pub resumes: Option<Resumes>,
    /// True if early data is sent and accepted.
    pub early_data: bool,
    /// True if certificates are compressed with zlib, which needs the feature `compression`.
    pub compresses: bool,
    /// True for QUIC connections. The underlying provider protects their packets.
    pub quic: bool,
    /// True if the underlying provider protects records, with early key updates in TLS 1.3. This
    /// detects records that are opened with another key than they were sealed with. All runs are
    /// still identical.
    pub seals: bool,
    /// True if both endpoints accept any certificate and any signature, and do not sign. Use it for
    /// connections whose authentication does not matter. Both sides have a fake OCSP response,
    /// which servers staple.
    pub trusts: bool,
}

impl Setup {
    /// TLS 1.3 with default settings.
    pub const fn usual(auth: ClientAuth) -> Self {
        Self {
            versions: [Versions::Tls13; 2],
            auth,
            retry: false,
            hashes_transcript: true,
            resumes: None,
            early_data: false,
            compresses: false,
            quic: false,
            seals: false,
            trusts: false,
        }
    }

    /// Like [`Self::usual`], without hashed transcripts.
    pub const fn unhashed(auth: ClientAuth) -> Self {
        let mut setup = Self::usual(auth);
        setup.hashes_transcript = false;
        setup
    }

    pub const fn with_versions(mut self, versions: [Versions; 2]) -> Self {
        self.versions = versions;
        self
    }

    pub const fn with_retry(mut self) -> Self {
        self.retry = true;
        self
    }

    pub const fn resuming(mut self, resumes: Resumes) -> Self {
        self.resumes = Some(resumes);
        self
    }

    /// Resumes stored sessions with early data.
    pub const fn with_early_data(mut self) -> Self {
        self.early_data = true;
        self.resuming(Resumes::Stored)
    }

    pub const fn compressing(mut self) -> Self {
        self.compresses = true;
        self
    }

    pub const fn over_quic(mut self) -> Self {
        self.quic = true;
        self
    }

    pub const fn trusting(mut self) -> Self {
        self.trusts = true;
        self
    }
}

/// The place where a server keeps its sessions. Their names on the wire are constant and of equal
/// length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resumes {
    /// In the server's storage, under a ticket or a session ID.
    Stored,
    /// In a ticket, which is a number that the ticketer maps to the content.
    Tickets,
}

/// The clock of all connections, in seconds since 1970: a time in 2026.
pub const NOW: u64 = 1_780_000_000;
