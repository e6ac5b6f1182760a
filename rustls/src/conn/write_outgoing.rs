//! Writes records from the outgoing buffer to a writer.

use alloc::format;
use std::io::{self, IoSlice};

use smallvec::SmallVec;

use crate::record::buffer::OutgoingBuffer;
use crate::record::outgoing_records::OutgoingRecords;

/// The maximum number of records per call to the writer. Programs may depend on this value, as
/// rustls 0.23's tests do.
const MOST_RECORDS: usize = 64;

/// Writes queued records with at most one call to `wr.write_vectored`.
///
/// Each record is a separate slice. If more than 64 are queued, the rest is left for the next call.
#[inline]
pub(crate) fn write_outgoing(
    outgoing: &mut OutgoingBuffer,
    wr: &mut dyn io::Write,
) -> Result<usize, io::Error> {
    if outgoing.is_empty() {
        return Ok(0);
    }
    let (given, written) = match outgoing.only_record() {
        // some writers implement only `write_vectored`, so `write` is not used
        Some(record) => (record.len(), wr.write_vectored(&[IoSlice::new(record)])?),
        None => write_records(outgoing, wr)?,
    };
    if written <= given {
        outgoing.consume(written);
        Ok(written)
    } else {
        outgoing.consume(given);
        Err(impossible_write(written, given))
    }
}

/// Calls `write_tls` until nothing is queued.
///
/// # Errors
///
/// Returns the errors of `write_tls`, and [`io::ErrorKind::WriteZero`] if it writes nothing.
pub(super) fn write_all<C>(
    conn: &mut C,
    wants_write: impl Fn(&C) -> bool,
    mut write_tls: impl FnMut(&mut C) -> io::Result<usize>,
) -> io::Result<()> {
    while wants_write(conn) {
        // the other half of a split connection may have ended the output
        if write_tls(conn)? == 0 && wants_write(conn) {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

/// Returns the number of bytes passed to `wr`, and the number that it wrote.
fn write_records<'a>(
    outgoing: &'a OutgoingBuffer,
    wr: &mut dyn io::Write,
) -> io::Result<(usize, usize)> {
    // a `SmallVec` leaves unused slices uninitialized; few are used
    let mut slices = SmallVec::<[IoSlice<'a>; MOST_RECORDS]>::new();
    let mut given = 0;
    let mut add = |records: OutgoingRecords<'a>| {
        for record in records.take(MOST_RECORDS - slices.len()) {
            given += record.len();
            slices.push(IoSlice::new(record));
        }
    };
    add(outgoing.records());
    // most output is in one piece
    if outgoing.pending().len() < outgoing.len() {
        outgoing.records_behind().for_each(add);
    }
    Ok((given, wr.write_vectored(&slices)?))
}

/// Writes `record`, which was encrypted elsewhere, with one call to `wr.write_vectored`, and queues
/// a copy of the bytes that `wr` does not accept. Nothing else may be queued.
///
/// # Errors
///
/// Returns the errors of `wr`, except [`io::ErrorKind::WouldBlock`] and
/// [`io::ErrorKind::Interrupted`]. The record is queued even after an error of `wr`. Returns
/// [`io::ErrorKind::Other`] if `wr` returns more than the length of the record, which then counts
/// as written.
pub(super) fn write_or_queue(
    outgoing: &mut OutgoingBuffer,
    record: &[u8],
    wr: &mut dyn io::Write,
) -> io::Result<()> {
    if record.is_empty() {
        return Ok(());
    }
    let (written, result) = match wr.write_vectored(&[IoSlice::new(record)]) {
        Ok(written) if written > record.len() => {
            return Err(impossible_write(written, record.len()));
        }
        Ok(written) => (written, Ok(())),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => (0, Ok(())),
            _ => (0, Err(error)),
        },
    };
    if written != record.len() {
        outgoing.append_rest(&record[written..]);
    }
    result
}

// a separate function, because its caller is inlined
#[cold]
#[inline(never)]
pub(super) fn impossible_write(written: usize, given: usize) -> io::Error {
    io::Error::other(format!(
        "illegal write_vectored return value ({written} > {given})"
    ))
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// A writer that accepts all input, and stores the lengths of the slices.
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
    fn one_call_writes_64_records() {
        const RECORD: &[u8] = b"\x17\x03\x03\x00\x02hi";
        // 20,000 records need several pieces of memory
        for count in [1, 2, 64, 65, 128, 1000, 20_000] {
            let mut outgoing = OutgoingBuffer::default();
            for _ in 0..count {
                outgoing.append(RECORD);
            }
            let mut writer = Slices::default();
            let mut left = count;
            while left > 0 {
                let taken = left.min(MOST_RECORDS);
                let written = write_outgoing(&mut outgoing, &mut writer).unwrap();
                assert_eq!(written, taken * RECORD.len());
                assert_eq!(writer.0.pop().unwrap(), vec![RECORD.len(); taken]);
                left -= taken;
            }
            assert!(outgoing.is_empty() && writer.0.is_empty());
        }
    }

    /// A writer that claims to have written ten times as much as it was given.
    struct Boastful;

    impl io::Write for Boastful {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            unreachable!()
        }

        fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
            Ok(bufs.iter().map(|buf| buf.len()).sum::<usize>() * 10)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_that_a_writer_was_not_given_stay_queued() {
        const RECORD: &[u8] = b"\x17\x03\x03\x00\x02hi";
        for count in [1, 64, 65, 128, 1000, 20_000] {
            let mut outgoing = OutgoingBuffer::default();
            for _ in 0..count {
                outgoing.append(RECORD);
            }
            write_outgoing(&mut outgoing, &mut Boastful).unwrap_err();
            let left = count - count.min(MOST_RECORDS);
            assert_eq!(outgoing.len(), left * RECORD.len());
        }
    }
}
