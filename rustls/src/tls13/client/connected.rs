//! CONNECTED: what may come after the handshake (RFC 9846 §4.7).

use alloc::sync::Arc;

use pki_types::ServerName;
use zeroize::Zeroizing;

use super::hello::Offer;
use super::{ClientContext, check_extensions};
use crate::client::{ClientConfig, Tls13ClientSessionValue};
use crate::crypto::tls13::OkmBlock;
use crate::enums::KeyUpdateRequest;
use crate::error::Error;
use crate::msgs::extensions::ExtensionContext;
use crate::msgs::session_ticket::NewSessionTicket;
use crate::tls13::key_schedule::ticket_psk;
use crate::tls13::traffic::Traffic;

/// The handshake is complete.
pub(super) struct Connected {
    traffic: Traffic,
    resumption_secret: OkmBlock,
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl Connected {
    /// Keeps of the `offer` what tickets are stored with.
    pub(super) fn new(offer: Offer, traffic: Traffic, resumption_secret: OkmBlock) -> Self {
        Self {
            traffic,
            resumption_secret,
            config: offer.config,
            server_name: offer.server_name,
        }
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(super) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    pub(super) fn read_key_update(
        mut self,
        request: KeyUpdateRequest,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Error> {
        self.traffic.read_key_update(request, cx.common)?;
        Ok(self)
    }

    pub(super) fn read_new_session_ticket(
        self,
        ticket: NewSessionTicket<'_>,
        cx: &mut ClientContext<'_>,
    ) -> Result<Self, Error> {
        check_extensions(&ticket.received, ExtensionContext::NewSessionTicket)?;
        cx.data.tickets_received = cx.data.tickets_received.saturating_add(1);
        self.store(&ticket);
        Ok(self)
    }

    /// Keeps the ticket for a later connection to this server. One that cannot be dated is of no use.
    fn store(&self, ticket: &NewSessionTicket<'_>) {
        // RFC 9846 §4.7.1: a lifetime of zero means to discard it at once
        if ticket.lifetime == 0 {
            return;
        }
        let Ok(now) = self.config.current_time() else {
            return;
        };
        let suite = self.traffic.suite();
        let psk = ticket_psk(suite, &self.resumption_secret, ticket.nonce);
        let value = Tls13ClientSessionValue::new(
            suite,
            ticket.ticket.to_vec(),
            Zeroizing::new(psk.as_ref().to_vec()),
            now,
            ticket.lifetime,
            ticket.age_add,
            ticket.max_early_data_size.unwrap_or_default(),
        );
        self.config
            .resumption
            .store
            .insert_tls13_ticket(self.server_name.clone(), value);
    }
}
