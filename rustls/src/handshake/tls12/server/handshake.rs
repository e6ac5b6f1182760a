//! The data shared by all states from the ServerHello to the end of the handshake.

use alloc::vec::Vec;

use pki_types::UnixTime;
use zeroize::Zeroizing;

use crate::certificates::Acceptance;
use crate::config::session::lifetime_left;
use crate::config::session::server_auth::ServerAuthId;
use crate::config::settings::ServerSettings;
use crate::enums::Side;
use crate::error::Error;
use crate::handshake::ServerContext;
use crate::handshake::flight::Flight;
use crate::handshake::tls12::finished::send_finished;
use crate::handshake::transcript::Transcript;
use crate::keys::tls12::{KeyBlock, MasterSecret, Randoms};
use crate::msgs::client_hello::SessionId;
use crate::msgs::tls12::session_ticket::NewSessionTicket;
use crate::suites::Tls12CipherSuite;

pub(super) struct Handshake {
    pub(super) config: ServerSettings,
    pub(super) suite: &'static Tls12CipherSuite,
    pub(super) randoms: Randoms,
    pub(super) transcript: Transcript,
    /// True if the extended master secret was negotiated (RFC 7627).
    pub(super) is_extended: bool,
    /// The session ID in the ServerHello.
    pub(super) session_id: SessionId,
    /// True if the session is, or will be, in the storage under this ID.
    pub(super) is_stored: bool,
    /// True if the ServerHello promised a ticket (RFC 5077 §3.2).
    pub(super) sends_ticket: bool,
    /// The current time; `None` if the clock failed, in which case no session is kept.
    pub(super) now: Option<UnixTime>,
    /// The time of the full handshake with which the session began, in seconds since 1970.
    pub(super) authenticated_at: u64,
    /// The acceptance of the client's certificates, for the session.
    pub(super) client_acceptance: Option<Acceptance>,
    /// The hash of the server's certificate, even if that is not sent.
    pub(super) server_auth: ServerAuthId,
}

impl Handshake {
    /// Returns the encoded session for the promised ticket, or `None` if no ticket was promised, or
    /// an empty one must be sent.
    pub(super) fn session_for_ticket(
        &self,
        master_secret: &MasterSecret,
        cx: &ServerContext<'_>,
    ) -> Option<Zeroizing<Vec<u8>>> {
        match self.lifetime_left() {
            _ if !self.sends_ticket => None,
            0 => None,
            _ => self.session_to_seal(master_secret, cx),
        }
    }

    /// Returns the seconds for which the session may still be resumed.
    fn lifetime_left(&self) -> u32 {
        self.now
            .map_or(0, |now| lifetime_left(self.authenticated_at, now.as_secs()))
    }

    /// Sends `ticket` if one was promised, change_cipher_spec, and Finished.
    pub(super) fn send_ticket_and_finished(
        &mut self,
        ticket: &[u8],
        keys: &KeyBlock,
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Error> {
        if self.sends_ticket {
            let left = self.lifetime_left();
            let mut flight = Flight::with_capacity(10 + ticket.len(), &mut self.transcript);
            // RFC 5077 §3.3: a promised ticket is sent, even if it is empty
            flight.add(&NewSessionTicket {
                lifetime_hint: self.config.ticketer.lifetime().min(left),
                ticket,
            });
            flight.send(cx.transport)?;
        }
        send_finished(Side::Server, keys, &mut self.transcript, cx.transport)
    }

    /// Logs the master secret, the only TLS 1.2 secret in the log (RFC 9850).
    pub(super) fn log(&self, master_secret: &MasterSecret) {
        const LABEL: &str = "CLIENT_RANDOM";
        let key_log = &self.config.key_log;
        if key_log.will_log(LABEL) {
            key_log.log(LABEL, &self.randoms.client.0, master_secret.as_bytes());
        }
    }
}
