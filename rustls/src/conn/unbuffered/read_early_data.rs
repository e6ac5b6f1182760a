//! What an unbuffered server does with a client's early data.

use core::num::NonZeroUsize;

use super::{AppDataRecord, ConnectionState, UnbufferedConnectionCommon};
use crate::error::Error;
use crate::server::ServerConnectionData;

/// Early data was received (0-RTT data, RFC 9846 §2.3): before the handshake is complete, and perhaps not for
/// the first time, as an attacker may repeat what a client has sent.
///
/// It is that of one record, and to be taken as from [`ReadTraffic`](super::ReadTraffic).
pub struct ReadEarlyData<'c, 'i, Data> {
    conn: &'c mut UnbufferedConnectionCommon<Data>,
    /// The early data in the caller's buffer; empty if the connection has a copy.
    payload: &'i [u8],
}

impl<'c, 'i, Data> ReadEarlyData<'c, 'i, Data> {
    pub(super) fn new(conn: &'c mut UnbufferedConnectionCommon<Data>, payload: &'i [u8]) -> Self {
        Self { conn, payload }
    }
}

impl ReadEarlyData<'_, '_, ServerConnectionData> {
    /// Returns the record's early data, where it was received; `None` when it was called before.
    pub fn next_record(&mut self) -> Option<Result<AppDataRecord<'_>, Error>> {
        let payload = self.conn.shown.take(self.payload)?;
        Some(Ok(AppDataRecord::new(payload)))
    }

    /// Returns the number of bytes that [`Self::next_record`] will hand out, and copies them as
    /// [`ReadTraffic::peek_len`](super::ReadTraffic::peek_len) does.
    pub fn peek_len(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.conn.shown.keep(self.payload)?)
    }
}

impl<'c, 'i, Data> From<ReadEarlyData<'c, 'i, Data>> for ConnectionState<'c, 'i, Data> {
    fn from(state: ReadEarlyData<'c, 'i, Data>) -> Self {
        Self::ReadEarlyData(state)
    }
}
