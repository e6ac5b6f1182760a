//! The unbuffered API: `process_tls_records` and the states that it returns, over the caller's
//! memory.

use super::Sends;
use super::pairs::unbuffered::{Pair, receive, send};
use crate::workload::{Result, Stretch, Traffic, Workload, check_received, record_count};

/// Sends with the client's `encrypt`.
impl Sends for Pair {
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        send(&mut *self.client, plaintext, out)
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
