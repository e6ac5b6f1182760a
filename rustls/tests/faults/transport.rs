//! A transport that fails once, at a chosen call, with the peer at its other end.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::panic::resume_unwind;

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};

/// The fault of a single call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Moves one byte.
    Short,
    /// Fails with this kind and moves nothing.
    Fails(ErrorKind),
    /// Returns `Ok(0)`.
    Nothing,
    /// Claims to have moved too much: `write` takes all bytes, `read` returns none.
    Lies,
    /// Panics and moves nothing.
    Panics,
}

/// One fault of each kind that connections may handle differently.
pub(crate) const KINDS: [Fault; 7] = [
    Fault::Short,
    Fault::Fails(ErrorKind::WouldBlock),
    Fault::Fails(ErrorKind::Interrupted),
    Fault::Fails(ErrorKind::ConnectionReset),
    Fault::Nothing,
    Fault::Lies,
    Fault::Panics,
];

/// Errors that connections should not handle specially, the most common first.
pub(crate) const ERRORS: [Fault; 4] = [
    Fault::Fails(ErrorKind::TimedOut),
    Fault::Fails(ErrorKind::BrokenPipe),
    Fault::Fails(ErrorKind::Other),
    Fault::Fails(ErrorKind::InvalidData),
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Read,
    Write,
    Flush,
}

/// A fault, and the number of the call at which it occurs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) call: Call,
    pub(crate) at: usize,
    pub(crate) fault: Fault,
}

/// The payload of the transport's panics.
pub(crate) struct PlannedPanic;

/// The number of calls of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
    pub(crate) flushes: usize,
}

pub(crate) struct Transport {
    pub(crate) peer: UpstreamBuffered,
    pub(crate) received_by_peer: Vec<u8>,
    incoming: VecDeque<u8>,
    plan: Option<Plan>,
    pub(crate) counts: Counts,
}

impl Transport {
    pub(crate) fn new(peer: UpstreamBuffered, plan: Option<Plan>) -> Self {
        Self {
            peer,
            received_by_peer: Vec::new(),
            incoming: VecDeque::new(),
            plan,
            counts: Counts::default(),
        }
    }

    /// Counts a call and returns its fault, if any.
    fn call(&mut self, call: Call) -> io::Result<Option<Fault>> {
        let count = match call {
            Call::Read => &mut self.counts.reads,
            Call::Write => &mut self.counts.writes,
            Call::Flush => &mut self.counts.flushes,
        };
        let at = *count;
        *count += 1;
        assert!(at < 2000, "endless loop");
        match self.plan {
            Some(plan) if plan.call == call && plan.at == at => match plan.fault {
                Fault::Fails(kind) => Err(kind.into()),
                Fault::Panics => resume_unwind(Box::new(PlannedPanic)),
                fault => Ok(Some(fault)),
            },
            _ => Ok(None),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let fault = self.call(Call::Read)?;
        self.incoming.extend(self.peer.take_output());
        let most = match fault {
            Some(Fault::Lies) => return Ok(buf.len() + 1),
            Some(Fault::Nothing) => return Ok(0),
            Some(Fault::Short) => 1,
            _ => buf.len(),
        };
        let len = self.incoming.len().min(most);
        if len == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.incoming.read_exact(&mut buf[..len])?;
        Ok(len)
    }
}

impl Write for Transport {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let fault = self.call(Call::Write)?;
        let len = match fault {
            Some(Fault::Nothing) => return Ok(0),
            Some(Fault::Short) => 1,
            _ => buf.len(),
        };
        self.peer.receive(&buf[..len]).unwrap();
        self.peer.read_early_into(&mut self.received_by_peer);
        self.peer.read_into(&mut self.received_by_peer);
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
        self.call(Call::Flush).map(|_| ())
    }
}
