//! The buffered API: `writer` and `write_tls` out, `read_tls`, `process_new_packets` and `reader` in.
//!
//! The pipe between the two sides is a `Vec<u8>`; copying into it and out of it is part of the work,
//! as copying to and from a socket is, and so is the application's copy out of `reader`.

use core::hint::black_box;

use super::pairs::buffered::{Pair, take_in, write};
use crate::workload::{Result, Scenario, Workload, check_received, record_count};

/// Timed: the client's `writer` and `write_tls`.
pub(crate) struct Send {
    pair: Pair,
    plaintext: Vec<u8>,
    pipe: Vec<u8>,
    writes: usize,
}

impl Send {
    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        Self {
            pair,
            plaintext: scenario.plaintext(),
            pipe: Vec::with_capacity(scenario.sealed_room()),
            writes: scenario.writes(),
        }
    }
}

impl Workload for Send {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            self.pipe.clear();
            let plaintext = black_box(&self.plaintext[..]);
            write(&mut self.pair.client, plaintext, &mut self.pipe)?;
            black_box(&self.pipe[..]);
        }
        Ok(())
    }

    fn records(&self) -> usize {
        record_count(&self.pipe) * self.writes
    }
}

/// Timed: the server's `read_tls`, `process_new_packets` and `reader`.
pub(crate) struct Receive {
    pair: Pair,
    plaintext: Vec<u8>,
    pipe: Vec<u8>,
    application: Vec<u8>,
    writes: usize,
}

impl Receive {
    /// The application reads into this many bytes, or into as many as it wrote when those are more.
    const APPLICATION_LEN: usize = 16384;

    pub(crate) fn new(pair: Pair, scenario: &Scenario) -> Self {
        let application_len = Ord::max(scenario.plaintext_size, Self::APPLICATION_LEN);
        Self {
            pair,
            plaintext: scenario.plaintext(),
            pipe: Vec::with_capacity(scenario.sealed_room() * scenario.writes()),
            application: vec![0; application_len],
            writes: scenario.writes(),
        }
    }
}

impl Workload for Receive {
    fn prepare(&mut self) -> Result<()> {
        self.pipe.clear();
        for _ in 0..self.writes {
            write(&mut self.pair.client, &self.plaintext, &mut self.pipe)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let received = take_in(&mut self.pair.server, &self.pipe, &mut self.application)?;
        check_received(received, self.plaintext.len() * self.writes)
    }

    fn records(&self) -> usize {
        record_count(&self.pipe)
    }
}
