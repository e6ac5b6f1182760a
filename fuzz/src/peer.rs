//! The honest peer of a connection under test, and the bytes between the two, which an input may
//! change.

use harness::peers::endpoints::{Endpoint, ThisBuffered};
use rustls::{Connection, Error};

use super::input::Input;
use super::sending::{MOST_UPDATES, Sent};
use super::streams::{Kind, tamper};

/// The most operations of an input; more find nothing new.
pub(super) const MOST_OPERATIONS: usize = 100;

pub(super) struct Peer {
    pub(super) kind: &'static Kind,
    pub(super) end: ThisBuffered,
    /// Output that has not arrived.
    output: Vec<u8>,
    /// Bytes that have arrived, but are not in the connection yet.
    pub(super) incoming: Vec<u8>,
    /// The data that the connection sends.
    pub(super) sent: Sent,
    /// The data that the peer sends.
    pub(super) of_peer: Sent,
    /// The connection's error.
    pub(super) error: Option<Error>,
    pub(super) has_failed: bool,
    /// True once bytes were changed in transit.
    pub(super) is_changed: bool,
}

impl Peer {
    pub(super) fn new(kind: &'static Kind, end: impl Into<Connection>) -> Self {
        Self {
            kind,
            end: ThisBuffered::new(end),
            output: Vec::new(),
            incoming: Vec::new(),
            sent: Sent::default(),
            of_peer: Sent::default(),
            error: None,
            has_failed: false,
            is_changed: false,
        }
    }

    /// Takes the peer's output; returns true if any is in transit.
    pub(super) fn take_output(&mut self) -> bool {
        self.output.extend(self.end.take_output());
        !self.output.is_empty()
    }

    /// Lets at most `len` bytes of the peer's output arrive.
    pub(super) fn arrive(&mut self, len: usize) {
        self.take_output();
        let len = len.min(self.output.len());
        self.incoming.extend(self.output.drain(..len));
    }

    /// Changes the peer's output in transit.
    pub(super) fn change_output(&mut self, input: &mut Input<'_>) {
        self.take_output();
        self.is_changed |= tamper(input, self.kind, &mut self.output);
    }

    /// True if all plaintext arrives unchanged.
    pub(super) fn is_genuine(&self) -> bool {
        !(self.is_changed && self.kind.is_transparent)
    }

    /// Records an error of the connection. It returns the same one each time; there is none with an
    /// honest peer.
    pub(super) fn fail(&mut self, error: Error) {
        assert!(self.is_changed, "{error:?}");
        assert_eq!(*self.error.get_or_insert_with(|| error.clone()), error);
        self.sent.has_failed = true;
    }

    /// Delivers at most `len` bytes of the connection's output to the peer.
    pub(super) fn deliver(&mut self, len: usize) {
        let outgoing = &mut self.sent.outgoing;
        let len = len.min(outgoing.len());
        let bytes: Vec<u8> = outgoing.drain(..len).collect();
        if self.has_failed {
            return;
        }
        if let Err(error) = self.end.receive(&bytes) {
            assert!(self.is_changed, "{error}");
            self.has_failed = true;
        }
        let mut early = Vec::new();
        self.end.read_early_into(&mut early);
        let plaintext = self.end.read_all();
        if self.is_genuine() {
            self.sent.early.receive(&early);
            self.sent.stream.receive(&plaintext);
        }
    }

    /// True if the peer can still send something.
    fn can_send(&self) -> bool {
        !self.of_peer.has_closed && !self.has_failed
    }

    /// Lets the peer send `len` bytes.
    pub(super) fn send(&mut self, len: usize) {
        if self.can_send() {
            let plaintext = self.of_peer.stream.next(len);
            self.of_peer.stream.sent += self.end.send(&plaintext);
            self.of_peer.updates = 0;
        }
    }

    pub(super) fn send_early(&mut self, len: usize) {
        if self.can_send() {
            let plaintext = self.of_peer.early.next(len);
            self.of_peer.early.sent += self.end.send_early(&plaintext);
        }
    }

    pub(super) fn refresh_traffic_keys(&mut self) {
        if self.can_send() && self.of_peer.updates < MOST_UPDATES {
            // fails in TLS 1.2, and before the end of the handshake
            let _ = self.end.conn.refresh_traffic_keys();
            self.of_peer.updates += 1;
        }
    }

    pub(super) fn close(&mut self) {
        if self.can_send() && !self.end.is_handshaking() {
            self.end.close();
            self.of_peer.has_closed = true;
        }
    }
}

/// Repeats `step` until it returns true, because nothing moves any more.
///
/// # Panics
///
/// If that takes more steps than any input does.
pub(super) fn until_idle(step: impl FnMut() -> bool) {
    let mut steps = std::iter::repeat_with(step).take(100_000);
    assert!(steps.any(|is_idle| is_idle), "the exchange does not end");
}
