//! Records on their way from the outgoing buffer to a writer.

use alloc::format;
use std::io::{self, IoSlice};

use smallvec::SmallVec;

use crate::record::buffer::OutgoingBuffer;

/// The most slices that a writer is given in one call, as in 0.23.
const MOST_SLICES: usize = 64;

/// Writes the records that wait in `outgoing` to `wr`, with one call of its `write_vectored` at most.
///
/// Each record is a slice of its own. If there are too many for that, the last slice has all that are left: one call
/// takes any number of small records, up to 72 KiB of them.
#[inline]
pub(crate) fn write_outgoing(
    outgoing: &mut OutgoingBuffer,
    wr: &mut dyn io::Write,
) -> Result<usize, io::Error> {
    if outgoing.is_empty() {
        return Ok(0);
    }
    let (given, written) = match outgoing.only_record() {
        // not `write`: some writers implement `write_vectored` only
        Some(record) => (record.len(), wr.write_vectored(&[IoSlice::new(record)])?),
        None => write_records(outgoing, wr)?,
    };
    outgoing.consume(written);
    if written <= given {
        Ok(written)
    } else {
        Err(impossible_write(written, given))
    }
}

/// Returns how many bytes were given to `wr`, and how many it has written.
fn write_records(outgoing: &OutgoingBuffer, wr: &mut dyn io::Write) -> io::Result<(usize, usize)> {
    // few are filled, so the others are not initialized
    let mut slices = SmallVec::<[IoSlice<'_>; MOST_SLICES]>::new();
    let mut given = 0;
    for mut records in outgoing.records_by_piece() {
        while slices.len() < MOST_SLICES - 1 {
            let Some(record) = records.next() else { break };
            given += record.len();
            slices.push(IoSlice::new(record));
        }
        let rest = records.rest();
        if !rest.is_empty() {
            given += rest.len();
            slices.push(IoSlice::new(rest));
            break;
        }
    }
    Ok((given, wr.write_vectored(&slices)?))
}

// not a part of its caller, which is inlined
#[cold]
#[inline(never)]
fn impossible_write(written: usize, given: usize) -> io::Error {
    io::Error::other(format!(
        "illegal write_vectored return value ({written} > {given})"
    ))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Takes all that it is given, and keeps the lengths of the slices.
    #[derive(Default)]
    struct Slices(Vec<Vec<usize>>);

    impl io::Write for Slices {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            unreachable!()
        }

        fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            let lengths: Vec<usize> = bufs.iter().map(|buf| buf.len()).collect();
            let written = lengths.iter().sum();
            self.0.push(lengths);
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_call_takes_all_records() {
        const RECORD: &[u8] = b"\x17\x03\x03\x00\x02hi";
        for (count, slices) in [(1, 1), (2, 2), (64, 64), (65, 64), (1000, 64)] {
            let mut outgoing = OutgoingBuffer::default();
            for _ in 0..count {
                outgoing.append(RECORD);
            }
            let mut writer = Slices::default();
            let written = write_outgoing(&mut outgoing, &mut writer).unwrap();
            assert_eq!(written, count * RECORD.len());
            let [lengths] = &writer.0[..] else {
                panic!("{} calls", writer.0.len());
            };
            assert_eq!(lengths.len(), slices);
            assert!(lengths[..slices - 1].iter().all(|len| *len == RECORD.len()));
        }
    }
}
