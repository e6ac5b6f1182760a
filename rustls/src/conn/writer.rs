//! Plaintext to be sent, as the application writes it.

use core::fmt;
use std::io;

use super::common_state::CommonState;
use crate::crypto::cipher::OutboundChunks;

/// Encrypts what is written to it into the connection's outgoing buffer, from which `write_tls`
/// sends.
///
/// Before the handshake is complete, what is written waits and is sent then. When the buffer limit is
/// reached, less is accepted than was given, down to nothing (`Ok(0)`).
///
/// After a close_notify nothing is accepted: [`io::ErrorKind::BrokenPipe`]. (rustls 0.23 takes such data
/// and never sends it.) After a failure the error is that of the connection, as
/// [`io::ErrorKind::InvalidData`].
pub struct Writer<'a> {
    common: &'a mut CommonState,
}

impl<'a> Writer<'a> {
    pub(super) fn new(common: &'a mut CommonState) -> Self {
        Self { common }
    }
}

impl io::Write for Writer<'_> {
    /// Accepts up to the buffer limit.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.common.write_plaintext(OutboundChunks::Single(buf))
    }

    /// Accepts up to the buffer limit. The pieces are cut into records as one, not each by itself.
    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        // an `IoSlice` has to be converted to `&[u8]`; for a few, that needs no allocation
        const FEW: usize = 64;
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        let many;
        let chunks: &[&[u8]] = match few.get_mut(..bufs.len()) {
            Some(few) => {
                for (chunk, buf) in few.iter_mut().zip(bufs) {
                    *chunk = buf;
                }
                few
            }
            None => {
                many = bufs
                    .iter()
                    .map(|buf| &**buf)
                    .collect::<alloc::vec::Vec<_>>();
                &many
            }
        };
        self.common.write_plaintext(OutboundChunks::new(chunks))
    }

    /// Does nothing: `write_tls` sends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
