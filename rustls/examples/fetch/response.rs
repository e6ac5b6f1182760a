//! An HTTP response received in pieces: its head is collected, its body is printed.

use std::error::Error;
use std::io::{self, StdoutLock, Write, stdout};

use crate::http::Head;

/// A response being received. It ends with the connection.
pub(crate) struct Response {
    head: Head,
    out: StdoutLock<'static>,
}

impl Response {
    pub(crate) fn new() -> Self {
        let (head, out) = (Head::new(), stdout().lock());
        Self { head, out }
    }

    /// Processes the next piece.
    pub(crate) fn receive(&mut self, piece: &[u8]) -> io::Result<()> {
        let body = self.head.receive(piece);
        if self.head.is_over() && !self.head.is_complete() {
            return Err(io::Error::other("the head of the response is too long"));
        }
        self.out.write_all(body)
    }

    /// Checks after the last piece that the response is complete and its status is 200.
    ///
    /// `closed` is true if the server ended it with a close_notify, which an attacker cannot forge.
    pub(crate) fn finish(mut self, closed: bool) -> Result<(), Box<dyn Error>> {
        self.out.flush()?;
        if !closed {
            return Err("the connection was cut off, the page may be incomplete".into());
        }
        let head = String::from_utf8_lossy(&self.head.bytes);
        let status = head.lines().next().unwrap_or_default();
        match status.split(' ').nth(1) {
            Some("200") => Ok(()),
            _ => Err(format!("the server answered: {status}").into()),
        }
    }
}
