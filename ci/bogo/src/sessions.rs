//! A client's store of sessions, and what is to be known about those that come; tickets of a server that the
//! application makes.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::server::ProducesTickets;

use crate::observed::Observed;
use crate::provider::code_point;

/// A store that another one keeps, watched for one connection.
pub(crate) struct WatchedSessions<S> {
    pub(crate) store: Arc<S>,
    /// The group that a client is to send a share of.
    pub(crate) key_share: Option<NamedGroup>,
    pub(crate) observed: Arc<Mutex<Observed>>,
}

impl<S: ClientSessionStore> ClientSessionStore for WatchedSessions<S> {
    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        // a group learnt on one connection must not decide what the next one offers: the runner counts on the order
        // of the options
        self.key_share
    }

    fn set_kx_hint(&self, _server_name: ServerName<'static>, _group: NamedGroup) {}

    fn set_tls12_session(&self, server_name: ServerName<'static>, value: Tls12ClientSessionValue) {
        Observed::note(&self.observed, |o| o.tickets.push(0));
        self.store.set_tls12_session(server_name, value);
    }

    fn tls12_session(&self, server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.store.tls12_session(server_name)
    }

    fn remove_tls12_session(&self, server_name: &ServerName<'static>) {
        self.store.remove_tls12_session(server_name);
    }

    fn insert_tls13_ticket(
        &self,
        server_name: ServerName<'static>,
        value: Tls13ClientSessionValue,
    ) {
        Observed::note(&self.observed, |o| {
            o.tickets.push(value.max_early_data_size())
        });
        self.store.insert_tls13_ticket(server_name, value);
    }

    fn take_tls13_ticket(
        &self,
        server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue> {
        let session = self.store.take_tls13_ticket(server_name)?;
        Observed::note(&self.observed, |o| {
            o.suite_of_offered_session = Some(code_point(session.suite().common.suite));
            o.early_data_of_offered_session = Some(session.max_early_data_size());
        });
        Some(session)
    }
}

impl<S> fmt::Debug for WatchedSessions<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedSessions").finish_non_exhaustive()
    }
}

/// Tickets that the application makes, by the protection that the library would use, or does not.
#[derive(Debug)]
pub(crate) struct OwnTickets {
    pub(crate) protection: Arc<dyn ProducesTickets>,
    /// It makes none.
    pub(crate) skips: bool,
}

impl ProducesTickets for OwnTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.protection.lifetime()
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        if self.skips {
            return None;
        }
        self.protection.encrypt(plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.protection.decrypt(cipher)
    }
}
