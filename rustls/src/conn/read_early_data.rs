//! The reader for a client's early data.

use core::panic::RefUnwindSafe;
use std::io;

use crate::conn::common_state::CommonState;

/// Reads the early data (0-RTT data, RFC 9846 §2.3) that a client sent.
///
/// Returns `Ok(0)` while no data is buffered; more may arrive until the handshake is complete.
///
/// An attacker may replay early data. This library accepts it at most once for each session that
/// the [session storage](crate::ServerConfig::session_storage) returns. Use it only for requests
/// that are safe to repeat.
pub struct ReadEarlyData<'a> {
    common: &'a mut CommonState,
}

/// Nothing can be changed through a shared reference, so a panic cannot leave an inconsistent
/// state.
impl RefUnwindSafe for ReadEarlyData<'_> {}

impl<'a> ReadEarlyData<'a> {
    pub(crate) fn new(common: &'a mut CommonState) -> Self {
        Self { common }
    }
}

impl io::Read for ReadEarlyData<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.common.records.read_early_data(buf))
    }
}
