//! What comes of bytes that a connection is given, as far as its application or its peer can tell.

use std::fmt;

use super::flights::{Framing, Record, records};
use crate::endpoints::Endpoint;

/// The level of an alert that does not end a connection.
const WARNING: u8 = 1;

/// What became of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// As printed.
    pub error: Option<String>,
    /// Level and description of the alert that was sent.
    pub alert: Option<[u8; 2]>,
    /// Content type and length of all that was sent, the same in a row once.
    sent: Vec<(u8, usize)>,
    received: Vec<u8>,
    peer_has_closed: bool,
    pub is_handshaking: bool,
    /// Asked again, it returned the same error, and sent nothing more.
    lasts: bool,
}

impl Outcome {
    /// Gives `bytes` to `endpoint`, which has nothing to send.
    pub fn new(endpoint: &mut dyn Endpoint, bytes: &[u8]) -> Self {
        Self::of_pieces(endpoint, &mut [bytes].into_iter())
    }

    /// As [`Self::new`], with bytes that come in pieces.
    pub fn of_pieces(endpoint: &mut dyn Endpoint, pieces: &mut dyn Iterator<Item = &[u8]>) -> Self {
        let mut pieces = pieces;
        let error = Iterator::find_map(&mut pieces, |piece| endpoint.receive(piece).err());
        Self::after(endpoint, error)
    }

    /// What became of an endpoint that has received all there was, or failed.
    pub fn after(endpoint: &mut dyn Endpoint, error: Option<String>) -> Self {
        let output = endpoint.take_output();
        // with TLS 1.2 no application data is sent, and the rest looks alike
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
            error,
        }
    }

    /// Whether the rest, as far as upstream's record sizes do not matter, is the same.
    pub fn is_like(&self, theirs: &Self) -> bool {
        (&self.error, self.alert) == (&theirs.error, theirs.alert)
            && self.received == theirs.received
            && self.peer_has_closed == theirs.peer_has_closed
            && self.is_handshaking == theirs.is_handshaking
            && self.lasts == theirs.lasts
    }

    /// `Error / alert description`, either of which may be `none`.
    pub fn name(&self) -> String {
        self.name_with(self.alert)
    }

    /// The same, but of a failure only an alert that tells of it: a warning was sent before.
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
