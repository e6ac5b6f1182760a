//! Early data, as a server's application reads it.

use core::panic::RefUnwindSafe;
use std::io;

use crate::conn::common_state::CommonState;

/// Reads the early data (0-RTT data, RFC 9846 §2.3) that a client has sent.
///
/// When nothing waits, it is at its end for now (`Ok(0)`); more may come until the handshake is complete.
///
/// An attacker may repeat what a client has sent. This library accepts it once for each session that the
/// [session storage](super::ServerConfig::session_storage) hands out; what the application does with it should
/// do no harm when it is repeated.
pub struct ReadEarlyData<'a> {
    common: &'a mut CommonState,
}

/// Nothing changes through a shared reference, so a panic leaves nothing half changed.
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
