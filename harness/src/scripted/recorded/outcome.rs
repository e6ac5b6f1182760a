//! The outcome of receiving bytes, as visible to the application or the peer.

use std::fmt;

use super::flights::{Framing, Record, records};
use crate::peers::endpoints::Endpoint;

/// The level of an alert that does not end a connection.
const WARNING: u8 = 1;

/// The outcome of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The error as printed.
    pub error: Option<String>,
    /// Level and description of the alert that was sent.
    pub alert: Option<[u8; 2]>,
    /// Content type and length of all records sent; equal neighbours are merged.
    sent: Vec<(u8, usize)>,
    received: Vec<u8>,
    peer_has_closed: bool,
    pub is_handshaking: bool,
    /// True if it returned the same error again, and sent nothing more.
    lasts: bool,
    /// The values of the accessors at the end.
    pub reported: String,
}

impl Outcome {
    /// Delivers `bytes` to `endpoint`, which must have no pending output.
    pub fn new(endpoint: &mut dyn Endpoint, bytes: &[u8]) -> Self {
        Self::of_pieces(endpoint, &mut [bytes].into_iter())
    }

    /// Like [`Self::new`], but delivers the bytes in pieces.
    pub fn of_pieces(endpoint: &mut dyn Endpoint, pieces: &mut dyn Iterator<Item = &[u8]>) -> Self {
        let mut pieces = pieces;
        let error = Iterator::find_map(&mut pieces, |piece| endpoint.receive(piece).err());
        Self::after(endpoint, error)
    }

    /// The outcome of an endpoint that has received everything, or failed.
    pub fn after(endpoint: &mut dyn Endpoint, error: Option<String>) -> Self {
        let output = endpoint.take_output();
        // no application data is sent in TLS 1.2, and other records have the same format
        let sent = records(Framing::Tls13, &output);
        let mut received = Vec::new();
        endpoint.read_early_into(&mut received);
        endpoint.read_into(&mut received);
        let alert = match sent.last() {
            Some(Record {
                typ: 21, content, ..
            }) => content[..].try_into().ok(),
            _ => None,
        };
        let mut sent: Vec<_> = sent.iter().map(|r| (r.typ, r.content.len())).collect();
        sent.dedup();
        Self {
            alert,
            sent,
            received,
            peer_has_closed: endpoint.peer_has_closed(),
            is_handshaking: endpoint.is_handshaking(),
            lasts: error.is_none()
                || endpoint.process().err() == error && endpoint.take_output().is_empty(),
            reported: reported(endpoint),
            error,
        }
    }

    /// True if all other fields are equal. Sent records may differ, since upstream's sizes differ.
    pub fn is_like(&self, theirs: &Self) -> bool {
        (&self.error, self.alert) == (&theirs.error, theirs.alert)
            && self.received == theirs.received
            && self.peer_has_closed == theirs.peer_has_closed
            && self.is_handshaking == theirs.is_handshaking
            && self.lasts == theirs.lasts
    }

    /// `Error / alert description`, each of which may be `none`.
    pub fn name(&self) -> String {
        self.name_with(self.alert)
    }

    /// Like [`Self::name`], but after a failure it omits a warning, which was sent earlier.
    pub fn failure_name(&self) -> String {
        let is_told = |[level, _]: &[u8; 2]| self.error.is_none() || *level != WARNING;
        self.name_with(self.alert.filter(is_told))
    }

    fn name_with(&self, alert: Option<[u8; 2]>) -> String {
        let error = self.error.as_deref().unwrap_or("none");
        match alert {
            None => format!("{error} / none"),
            Some([2, description]) => format!("{error} / {description}"),
            Some([level, description]) => format!("{error} / {description} of level {level}"),
        }
    }
}

/// The values of the accessors that both APIs have.
fn reported(endpoint: &dyn Endpoint) -> String {
    let certificates = endpoint.peer_certificates().len();
    format!("{}, {certificates} certificates", endpoint.negotiated())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; sent {:?}, received {} bytes",
            self.name(),
            self.sent,
            self.received.len()
        )?;
        for (what, is) in [
            ("closed", self.peer_has_closed),
            ("handshaking", self.is_handshaking),
            ("DOES NOT LAST", !self.lasts),
        ] {
            if is {
                write!(f, ", {what}")?;
            }
        }
        Ok(())
    }
}
