//! What an unbuffered connection does with application data that was received.

use core::num::NonZeroUsize;

use super::{ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;

/// Application data was received: that of one record, which
/// [`UnbufferedStatus::discard`](super::UnbufferedStatus::discard) counts.
///
/// Take it with [`Self::next_record`]: discarding the record without that loses the data, so the next
/// [`process_tls_records`](super::UnbufferedConnectionCommon::process_tls_records) ends the connection with
/// [`Error::General`]. Only after [`Self::peek_len`] may it be left for later: the next state has it, too. To leave a
/// record where it is, ask [`peek_record`](super::UnbufferedConnectionCommon::peek_record) before it is opened.
pub struct ReadTraffic<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The application data in the caller's buffer; empty if the connection has a copy.
    payload: &'i [u8],
}

impl<'c, 'i, Data> ReadTraffic<'c, 'i, Data> {
    #[inline]
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>, payload: &'i [u8]) -> Self {
        Self { conn, payload }
    }

    /// Returns the record's application data, where it was received; `None` when it was called before. What follows
    /// the record has states of its own.
    #[inline]
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        let payload = self.conn.shown.take(self.payload)?;
        Some(Ok(AppDataRecord::new(payload)))
    }

    /// Returns the number of bytes that [`Self::next_record`] will hand out.
    ///
    /// It copies them, as the application may go on without them: then the next state hands out the copy.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.conn.shown.keep(self.payload)?)
    }
}

impl<'c, 'i, Data> From<ReadTraffic<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadTraffic<'c, 'i, Data>) -> Self {
        Self::ReadTraffic(state)
    }
}

/// One record's application data.
#[derive(Debug)]
pub struct AppDataRecord<'i> {
    /// The number of further bytes of `incoming_tls` that have been processed.
    ///
    /// It is 0 for an unbuffered connection, whose [`UnbufferedStatus::discard`](super::UnbufferedStatus::discard) counts
    /// the record. From [`Receiver::open_in_place`](crate::split::Receiver::open_in_place) it is all that has been
    /// processed.
    pub discard: usize,

    /// The application data.
    pub payload: &'i [u8],
}

impl<'i> AppDataRecord<'i> {
    #[inline]
    pub(super) fn new(payload: &'i [u8]) -> Self {
        Self {
            discard: 0,
            payload,
        }
    }
}
