//! The state in which an unbuffered connection receives application data.

use core::num::NonZeroUsize;

use super::{AppDataRecord, ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;

/// Application data from one record was received.
/// [`UnbufferedStatus::discard`](super::UnbufferedStatus::discard) includes the record.
///
/// Take the data with [`Self::next_record`], or it is lost when the record is discarded. The next
/// call to [`process_tls_records`](super::UnbufferedConnectionCommon::process_tls_records) then
/// ends the connection with [`Error::General`]. After [`Self::peek_len`], the data need not be
/// taken: the next state returns it again. To leave a record unopened, call
/// [`peek_record`](super::UnbufferedConnectionCommon::peek_record) first.
pub struct ReadTraffic<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The application data in the caller's buffer; empty if only the connection's copy is left.
    payload: &'i [u8],
}

impl<'c, 'i, Data> ReadTraffic<'c, 'i, Data> {
    #[inline]
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>, payload: &'i [u8]) -> Self {
        Self { conn, payload }
    }

    /// Returns the record's application data, or `None` if it has already been taken. Later records
    /// are returned in later states.
    #[inline]
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        let payload = self.conn.pending.take(self.payload)?;
        Some(Ok(AppDataRecord::new(payload)))
    }

    /// Returns the number of bytes that [`Self::next_record`] will return, or `None` if they have
    /// already been taken.
    ///
    /// This copies the bytes, because the application may discard the record without taking them.
    /// The next state then returns the copy.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.conn.pending.copy_once(self.payload)?)
    }
}

impl<'c, 'i, Data> From<ReadTraffic<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadTraffic<'c, 'i, Data>) -> Self {
        Self::ReadTraffic(state)
    }
}
