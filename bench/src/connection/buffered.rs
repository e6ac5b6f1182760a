//! The buffered API: `writer` and `write_tls` out, `read_tls`, `process_new_packets` and `reader` in.
//!
//! The pipe between the two sides is a `Vec<u8>`; copying into it and out of it is part of the work,
//! as copying to and from a socket is, and so is the application's copy out of `reader`; with `fill_buf`
//! there is none.

use core::hint::black_box;

use super::pairs::buffered::{Pair, look_at, take_in, write};
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
    application: Application,
    writes: usize,
}

/// How the receiving application gets at what came.
enum Application {
    /// `read` copies it there.
    Reads(Vec<u8>),
    /// `fill_buf` shows it where it lies.
    Looks,
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
            application: Application::Reads(vec![0; application_len]),
            writes: scenario.writes(),
        }
    }

    /// With an application that looks at what came where it lies.
    pub(crate) fn without_copy(pair: Pair, scenario: &Scenario) -> Self {
        Self {
            application: Application::Looks,
            ..Self::new(pair, scenario)
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
        let received = match &mut self.application {
            Application::Reads(memory) => take_in(&mut self.pair.server, &self.pipe, memory)?,
            Application::Looks => look_at(&mut self.pair.server, &self.pipe)?,
        };
        check_received(received, self.plaintext.len() * self.writes)
    }

    fn records(&self) -> usize {
        record_count(&self.pipe)
    }
}
