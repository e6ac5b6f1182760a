//! The client's Finished (RFC 9846 §4.5.3): the end of the handshake.

use alloc::boxed::Box;

use rustls_core::crypto::tls13::OkmBlock;

use super::tickets::TicketSender;
use crate::certificates::Acceptance;
use crate::config::session::server_auth::ServerAuthId;
use crate::config::settings::ServerSettings;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::ServerContext;
use crate::handshake::established::Established;
use crate::handshake::finished::check_finished;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::{MainSecret, verify_data};
use crate::msgs::Finished;
use crate::suites::Tls13CipherSuite;

/// Waits for the client's Finished.
pub(crate) struct WaitFinished {
    pub(super) config: ServerSettings,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) client_finished_key: OkmBlock,
    pub(super) main_secret: MainSecret,
    pub(super) ticket_count: usize,
    /// The time at which the resumed session authenticated with certificates.
    pub(super) authenticated_at: Option<u64>,
    /// The acceptance of the client's certificates, for its sessions.
    pub(super) client_acceptance: Option<Acceptance>,
    /// The server's certificate.
    pub(super) server_auth: ServerAuthId,
}

impl WaitFinished {
    /// Handles the client's Finished. `self` stays in its box, so that its secrets are zeroized: a
    /// move out of a box would leave a copy there.
    pub(super) fn read_finished(
        mut self: Box<Self>,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<(), Failure> {
        let expected = verify_data(
            self.suite,
            &self.client_finished_key,
            self.transcript.current(),
        );
        check_finished(expected.as_ref(), finished)?;
        cx.negotiated.prove_peer();
        self.transcript.add(encoded);

        let Some(Established::Tls13(secrets)) = cx.established else {
            return Err(Error::HandshakeNotComplete.into());
        };
        secrets.install_receiving(cx.transport)?;
        if self.ticket_count != 0 {
            let transcript = self.transcript.current();
            let resumption_secret = self.main_secret.resumption_secret(transcript);
            let tickets = TicketSender {
                config: &self.config,
                suite: self.suite,
                count: self.ticket_count,
                authenticated_at: self.authenticated_at,
                client_acceptance: self.client_acceptance,
                server_auth: self.server_auth,
            };
            tickets.send(&resumption_secret, cx)?;
        }
        cx.transport.start_sending();
        Ok(())
    }
}
