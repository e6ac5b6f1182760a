//! The application data of one record, in the caller's buffer.

/// The application data of one record, where it was decrypted.
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
}
