//! The application data of one record.

use core::ops::Range;

/// The application data of one record, usually in the buffer where it was decrypted.
#[derive(Debug)]
pub struct AppDataRecord<'i> {
    /// The number of further bytes of `incoming_tls` that have been processed.
    ///
    /// For an unbuffered connection it is 0, because
    /// [`UnbufferedStatus::discard`](crate::unbuffered::UnbufferedStatus::discard) includes the
    /// record. In a record returned by
    /// [`Receiver::open_in_place`](crate::split::Receiver::open_in_place), it counts all processed
    /// bytes.
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

    /// Returns the range of the payload within the bytes that were received. `incoming_tls` is
    /// their [`as_ptr_range`](slice::as_ptr_range), from before the call that opened the record.
    /// Returns `None` if the payload is not within those bytes, for example because it is in a copy
    /// that the connection made. For an empty payload, returns `None` or an empty range.
    ///
    /// With the range, the caller can drop this borrow and change the payload in place, for example
    /// to encrypt it for another connection.
    ///
    /// ```
    /// # use std::ops::Range;
    /// # use rustls::client::ClientConnectionData;
    /// # use rustls::split::Receiver;
    /// /// Opens the next record in `buf`, and returns its payload's place.
    /// fn open(
    ///     receiver: &mut Receiver<ClientConnectionData>,
    ///     buf: &mut [u8],
    /// ) -> Result<Option<Range<usize>>, rustls::Error> {
    ///     let incoming_tls = buf.as_ptr_range();
    ///     let record = receiver.open_in_place(buf)?;
    ///     Ok(record.payload_range(incoming_tls))
    /// }
    /// ```
    pub fn payload_range(&self, incoming_tls: Range<*const u8>) -> Option<Range<usize>> {
        let payload = self.payload.as_ptr_range();
        if payload.start < incoming_tls.start || payload.end > incoming_tls.end {
            return None;
        }
        let start = payload.start.addr() - incoming_tls.start.addr();
        Some(start..start + self.payload.len())
    }
}
