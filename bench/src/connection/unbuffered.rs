//! The unbuffered API: `process_tls_records` and the states it returns, over the caller's memory.

use core::hint::black_box;

use super::pairs::unbuffered::{Pair, receive, send};
use crate::workload::{Result, Scenario, Workload, check_received, record_count};

/// Timed: the client's `encrypt`, into one output buffer that is used again and again.
pub(crate) struct Send {
    pair: Pair,
    plaintext: Vec<u8>,
    out: Vec<u8>,
    sealed_len: usize,
    writes: usize,
}

impl Send {
    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        Self {
            pair,
            plaintext: scenario.plaintext(),
            out: vec![0; scenario.sealed_room()],
            sealed_len: 0,
            writes: scenario.writes(),
        }
    }
}

impl Workload for Send {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(&self.plaintext[..]);
            self.sealed_len = send(&mut *self.pair.client, plaintext, &mut self.out)?;
            black_box(&self.out[..self.sealed_len]);
        }
        Ok(())
    }

    fn records(&self) -> usize {
        record_count(&self.out[..self.sealed_len]) * self.writes
    }
}

/// Timed: the server's `process_tls_records` and `next_record`, over a buffer full of records.
pub(crate) struct Receive {
    pair: Pair,
    plaintext: Vec<u8>,
    incoming: Vec<u8>,
    incoming_len: usize,
    records: usize,
    writes: usize,
}

impl Receive {
    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        Self {
            pair,
            plaintext: scenario.plaintext(),
            incoming: vec![0; scenario.sealed_room() * scenario.writes()],
            incoming_len: 0,
            records: 0,
            writes: scenario.writes(),
        }
    }
}

impl Workload for Receive {
    fn prepare(&mut self) -> Result<()> {
        self.incoming_len = 0;
        for _ in 0..self.writes {
            let free = &mut self.incoming[self.incoming_len..];
            self.incoming_len += send(&mut *self.pair.client, &self.plaintext, free)?;
        }
        self.records = record_count(&self.incoming[..self.incoming_len]);
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let incoming = &mut self.incoming[..self.incoming_len];
        let received = receive(&mut *self.pair.server, incoming)?;
        check_received(received, self.plaintext.len() * self.writes)
    }

    fn records(&self) -> usize {
        self.records
    }
}
