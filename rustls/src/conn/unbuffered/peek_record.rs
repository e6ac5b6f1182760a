//! Information about received records before they are opened, for applications that defer them.

use super::UnbufferedConnectionCommon;
use crate::conn::records::Receiving;
use crate::record::receiver::WaitingRecord;

impl<Data> UnbufferedConnectionCommon<Data> {
    /// Returns the size of the next record in `incoming_tls`, and an upper bound of its application
    /// data, without opening it. Pass the same bytes that you will pass to the next
    /// `process_tls_records`.
    ///
    /// Returns `None` if the record is incomplete, if its header is invalid, and after the peer's
    /// close_notify or a failure. In these cases, pass all bytes to `process_tls_records`.
    ///
    /// Use it to **defer a record** if the application does not have room for its content yet. Only
    /// `process_tls_records` opens records, and only those in the bytes that it is given. So keep
    /// the record's bytes unchanged for as long as needed. In the meantime, the connection remains
    /// usable without input: it can send, replace keys and close. To open the record, pass exactly
    /// `record_len` bytes, so that no later record is opened with it. Records are processed in
    /// order: KeyUpdates and alerts after a deferred record wait too.
    ///
    /// Process records with `max_payload` 0 immediately, because they carry no application data.
    /// These include records of the handshake, and early data that is not accepted (RFC 9846
    /// §4.3.10). For accepted early data, `max_payload` is at most the number of bytes still
    /// allowed.
    ///
    /// ```
    /// use rustls::server::UnbufferedServerConnection;
    /// use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
    ///
    /// /// Receives data while `sink` has room for it.
    /// fn receive(
    ///     conn: &mut UnbufferedServerConnection,
    ///     incoming: &mut Vec<u8>,
    ///     sink: &mut Vec<u8>,
    ///     most: usize,
    /// ) -> Result<(), rustls::Error> {
    ///     loop {
    ///         let room = most - sink.len();
    ///         let offered = match conn.peek_record(incoming) {
    ///             // leave the record in `incoming`
    ///             Some(record) if record.max_payload > room => return Ok(()),
    ///             Some(record) => &mut incoming[..record.record_len],
    ///             None => &mut incoming[..],
    ///         };
    ///         let UnbufferedStatus { discard, state } = conn.process_tls_records(offered);
    ///         match state? {
    ///             ConnectionState::ReadTraffic(mut traffic) => {
    ///                 if let Some(record) = traffic.next_record() {
    ///                     sink.extend_from_slice(record?.payload);
    ///                 }
    ///             }
    ///             // leave other states to the caller
    ///             _ if discard == 0 => return Ok(()),
    ///             _ => {}
    ///         }
    ///         incoming.drain(..discard);
    ///     }
    /// }
    /// ```
    pub fn peek_record(&self, incoming_tls: &[u8]) -> Option<WaitingRecord> {
        let records = &self.driver.common.records;
        let most = match records.receiving {
            Receiving::Handshake => 0,
            Receiving::EarlyData { left } => usize::try_from(left).unwrap_or(usize::MAX),
            Receiving::Traffic => usize::MAX,
            // RFC 9846 §6.1: data received after a closure alert is ignored
            Receiving::Closed => return None,
        };
        let record = records.receiver.peek(incoming_tls)?;
        Some(WaitingRecord {
            record_len: record.record_len,
            max_payload: Ord::min(record.max_payload, most),
        })
    }
}
