//! The state in which an unbuffered server receives early data.

use core::num::NonZeroUsize;

use super::{AppDataRecord, ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;
use crate::handshake::server::connection_data::ServerConnectionData;

/// Early data was received (0-RTT, RFC 9846 §2.3). The handshake is not complete yet, and the data
/// may be a replay by an attacker.
///
/// The state holds the data from one record. Take it as from [`ReadTraffic`](super::ReadTraffic).
pub struct ReadEarlyData<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The early data in the caller's buffer; empty if only the connection's copy is left.
    payload: &'i [u8],
}

impl<'c, 'i, Data> ReadEarlyData<'c, 'i, Data> {
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>, payload: &'i [u8]) -> Self {
        Self { conn, payload }
    }
}

impl ReadEarlyData<'_, '_, ServerConnectionData> {
    /// Returns the record's early data, or `None` if it has already been taken.
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        let payload = self.conn.pending.take(self.payload)?;
        Some(Ok(AppDataRecord::new(payload)))
    }

    /// Returns the number of bytes that [`Self::next_record`] will return, and copies them like
    /// [`ReadTraffic::peek_len`](super::ReadTraffic::peek_len).
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.conn.pending.copy_once(self.payload)?)
    }
}

impl<'c, 'i, Data> From<ReadEarlyData<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadEarlyData<'c, 'i, Data>) -> Self {
        Self::ReadEarlyData(state)
    }
}
