//! What is measured: a piece of work that can be repeated, and the parameters that all
//! implementations of it share.

use harness::configs::Identities;
pub(crate) use harness::pairs::{Result, check_received};

use crate::cli::Provider;
use crate::suites::Suite;

/// Which half of a connection is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the application's bytes to records.
    Send,
    /// From records to the application.
    Receive,
}

impl Direction {
    pub(crate) const ALL: [Self; 2] = [Self::Send, Self::Receive];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// The parameters that all implementations in a comparison share.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) provider: Provider,
    pub(crate) suite: Suite,
    pub(crate) identities: &'static Identities,
    pub(crate) max_fragment_size: Option<usize>,
    /// Bytes that the application hands over at a time.
    pub(crate) plaintext_size: usize,
}

impl Scenario {
    /// About how many bytes of plaintext a batch has: enough that reading the clock costs nothing, few enough
    /// that the batch's records stay in the processor's second-level cache.
    const BATCH_LEN: usize = 256 * 1024;

    /// The most writes in a batch.
    const BATCH_WRITES: usize = 4096;

    /// How many times the application hands over [`Self::plaintext_size`] bytes in one batch.
    pub(crate) fn writes(&self) -> usize {
        (Self::BATCH_LEN / self.plaintext_size).clamp(1, Self::BATCH_WRITES)
    }

    /// Bytes of plaintext in one batch.
    pub(crate) fn batch_len(&self) -> usize {
        self.writes() * self.plaintext_size
    }

    /// What the application hands over at a time.
    pub(crate) fn plaintext(&self) -> Vec<u8> {
        (0..self.plaintext_size).map(|i| i as u8).collect()
    }

    /// The most plaintext bytes of a record: `max_fragment_size` counts the record header too.
    pub(crate) fn max_record_payload(&self) -> usize {
        self.max_fragment_size
            .map_or(MAX_RECORD_PAYLOAD, |size| size - RECORD_HEADER_LEN)
    }

    /// Room for the records of one write, with 64 bytes to spare for each record and for one message in
    /// between.
    pub(crate) fn sealed_room(&self) -> usize {
        let records = self.plaintext_size.div_ceil(self.max_record_payload()) + 1;
        self.plaintext_size + 64 * records + 1024
    }
}

/// RFC 9846 §5.1: 2^14 bytes.
const MAX_RECORD_PAYLOAD: usize = 1 << 14;

/// RFC 9846 §5.1: type, legacy version, length.
pub(crate) const RECORD_HEADER_LEN: usize = 5;

/// Work that can be repeated in batches, each of [`Scenario::batch_len`] bytes of plaintext.
pub(crate) trait Workload {
    /// Makes what [`Self::run`] consumes. Not timed.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// One batch. Timed.
    fn run(&mut self) -> Result<()>;

    /// How many records the last batch had.
    fn records(&self) -> usize;
}

/// How many records `wire` consists of.
pub(crate) fn record_count(mut wire: &[u8]) -> usize {
    let mut records = 0;
    while let [_, _, _, high, low, rest @ ..] = wire {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        wire = rest.get(len..).unwrap_or(&[]);
        records += 1;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_by_their_headers() {
        assert_eq!(record_count(&[]), 0);
        assert_eq!(record_count(&[23, 3, 3, 0, 2, 9, 9]), 1);
        assert_eq!(record_count(&[23, 3, 3, 0, 0, 23, 3, 3, 0, 1, 9]), 2);
    }
}
