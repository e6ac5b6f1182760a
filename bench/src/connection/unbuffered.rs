//! The unbuffered API: `process_tls_records` and the states it returns, over the caller's memory.

use core::hint::black_box;

use super::pairs::unbuffered::{Pair, receive, send};
use crate::workload::{Result, Stretch, Traffic, Workload, check_received, record_count};

/// Timed: the client's `encrypt`, into one output buffer that is used again and again.
pub(crate) struct Send {
    pair: Pair,
    plaintext: Stretch,
    out: Stretch,
    writes: usize,
}

impl Send {
    pub(crate) fn new(pair: Pair, traffic: &Traffic) -> Self {
        Self {
            pair,
            plaintext: traffic.plaintext(),
            out: traffic.sealed(),
            writes: traffic.writes(),
        }
    }
}

impl Workload for Send {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&*self.plaintext.step());
            let sealed = send(&mut *self.pair.client, plaintext, self.out.rest())?;
            black_box(self.out.take(sealed));
        }
        Ok(())
    }

    fn records(&self) -> usize {
        record_count(self.out.last()) * self.writes
    }
}

/// Timed: the server's `process_tls_records` and `next_record`, over a buffer full of records.
pub(crate) struct Receive {
    pair: Pair,
    plaintext: Stretch,
    incoming: Vec<u8>,
    incoming_len: usize,
    records: usize,
    writes: usize,
}

impl Receive {
    pub(crate) fn new(pair: Pair, traffic: &Traffic) -> Self {
        Self {
            pair,
            plaintext: traffic.plaintext(),
            incoming: traffic.incoming(),
            incoming_len: 0,
            records: 0,
            writes: traffic.writes(),
        }
    }
}

impl Workload for Receive {
    fn prepare(&mut self) -> Result<()> {
        self.incoming_len = 0;
        for _ in 0..self.writes {
            let free = &mut self.incoming[self.incoming_len..];
            self.incoming_len += send(&mut *self.pair.client, self.plaintext.step(), free)?;
        }
        self.records = record_count(&self.incoming[..self.incoming_len]);
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let incoming = &mut self.incoming[..self.incoming_len];
        let received = receive(&mut *self.pair.server, incoming)?;
        check_received(received, self.plaintext.last().len() * self.writes)
    }

    fn records(&self) -> usize {
        self.records
    }
}
