//! The client's Finished (RFC 9846 §4.5.3): the end of the handshake.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::tickets::send_tickets;
use super::{ServerContext, ServerState};
use crate::crypto::tls13::OkmBlock;
use crate::error::Error;
use crate::server::ServerConfig;
use crate::suites::Tls13CipherSuite;
use crate::tls13::finished::check_finished;
use crate::tls13::key_schedule::MainSecret;
use crate::tls13::traffic::{Traffic, set_receiving_secret};
use crate::tls13::transcript::Transcript;

/// Waits for the client's Finished.
pub(super) struct WaitFinished {
    pub(super) config: Arc<ServerConfig>,
    pub(super) suite: &'static Tls13CipherSuite,
    pub(super) transcript: Transcript,
    pub(super) client_handshake_traffic_secret: OkmBlock,
    pub(super) application: ApplicationSecrets,
    pub(super) accepts_tickets: bool,
}

/// What the server's Finished leads to. The server sends with its part already.
pub(super) struct ApplicationSecrets {
    pub(super) main: MainSecret,
    pub(super) client_traffic_secret: OkmBlock,
    pub(super) server_traffic_secret: OkmBlock,
    pub(super) exporter_secret: OkmBlock,
}

impl WaitFinished {
    pub(super) fn read_finished(
        self,
        verify_data: &[u8],
        encoded: &[u8],
        cx: &mut ServerContext<'_>,
    ) -> Result<ServerState, Error> {
        let Self {
            config,
            suite,
            mut transcript,
            client_handshake_traffic_secret,
            application,
            accepts_tickets,
        } = self;

        check_finished(
            suite,
            &client_handshake_traffic_secret,
            &transcript.current(),
            verify_data,
            cx.common,
        )?;
        transcript.add(encoded);

        set_receiving_secret(suite, &application.client_traffic_secret, cx.common)?;
        if accepts_tickets {
            let resumption_secret = application.main.resumption_secret(&transcript.current());
            send_tickets(&config, suite, &resumption_secret, cx)?;
        }
        cx.common.start_traffic();
        Ok(ServerState::Connected(Box::new(Traffic::new(
            suite,
            application.server_traffic_secret,
            application.client_traffic_secret,
            application.exporter_secret,
        ))))
    }
}
