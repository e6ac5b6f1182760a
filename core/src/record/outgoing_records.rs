//! Finds the records in unsent output by their headers.

use super::HEADER_LEN;

/// The records in one piece of an [`OutgoingBuffer`](super::buffer::OutgoingBuffer), first to last.
/// All records are complete, except that the first may be partly sent.
#[derive(Clone, Debug)]
pub struct OutgoingRecords<'a> {
    rest: &'a [u8],
    /// The length in bytes of the rest of a partly sent record.
    cut: usize,
}

impl<'a> OutgoingRecords<'a> {
    #[inline]
    pub(super) fn new(pending: &'a [u8], cut: usize) -> Self {
        Self { rest: pending, cut }
    }

    /// Returns the length in bytes of the next record, or of the rest of it. Not all of these bytes
    /// need to be present.
    #[inline]
    pub(super) fn next_len(&self) -> usize {
        match (self.cut, self.rest) {
            (0, [_, _, _, high, low, ..]) => {
                HEADER_LEN + usize::from(u16::from_be_bytes([*high, *low]))
            }
            (0, _) => self.rest.len(),
            (cut, _) => cut,
        }
    }

    /// Returns the number of unsent bytes in the record in which sending stops after `len` bytes,
    /// or 0 if it stops between two records.
    #[cold]
    pub(super) fn cut_after(self, len: usize) -> usize {
        let mut end = 0;
        for record in self {
            end += record.len();
            if end >= len {
                return end - len;
            }
        }
        0
    }
}

impl<'a> Iterator for OutgoingRecords<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let len = self.next_len();
        self.cut = 0;
        let (record, rest) = self.rest.split_at(Ord::min(len, self.rest.len()));
        self.rest = rest;
        (!record.is_empty()).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::buffer::OutgoingBuffer;

    const RECORDS: [&[u8]; 3] = [
        b"\x16\x03\x03\x00\x02hi",
        b"\x17\x03\x03\x00\x00",
        b"\x15\x03\x03\x00\x03abc",
    ];

    #[test]
    fn records_are_found_after_any_part_of_the_first() {
        let all = RECORDS.concat();
        for sent in 0..=all.len() {
            for twice in [false, true] {
                let mut buffer = OutgoingBuffer::default();
                buffer.append(&all);
                if twice {
                    buffer.consume(sent / 2);
                    buffer.consume(sent - sent / 2);
                } else {
                    buffer.consume(sent);
                }
                let mut expected = Vec::new();
                let mut start = 0;
                for record in RECORDS {
                    let end = start + record.len();
                    if end > sent {
                        expected.push(&all[start.max(sent)..end]);
                    }
                    start = end;
                }
                let found: Vec<_> = buffer.records().collect();
                assert_eq!(found, expected, "{sent} bytes were sent");
            }
        }
    }

    #[test]
    fn an_emptied_buffer_starts_with_a_whole_record() {
        let mut buffer = OutgoingBuffer::default();
        buffer.append(RECORDS[0]);
        buffer.consume(3);
        buffer.consume(4);
        buffer.append(RECORDS[2]);
        assert!(buffer.records().eq([RECORDS[2]]));
    }
}
