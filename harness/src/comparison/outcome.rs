//! The outcome of receiving bytes, as visible to the application or the peer.

use std::fmt;

use crate::peers::endpoints::Endpoint;
use crate::scripted::recorded::flights::{Framing, Record, records};

/// The level of an alert that does not end a connection.
const WARNING: u8 = 1;

/// The length of a record header.
const HEADER_LEN: usize = 5;

/// The outcome of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The error as printed.
    pub error: Option<String>,
    pub alert: Alert,
    /// Content type and length of all records sent; equal neighbours are merged.
    pub sent: Vec<(u8, usize)>,
    /// The early data, then the data.
    pub received: [Vec<u8>; 2],
    pub peer_has_closed: bool,
    pub is_handshaking: bool,
    /// True if there was no error, or if the connection returned it again and sent nothing more.
    pub lasts: bool,
    /// The values of the accessors at the end.
    pub reported: String,
}

/// The last alert that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alert {
    None,
    /// The alert's level and description.
    Sent([u8; 2]),
    /// The alert could not be decrypted.
    Unknown,
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

    /// Returns the outcome of an endpoint that has received everything, or failed.
    pub fn after(endpoint: &mut dyn Endpoint, error: Option<String>) -> Self {
        let output = endpoint.take_output();
        // no application data is sent in TLS 1.2, and other records have the same format
        let sent = records(Framing::Tls13, &output);
        let mut received = [Vec::new(), Vec::new()];
        endpoint.read_early_into(&mut received[0]);
        endpoint.read_into(&mut received[1]);
        let alert = match sent.last() {
            Some(Record {
                typ: 21, content, ..
            }) => content[..].try_into().map_or(Alert::None, Alert::Sent),
            _ => Alert::None,
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

    /// True if both outcomes are the same, apart from the sent records, because upstream's have
    /// other sizes, and from the accessors. An unreadable alert equals any alert.
    pub fn is_like(&self, theirs: &Self) -> bool {
        self.error == theirs.error
            && self.alert.agrees(theirs.alert)
            && self.received == theirs.received
            && self.peer_has_closed == theirs.peer_has_closed
            && self.is_handshaking == theirs.is_handshaking
            && self.lasts == theirs.lasts
    }

    /// True if the connection failed for a reason other than the peer's alert.
    pub(super) fn has_noticed(&self) -> bool {
        let error = self.error.as_deref();
        error.is_some_and(|error| !error.starts_with("AlertReceived("))
    }

    /// True if both rejected the bytes, with the same alert.
    pub fn rejects_like(&self, theirs: &Self) -> bool {
        self.error.is_some() && theirs.error.is_some() && self.alert == theirs.alert
    }

    /// Returns `Error / alert description`, each of which may be `none`.
    pub fn name(&self) -> String {
        let error = self.error.as_deref().unwrap_or("none");
        format!("{error} / {}", self.alert)
    }

    /// Removes a warning that was sent before a failure.
    pub fn without_warning(mut self) -> Self {
        if self.error.is_some() && matches!(self.alert, Alert::Sent([WARNING, _])) {
            self.alert = Alert::None;
        }
        self
    }
}

impl Alert {
    /// True if both alerts are the same, or one of them could not be read.
    fn agrees(self, other: Self) -> bool {
        self == other || [self, other].contains(&Self::Unknown)
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Sent([2, description]) => write!(f, "{description}"),
            Self::Sent([level, description]) => write!(f, "{description} of level {level}"),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// Feeds the bytes to an endpoint of each crate, record by record until either fails, and then the
/// rest to the other. Returns the outcomes of both at either moment.
pub fn in_step(ends: &mut [Box<dyn Endpoint>; 2], [ours, theirs]: [&[u8]; 2]) -> [[Outcome; 2]; 2] {
    let mut at = 0;
    let mut errors = [None, None];
    while errors == [None, None]
        // this crate does not wait for the rest of a header that is already wrong
        && let [_, _, _, high, low, ..] = ours[at..]
    {
        let len = HEADER_LEN + usize::from(u16::from_be_bytes([high, low]));
        let record = at..ours.len().min(at + len);
        at = record.end;
        errors[0] = ends[0].receive(&ours[record.clone()]).err();
        errors[1] = ends[1].receive(&theirs[record]).err();
    }
    let first = [0, 1].map(|which| Outcome::after(&mut *ends[which], errors[which].clone()));
    let rests = [&ours[at..], &theirs[at..]];
    let last = [0, 1].map(|which| match errors[which] {
        None => Outcome::new(&mut *ends[which], rests[which]),
        Some(_) => first[which].clone(),
    });
    [first, last]
}

/// Returns the values of the accessors that both APIs have.
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
            self.received.concat().len()
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
