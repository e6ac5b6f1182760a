//! What an unbuffered server does with a client's early data.

use core::num::NonZeroUsize;

use super::{AppDataRecord, ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;
use crate::server::ServerConnectionData;

/// Early data was received (0-RTT data, RFC 9846 §2.3): before the handshake is complete, and perhaps not for
/// the first time, as an attacker may repeat what a client has sent.
///
/// It stays where it was received: a state that is dropped without [`Self::next_record`] comes again.
pub struct ReadEarlyData<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The opened record, and what follows it.
    incoming_tls: &'i mut [u8],
    /// How many bytes of them were handed out.
    used: usize,
}

impl<'c, 'i, Data> ReadEarlyData<'c, 'i, Data> {
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
}

impl ReadEarlyData<'_, '_, ServerConnectionData> {
    /// The next record's early data, where it was received. Records behind the first are opened as they are
    /// asked for.
    ///
    /// `None` when there is no more before the next
    /// [`UnbufferedConnectionCommon::process_tls_records`]: the rest is no complete record, early data has
    /// ended, something else has to be done first, or an error has ended the connection.
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        self.conn
            .next_record(self.incoming_tls, &mut self.used, |conn| {
                conn.receives_early_data()
            })
    }

    /// How many bytes [`Self::next_record`] will hand out, if that record is open already, as the first one
    /// is.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        self.conn.opened_len()
    }
}

impl<'c, 'i, Data> From<ReadEarlyData<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadEarlyData<'c, 'i, Data>) -> Self {
        Self::ReadEarlyData(state)
    }
}
