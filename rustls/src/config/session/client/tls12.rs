//! A TLS 1.2 session on the client.

use alloc::sync::Arc;
use core::fmt;

use pki_types::UnixTime;

use super::ClientSessionCommon;
use crate::keys::tls12::SessionSecret;
use crate::msgs::client_hello::SessionId;
use crate::suites::Tls12CipherSuite;

/// A TLS 1.2 session, with its ID, its ticket or both, and its master secret.
#[derive(Clone)]
pub struct Tls12ClientSessionValue {
    common: ClientSessionCommon,
    suite: &'static Tls12CipherSuite,
    /// The ID assigned by the server. Empty if the session has only a ticket.
    session_id: SessionId,
    /// The ticket, shared by the connections that offer it.
    ticket: Option<Arc<[u8]>>,
    master_secret: SessionSecret,
    uses_extended_master_secret: bool,
}

impl Tls12ClientSessionValue {
    /// Creates a session that can be resumed by `session_id`, unless that is empty, and by
    /// `ticket`, if there is one.
    pub(crate) fn new(
        common: ClientSessionCommon,
        suite: &'static Tls12CipherSuite,
        session_id: SessionId,
        ticket: Option<Arc<[u8]>>,
        master_secret: SessionSecret,
        uses_extended_master_secret: bool,
    ) -> Self {
        Self {
            common,
            suite,
            session_id,
            ticket,
            master_secret,
            uses_extended_master_secret,
        }
    }

    /// Returns the session with a new ticket, received at `received_at`, instead of its ID and its
    /// old ticket.
    pub(crate) fn renewed(
        mut self,
        ticket: Arc<[u8]>,
        received_at: UnixTime,
        lifetime_secs: u32,
    ) -> Self {
        self.common.renew(received_at, lifetime_secs);
        self.session_id = SessionId::EMPTY;
        self.ticket = Some(ticket);
        self
    }

    pub(crate) fn common(&self) -> &ClientSessionCommon {
        &self.common
    }

    pub(crate) fn suite(&self) -> &'static Tls12CipherSuite {
        self.suite
    }

    pub(crate) fn session_id(&self) -> SessionId {
        self.session_id
    }

    pub(crate) fn ticket(&self) -> Option<&[u8]> {
        self.ticket.as_deref()
    }

    pub(crate) fn drop_ticket(&mut self) {
        self.ticket = None;
    }

    /// True if the session has an ID or a ticket with which it can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        self.ticket.is_some() || !self.session_id.is_empty()
    }

    pub(crate) fn master_secret(&self) -> &SessionSecret {
        &self.master_secret
    }

    /// True if the master secret is bound to its handshake (RFC 7627).
    pub(crate) fn uses_extended_master_secret(&self) -> bool {
        self.uses_extended_master_secret
    }
}

impl fmt::Debug for Tls12ClientSessionValue {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls12ClientSessionValue")
            .field("common", &self.common)
            .field("suite", &self.suite)
            .field("session_id", &self.session_id)
            .field("ticket_len", &self.ticket().map(<[u8]>::len))
            .field(
                "uses_extended_master_secret",
                &self.uses_extended_master_secret,
            )
            .finish_non_exhaustive()
    }
}
