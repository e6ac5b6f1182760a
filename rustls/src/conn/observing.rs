//! The calls to the observer: when a client starts, after handshake messages and key updates, when
//! the connection fails, and when it is dropped.

use alloc::sync::Arc;

use pki_types::ServerName;

use super::common_state::CommonState;
use super::records::{Receiving, Sending};
use crate::config::observer::Observer;
use crate::config::observer::events::{Alert, Direction};
use crate::enums::AlertDescription;
use crate::error::Error;
use crate::handshake::observation::{Ending, Observation, View};
use crate::record::traffic::Traffic;

impl CommonState {
    /// Sets the application's number for this connection. Its [observer](crate::observer) receives
    /// the number with each later event, as
    /// [`Observed::context`](crate::observer::Observed::context).
    ///
    /// Set it before the connection reads anything. A client reports
    /// [`handshake_begun`](crate::observer::Observer::handshake_begun) when it is created, so that
    /// event has the number 0. Has no effect without an observer.
    pub fn set_observer_context(&mut self, context: u64) {
        if let Some(observation) = &mut self.observation {
            observation.set_context(context);
        }
    }

    /// Reports the events of this connection to `observer`. This replaces the observer of an
    /// `Acceptor`, which must not have been called yet. `None` keeps that observer.
    pub(crate) fn observe(&mut self, observer: Option<&Arc<dyn Observer>>) {
        if let Some(observation) = &mut self.observation {
            observation.is_accepting = false;
        }
        let Some(observer) = observer else {
            // the application's number alone is of no use
            if let Some(unused) = self.observation.take_if(|it| !it.has_observer()) {
                unused.put_back();
            }
            return;
        };
        let carrier = self.carrier();
        let observation = self.observation.get_or_insert_with(Observation::new);
        if !observation.has_observer() {
            observation.times.create();
            if self.quic.is_none() {
                let (sent, received) = &mut observation.counters;
                self.records.sender.count(sent.take().unwrap_or_default());
                self.records
                    .receiver
                    .count(received.take().unwrap_or_default());
            }
        }
        observation.set_observer(observer.clone(), self.side, carrier);
    }

    /// Reports the events of a connection that has no configuration yet to `observer`.
    #[cfg(feature = "std")]
    pub(crate) fn observe_accepting(&mut self, observer: &Arc<dyn Observer>) {
        self.observe(Some(observer));
        if let Some(observation) = &mut self.observation {
            observation.is_accepting = true;
        }
    }

    /// True if there is an observer.
    #[cfg(feature = "std")]
    pub(crate) fn is_observed(&self) -> bool {
        let observation = self.observation.as_ref();
        observation.is_some_and(|observation| observation.has_observer())
    }

    /// Remembers the application's number for a connection whose configuration is not known yet.
    #[cfg(feature = "std")]
    pub(crate) fn keep_observer_context(&mut self, context: u64) {
        self.observation
            .get_or_insert_with(Observation::new)
            .set_context(context);
    }

    /// Reports new events to the observer, if there is one.
    #[inline]
    pub(crate) fn report(&mut self) {
        let Some(observation) = &self.observation else {
            return;
        };
        if observation.has_news(&self.negotiated, self.is_handshaking()) {
            self.report_events();
        }
    }

    #[cold]
    fn report_events(&mut self) {
        let (sent, received) = self.traffic();
        let view = View {
            negotiated: &self.negotiated,
            is_handshaking: self.is_handshaking(),
            sent,
            received,
        };
        if let Some(observation) = &mut self.observation {
            observation.report(&view);
        }
    }

    /// Notes that the application has taken the keys.
    pub(crate) fn report_extraction(&mut self) {
        if let Some(observation) = &mut self.observation {
            observation.is_extracted = true;
        }
    }

    /// Tells the observer that the keys of one direction were replaced.
    pub(crate) fn report_keys(&mut self, direction: Direction) {
        // buffered data may wear out a key before the end of the handshake is reported
        self.report();
        if let Some(observation) = &mut self.observation {
            observation.report_keys(direction);
        }
    }

    /// Records the [`Ending`] of the connection before the failure changes it, and the server name,
    /// if known. Does not call the application's code.
    #[cold]
    pub(super) fn prepare_failure(&mut self, server_name: Option<&str>) {
        if self.observation.is_none() {
            return;
        }
        let (sent, received) = self.traffic();
        let before = self.ending(sent, received);
        if let Some(observation) = &mut self.observation {
            observation.before_failure = Some(before);
            if let Some(name) = server_name {
                observation.set_server_name(name);
            }
        }
    }

