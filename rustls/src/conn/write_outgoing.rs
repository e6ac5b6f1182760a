//! Records on their way from the outgoing buffer to a writer.

use alloc::format;
use std::io::{self, IoSlice};

use crate::record::buffer::OutgoingBuffer;

/// The most records that are handed to a writer in one call, as in 0.23.
const MOST_RECORDS: usize = 64;

/// Writes records that wait in `outgoing` to `wr`, each as a slice of its own, with one call of its `write_vectored` at
/// most.
#[inline]
pub(crate) fn write_outgoing(
    outgoing: &mut OutgoingBuffer,
    wr: &mut dyn io::Write,
) -> Result<usize, io::Error> {
    let mut records = outgoing.records();
    let Some(first) = records.next() else {
        return Ok(0);
    };
    let (given, written) = if first.len() == outgoing.len() {
        // not `write`: some writers implement `write_vectored` only
        (first.len(), wr.write_vectored(&[IoSlice::new(first)])?)
    } else {
        write_records(outgoing, wr)?
    };
    outgoing.consume(written);
    if written <= given {
        Ok(written)
    } else {
        Err(impossible_write(written, given))
    }
}

/// Returns how many bytes were given to `wr`, and how many it has written.
fn write_records(
    outgoing: &OutgoingBuffer,
    wr: &mut dyn io::Write,
) -> Result<(usize, usize), io::Error> {
    let mut slices = [IoSlice::new(&[]); MOST_RECORDS];
    let (mut used, mut given) = (0, 0);
    for (slice, record) in slices.iter_mut().zip(outgoing.records()) {
        *slice = IoSlice::new(record);
        used += 1;
        given += record.len();
    }
    Ok((given, wr.write_vectored(&slices[..used])?))
}

// not a part of its caller, which is inlined
#[cold]
#[inline(never)]
fn impossible_write(written: usize, given: usize) -> io::Error {
    io::Error::other(format!(
        "illegal write_vectored return value ({written} > {given})"
    ))
}
