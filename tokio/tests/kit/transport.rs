//! A transport over memory to a peer, which counts the calls of the stream above it and fails on
//! request.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use harness::peers::endpoints::{Endpoint, UpstreamBuffered};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Read,
    Write,
    Flush,
    Shutdown,
}

pub(crate) const CALLS: [Call; 4] = [Call::Read, Call::Write, Call::Flush, Call::Shutdown];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The call is pending, and the task is woken.
    Pending,
    /// From this call on, writes are pending.
    Blocks,
    /// One byte is moved.
    Short,
    /// The call returns `Ok(0)`: the end of the stream for a read.
    Zero,
    Fails(ErrorKind),
}

/// A fault, with the kind of call that has it and the number of that call, from 0.
pub(crate) type Plan = (Call, usize, Fault);

#[derive(Clone)]
pub(crate) struct Transport(Arc<Mutex<Net>>);

/// Both directions of a transport, and the peer.
pub(crate) struct Net {
    pub(crate) peer: UpstreamBuffered,
    /// The bytes that the stream has not read yet.
    pub(crate) incoming: VecDeque<u8>,
    /// True if the stream of bytes ends after `incoming`.
    pub(crate) has_ended: bool,
    /// The plaintext that the peer has received.
    pub(crate) received: Vec<u8>,
    pub(crate) received_early: Vec<u8>,
    pub(crate) peer_error: Option<String>,
    /// The writes, flushes and shutdowns that succeeded.
    pub(crate) log: Vec<Call>,
    pub(crate) plan: Option<Plan>,
    pub(crate) was_planned: bool,
    pub(crate) counts: [usize; 4],
    /// True if writes are pending.
    pub(crate) is_blocked: bool,
    /// False if a write accepts only one slice.
    pub(crate) is_vectored: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Transport {
    pub(crate) fn new(peer: UpstreamBuffered) -> Self {
        Self(Arc::new(Mutex::new(Net {
            peer,
            incoming: VecDeque::new(),
            has_ended: false,
            received: Vec::new(),
            received_early: Vec::new(),
            peer_error: None,
            log: Vec::new(),
            plan: None,
            was_planned: false,
            counts: [0; 4],
            is_blocked: false,
            is_vectored: true,
            reader: None,
            writer: None,
        })))
    }

    pub(crate) fn net(&self) -> MutexGuard<'_, Net> {
        self.0.lock().unwrap()
    }

    /// Changes the state, and wakes the waiting tasks.
    pub(crate) fn change(&self, f: impl FnOnce(&mut Net)) {
        let wakers = {
            let net = &mut *self.net();
            f(net);
            [net.reader.take(), net.writer.take()]
        };
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Net {
    fn call(&mut self, call: Call, task: &Context<'_>) -> Poll<io::Result<Option<Fault>>> {
        let at = self.counts[call as usize];
        self.counts[call as usize] += 1;
        assert!(at < 100_000, "endless loop");
        match self.plan {
            Some((planned, number, fault)) if planned == call && number == at => {
                self.was_planned = true;
                match fault {
                    Fault::Pending => {
                        task.waker().wake_by_ref();
                        Poll::Pending
                    }
                    Fault::Fails(kind) => Poll::Ready(Err(kind.into())),
                    fault => Poll::Ready(Ok(Some(fault))),
                }
            }
            _ => Poll::Ready(Ok(None)),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        if self.peer_error.is_none() {
            self.peer_error = self.peer.receive(bytes).err();
        }
        self.peer.read_early_into(&mut self.received_early);
        self.peer.read_into(&mut self.received);
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let net = &mut *self.net();
        let most = match ready!(net.call(Call::Read, task))? {
            Some(Fault::Zero) => return Poll::Ready(Ok(())),
            Some(Fault::Short) => 1,
            _ => buf.remaining(),
        };
        net.incoming.extend(net.peer.take_output());
        if net.incoming.is_empty() && !net.has_ended {
            net.reader = Some(task.waker().clone());
            return Poll::Pending;
        }
        let len = most.min(net.incoming.len());
        net.incoming
            .drain(..len)
            .for_each(|byte| buf.put_slice(&[byte]));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let net = &mut *self.net();
        let len = match ready!(net.call(Call::Write, task))? {
            Some(Fault::Zero) => return Poll::Ready(Ok(0)),
            Some(Fault::Short) => 1,
            fault => {
                net.is_blocked |= fault == Some(Fault::Blocks);
                buf.len()
            }
        };
        if net.is_blocked {
            net.writer = Some(task.waker().clone());
            return Poll::Pending;
        }
        net.log.push(Call::Write);
        net.receive(&buf[..len]);
        Poll::Ready(Ok(len))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.net().is_vectored {
            // like the default of this method
            let first = bufs.iter().find(|buf| !buf.is_empty());
            return self.poll_write(task, first.map_or(&[], |buf| buf));
        }
        let all = bufs.iter().map(|buf| &**buf).collect::<Vec<_>>().concat();
        self.poll_write(task, &all)
    }

    fn is_write_vectored(&self) -> bool {
        self.net().is_vectored
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let net = &mut *self.net();
        ready!(net.call(Call::Flush, task))?;
        net.log.push(Call::Flush);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let net = &mut *self.net();
        ready!(net.call(Call::Shutdown, task))?;
        net.log.push(Call::Shutdown);
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}
