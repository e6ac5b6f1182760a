//! CONNECTED: the server's NewSessionTickets (RFC 9846 §4.7.1).

use pki_types::ServerName;
use rustls_core::crypto::hash;
use rustls_core::crypto::tls13::OkmBlock;

use super::extension_checks::check_extensions;
use crate::config::session::client::{ClientSessionCommon, Tls13ClientSessionValue, Verification};
use crate::config::settings::PastClientSettings;
use crate::failure::Failure;
use crate::handshake::ClientContext;
use crate::handshake::client::offer::Offer;
use crate::handshake::negotiated::Negotiated;
use crate::handshake::transport::Transport;
use crate::keys::tls13::{MainSecret, ticket_psk};
use crate::msgs::extensions::ExtensionContext;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::suites::Tls13CipherSuite;

/// The state after a completed handshake.
pub(crate) struct Connected {
    suite: &'static Tls13CipherSuite,
    /// The secret for the PSKs of tickets; `None` if there is no session store.
    resumption_secret: Option<OkmBlock>,
    config: PastClientSettings,
    server_name: ServerName<'static>,
    /// The last verification of the server's certificates, by this connection or an earlier one.
    verification: Option<Verification>,
}

impl Connected {
    /// Keeps the parts of `offer` that are needed to store tickets.
    /// [`Self::derive_resumption_secret`] adds the secret.
    pub(super) fn new(offer: Offer, suite: &'static Tls13CipherSuite) -> Self {
        Self {
            suite,
            resumption_secret: None,
            config: offer.config.into_past(),
            server_name: offer.server_name,
            verification: offer.verification,
        }
    }

    /// Derives the resumption secret in place, because a move would leave a copy. `transcript` is
    /// the hash of ClientHello…client Finished.
    pub(super) fn derive_resumption_secret(
        &mut self,
        main_secret: &MainSecret,
        transcript: &hash::Output,
    ) {
        let secret = self
            .resumption_secret
            .get_or_insert_with(|| OkmBlock::new(&[]));
        main_secret.resumption_secret(transcript, secret);
    }

    pub(super) fn read_new_session_ticket(
        &self,
        ticket: &NewSessionTicket<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<(), Failure> {
        check_extensions(&ticket.received, ExtensionContext::NewSessionTicket)?;
        if let Some(size) = ticket.max_early_data_size {
            cx.transport.carrier().check_early_data_size(size)?;
        }
        cx.data.tickets_received = cx.data.tickets_received.saturating_add(1);
        let is_stored = self.store(ticket, cx.transport, cx.negotiated);
        cx.recorder.events(|events| events.tickets_received += 1);
        cx.recorder.session(is_stored);
        Ok(())
    }

    /// Stores the ticket for a later connection to this server. Returns false if there is no store,
    /// or if the ticket cannot be used, for example because the clock fails.
    fn store(
        &self,
        ticket: &NewSessionTicket<'_>,
        transport: &dyn Transport,
        negotiated: &Negotiated,
    ) -> bool {
        // RFC 9846 §4.7.1: a ticket with a lifetime of zero is discarded immediately
        if ticket.lifetime == 0 {
            return false;
        }
        let config = &self.config;
        let (Some(store), Some(resumption_secret)) =
            (&config.resumption.store, &self.resumption_secret)
        else {
            return false;
        };
        let (Ok(now), Some(verification), Some(server_chain)) = (
            config.current_time(),
            self.verification,
            negotiated.peer_chain(),
        ) else {
            return false;
        };
        let Some(common) = config.make_session(|verifier, client_auth| {
            ClientSessionCommon::new(
                server_chain.clone(),
                verifier,
                client_auth,
                verification,
                now,
                ticket.lifetime,
            )
        }) else {
            return false;
        };
        let suite = self.suite;
        let mut psk = OkmBlock::new(&[]);
        ticket_psk(suite, resumption_secret, ticket.nonce, &mut psk);
        let mut value = Tls13ClientSessionValue::new(
            common,
            suite,
            &psk,
            ticket.ticket,
            negotiated.alpn_protocol.as_deref(),
            ticket.age_add,
            ticket.max_early_data_size.unwrap_or_default(),
        );
        value.carrier = transport.carrier();
        if let Some(parameters) = transport.peer_parameters() {
            value.set_quic_params(parameters);
        }
        store.insert_tls13_ticket(self.server_name.clone(), value);
        true
    }
}