    /// Tells the observer about the error that ended the connection.
    #[cold]
    pub(super) fn report_failure(&mut self, error: &Error, alert: Option<AlertDescription>) {
        let Some(observation) = &self.observation else {
            return;
        };
        let (sent, received) = self.traffic();
        let (sent, received) = self.traffic_of_both(observation, sent, received);
        let view = View {
            negotiated: &self.negotiated,
            is_handshaking: self.is_handshaking(),
            sent,
            received,
        };
        if let Some(observation) = &mut self.observation {
            // an `Acceptor` does not return this alert
            let is_dropped =
                observation.is_accepting && matches!(error, Error::InappropriateMessage { .. });
            let alert = alert.filter(|_| !is_dropped).map(Alert::Sent);
            observation.report_failure(&view, error, alert);
        }
    }

    /// Records the server name of a client, and starts to time its handshake, if there is an
    /// observer.
    pub(crate) fn observe_client(&mut self, name: &ServerName<'_>) {
        if let Some(observation) = &mut self.observation {
            observation.set_client_name(name);
            observation.times.start_handshake();
        }
    }

    /// Tells the observer that a client has started, or that it could not.
    pub(crate) fn report_start<T>(&mut self, started: Result<T, Error>) -> Result<T, Error> {
        if let Some(observation) = &mut self.observation {
            observation.times.end_work();
            if started.is_ok() {
                observation.begin();
            }
        }
        self.report_configured(started)
    }

    /// Tells the observer about the error in `result`, if any: the connection could not start with
    /// its configuration.
    pub(crate) fn report_configured<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &result {
            self.prepare_failure(None);
            self.report_failure(error, None);
        }
        result
    }

    /// Records the server name in a ClientHello that is waiting for a configuration.
    #[cfg(feature = "std")]
    pub(crate) fn observe_client_hello(&mut self, server_name: Option<&str>) {
        if let Some(observation) = &mut self.observation {
            if let Some(name) = server_name {
                observation.set_server_name(name);
            }
        }
    }

    /// Tells the observer that the connection is dropped.
    #[cold]
    fn report_end(&mut self) {
        let Some(mut observation) = self.observation.take() else {
            return;
        };
        let (sent, received) = self.traffic();
        let ending = match observation.before_failure {
            Some(before) => Ending {
                has_failed: true,
                sent,
                received,
                ..before
            },
            None => self.ending(sent, received),
        };
        let (sent, received) = self.traffic_of_both(&observation, sent, received);
        let view = View {
            negotiated: &self.negotiated,
            is_handshaking: self.is_handshaking(),
            sent,
            received,
        };
        let quic_alert = self.quic.as_ref().and_then(|quic| quic.alert);
        observation.report_end(&view, self.failed(), quic_alert.map(Alert::Sent), ending);
        let (sent, received) = &mut observation.counters;
        if let Some(counted) = self.records.sender.stop_counting() {
            *sent = Some(counted);
        }
        if let Some(counted) = self.records.receiver.stop_counting() {
            *received = Some(counted);
        }
        observation.put_back();
    }

    /// Returns the end of this connection or half, as if it were dropped now. `sent` and `received`
    /// are the traffic until then.
    fn ending(&self, sent: Traffic, received: Traffic) -> Ending {
        let records = &self.records;
        // a half knows the end of its own direction
        let (sends, receives) = match (&records.other_half, records.sending) {
            (None, _) => (true, true),
            (Some(_), Sending::Elsewhere) => (false, true),
            (Some(_), _) => (true, false),
        };
        let close_notify_sent = match &self.quic {
            Some(quic) => quic.alert == Some(AlertDescription::CloseNotify),
            None => sends && records.sending == Sending::Closed,
        };
        Ending {
            has_failed: self.has_failed(),
            close_notify_sent,
            close_notify_received: receives && records.receiving == Receiving::Closed,
            #[cfg(feature = "std")]
            seen_eof: records.seen_eof,
            #[cfg(not(feature = "std"))]
            seen_eof: false,
            sent,
            received,
        }
    }

    /// Returns the traffic of the whole connection. A half of a split connection does not know how
    /// much the other half has moved since the split, so the value from before the split is used.
    fn traffic_of_both(
        &self,
        observation: &Observation,
        sent: Traffic,
        received: Traffic,
    ) -> (Traffic, Traffic) {
        let (sent_before, received_before) = observation.before_split;
        match (&self.records.other_half, self.records.sending) {
            (None, _) => (sent, received),
            (Some(_), Sending::Elsewhere) => (sent_before, received),
            (Some(_), _) => (sent, received_before),
        }
    }

    /// Returns the traffic sent and received.
    pub(super) fn traffic(&self) -> (Traffic, Traffic) {
        match &self.quic {
            Some(quic) => (quic.sent, quic.received),
            None => (
                self.records.sender.traffic().unwrap_or_default(),
                self.records.receiver.traffic().unwrap_or_default(),
            ),
        }
    }
}

impl Drop for CommonState {
    #[inline]
    fn drop(&mut self) {
        if self.observation.is_some() {
            self.report_end();
        }
    }
}
