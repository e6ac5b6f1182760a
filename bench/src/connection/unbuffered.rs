//! The unbuffered API: `process_tls_records` and the states that it returns, over the caller's
//! memory.

use super::Transfers;
use super::pairs::unbuffered::{Pair, receive, send};
use crate::workload::{Result, Stretch};

impl Transfers for Pair {
    /// Timed: the client's `encrypt`.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize> {
        send(&mut *self.client, plaintext, out)
    }

    /// Timed: the server's `process_tls_records` and `next_record`, over a buffer full of records.
    fn receive(&mut self, wire: &mut [u8], _: Option<&mut Stretch>) -> Result<usize> {
        receive(&mut *self.server, wire)
    }
}
