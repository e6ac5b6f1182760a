//! The client's Finished (RFC 9846 §4.5.3): the end of the handshake.

use alloc::boxed::Box;

use rustls_core::crypto::tls13::OkmBlock;

use super::State;
use super::tickets::{TicketInputs, TicketMessages, TicketPlan};
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

pub(crate) struct WaitFinished {
    pub(super) config: ServerSettings,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) server_finished_key: OkmBlock,
    pub(super) client_finished_key: OkmBlock,
    pub(super) main_secret: MainSecret,
    pub(super) ticket_count: usize,
    /// The time of the full handshake with which the resumed session began, in seconds since 1970.
    /// `None` if no session is resumed.
    pub(super) authenticated_at: Option<u64>,
    /// The acceptance of the client's certificates, for its sessions.
    pub(super) client_acceptance: Option<Acceptance>,
    /// The hash of the server's certificate or raw public key.
    pub(super) server_auth: ServerAuthId,
}

impl AsRef<ServerSettings> for WaitFinished {
    fn as_ref(&self) -> &ServerSettings {
        &self.config
    }
}

impl WaitFinished {
    /// Handles the client's Finished. `self` stays in its box, so that its secrets are zeroized:
    /// moving them out of the box would leave a copy there.
    pub(super) fn read_finished(
        mut self: Box<Self>,
        finished: &Finished<'_>,
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<State, Failure> {
        let expected = verify_data(
            self.suite,
            &self.client_finished_key,
            self.transcript.current(),
        );
        check_finished(expected.as_ref(), finished)?;
        // RFC 9846 §5.1: the client's keys change next
        cx.transport.check_aligned()?;
        cx.negotiated.prove_peer();
        if self.authenticated_at.is_some() {
            cx.negotiated.share_peer(&self.config.peer_chains);
        }
        self.transcript.add(encoded);
        if self.ticket_count == 0 {
            return connect(TicketMessages::default(), cx);
        }

        let transcript = self.transcript.current();
        let mut resumption_secret = OkmBlock::new(&[]);
        self.main_secret
            .resumption_secret(transcript, &mut resumption_secret);
        let inputs = TicketInputs {
            suite: self.suite,
            count: self.ticket_count,
            authenticated_at: self.authenticated_at,
            client_acceptance: self.client_acceptance,
            server_auth: self.server_auth,
        };
        match TicketPlan::new(inputs, &resumption_secret, &self.config, cx) {
            Some(tickets) => tickets.create(self, connect, cx),
            None => connect(TicketMessages::default(), cx),
        }
    }
}

/// Installs the key for the client's application data, sends the tickets, and starts sending
/// application data.
fn connect(tickets: TicketMessages, cx: &mut ServerContext<'_>) -> Result<State, Failure> {
    let Some(Established::Tls13(secrets)) = cx.established else {
        return Err(Error::HandshakeNotComplete.into());
    };
    secrets.install_receiving(cx.transport)?;
    tickets.send(cx.transport, &mut cx.recorder)?;
    cx.transport.start_sending();
    Ok(State::Connected)
}
