//! What an unbuffered connection does with application data that was received.

use core::num::NonZeroUsize;

use super::{ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;

/// Application data was received.
///
/// It stays where it was received: a state that is dropped without [`Self::next_record`] comes again.
pub struct ReadTraffic<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The opened record, and what follows it.
    incoming_tls: &'i mut [u8],
    /// How many bytes of them were handed out.
    used: usize,
}

impl<'c, 'i, Data> ReadTraffic<'c, 'i, Data> {
    pub(super) fn new(
        conn: &'c mut UnbufferedConnectionCommon<Data>,
        incoming_tls: &'i mut [u8],
    ) -> Self {
        Self {
            conn,
            incoming_tls,
            used: 0,
        }
    }

    /// The next record's application data, where it was received. Records behind the first are opened as
    /// they are asked for.
    ///
    /// `None` when there is no more before the next
    /// [`UnbufferedConnectionCommon::process_tls_records`]: the rest is no complete record, something else has
    /// to be done first, or an error has ended the connection.
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        self.conn
            .next_record(self.incoming_tls, &mut self.used, |_| true)
    }

    /// How many bytes [`Self::next_record`] will hand out, if that record is open already, as the first one
    /// is.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        self.conn.opened_len()
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
    /// How many more bytes of `incoming_tls` have been processed, this record included. Add them to
    /// [`UnbufferedStatus::discard`](super::UnbufferedStatus::discard).
    pub discard: usize,

    /// The application data.
    pub payload: &'i [u8],
}
