//! A transport that fails at a chosen call, connected to a peer.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::panic::resume_unwind;

use super::endpoints::{Endpoint, UpstreamBuffered};

/// The way in which a call misbehaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Moves one byte.
    Short,
    /// Fails with this kind and moves nothing.
    Fails(ErrorKind),
    /// Returns `Ok(0)`.
    Nothing,
    /// Claims to have moved too many bytes: `write` takes all bytes, and `read` returns none.
    Lies,
    /// Panics with [`PlannedPanic`] and moves nothing.
    Panics,
}

/// The behaviour of later calls of the same kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Then {
    Work,
    /// Later calls fail in the same way.
    Repeat,
    Block,
    /// Later calls alternate between success and the fault.
    Alternate,
}

/// A call to the transport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IoCall {
    Read,
    Write,
    Flush,
}

/// A fault, and the number of the call at which it first occurs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub call: IoCall,
    pub at: usize,
    pub fault: Fault,
    pub then: Then,
}

impl Plan {
    fn fault(&self, call: IoCall, at: usize) -> Option<Fault> {
        let since = at.checked_sub(self.at).filter(|_| self.call == call)?;
        match self.then {
            _ if since == 0 => Some(self.fault),
            Then::Work => None,
            Then::Repeat => Some(self.fault),
            Then::Block => Some(Fault::Fails(ErrorKind::WouldBlock)),
            Then::Alternate => (since % 2 == 0).then_some(self.fault),
        }
    }
}

/// The payload of the transport's panics.
pub struct PlannedPanic;

/// The number of calls of each kind, by [`IoCall`].
pub type Counts = [usize; 3];

pub struct Transport {
    pub peer: UpstreamBuffered,
    /// The peer's plaintext, unless it is sent back.
    pub received_by_peer: Vec<u8>,
    /// True if the peer sends back its plaintext, reversed. Its errors are ignored, and its
    /// close_notify ends the stream.
    pub echoes: bool,
    incoming: VecDeque<u8>,
    plan: Option<Plan>,
    pub counts: Counts,
}

impl Transport {
    pub fn new(peer: UpstreamBuffered, plan: Option<Plan>) -> Self {
        Self {
            peer,
            received_by_peer: Vec::new(),
            echoes: false,
            incoming: VecDeque::new(),
            plan,
            counts: Counts::default(),
        }
    }

    /// Counts a call and returns its fault, if any.
    fn call(&mut self, call: IoCall) -> io::Result<Option<Fault>> {
        let count = &mut self.counts[call as usize];
        let at = *count;
        *count += 1;
        assert!(at < 20_000, "endless loop");
        match self.plan.and_then(|plan| plan.fault(call, at)) {
            Some(Fault::Fails(kind)) => Err(kind.into()),
            Some(Fault::Panics) => resume_unwind(Box::new(PlannedPanic)),
            fault => Ok(fault),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let fault = self.call(IoCall::Read)?;
        if self.echoes && !self.peer.is_handshaking() {
            let mut plaintext = self.peer.read_all();
            plaintext.reverse();
            self.peer.send(&plaintext);
        }
        self.incoming.extend(self.peer.take_output());
        let most = match fault {
            Some(Fault::Lies) => return Ok(buf.len() + 1),
            Some(Fault::Nothing) => return Ok(0),
            Some(Fault::Short) => 1,
            _ => buf.len(),
        };
        let len = self.incoming.len().min(most);
        if len == 0 && !(self.echoes && self.peer.peer_has_closed()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.incoming.read_exact(&mut buf[..len])?;
        Ok(len)
    }
}

impl Write for Transport {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let fault = self.call(IoCall::Write)?;
        let len = match fault {
            Some(Fault::Nothing) => return Ok(0),
            Some(Fault::Short) => buf.len().min(1),
            _ => buf.len(),
        };
        let received = self.peer.receive(&buf[..len]);
        if !self.echoes {
            received.unwrap();
            self.peer.read_early_into(&mut self.received_by_peer);
            self.peer.read_into(&mut self.received_by_peer);
        }
        Ok(match fault {
            Some(Fault::Lies) => len + 1,
            _ => len,
        })
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        self.write(&all)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(IoCall::Flush).map(|_| ())
    }
}
