//! A client's session store that records the sessions it receives, and a server's tickets created
//! by the application.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::server::ProducesTickets;

use crate::observed::Observed;
use crate::provider::code_point;

/// A session store that wraps another one and watches it for one connection.
pub(crate) struct WatchedSessions<S> {
    pub(crate) store: Arc<S>,
    /// The group of the share that a client must send.
    pub(crate) key_share: Option<NamedGroup>,
    pub(crate) observed: Arc<Mutex<Observed>>,
}

impl<S: ClientSessionStore> ClientSessionStore for WatchedSessions<S> {
    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        // a group learnt on one connection must not affect the next one: the runner relies on the
        // order in the options
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

/// Tickets created by the application, with or without the protection of the library.
#[derive(Debug)]
pub(crate) struct OwnTickets {
    pub(crate) protection: Arc<dyn ProducesTickets>,
    /// True to create none.
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
