//! What an unbuffered connection says about records that it has not opened, so that its user can leave them so.

use super::UnbufferedConnectionCommon;
use crate::conn::records::Receiving;
use crate::record::receiver::WaitingRecord;

impl<Data> UnbufferedConnectionCommon<Data> {
    /// The next record in `incoming_tls`, before anything is done with it: how long it is, and how much application
    /// data it may carry. `incoming_tls` is what the next `process_tls_records` would be given.
    ///
    /// `None` when the record is not complete, when its header is not one that can be accepted, and after the peer's
    /// close_notify or a failure: then `process_tls_records` of all the bytes tells what to do.
    ///
    /// It serves to **refuse a record**. A record is opened by nothing but `process_tls_records`, and only out of the
    /// bytes that it is given. So an application that has no room for the content, or wants it later, or at another place,
    /// keeps the record's bytes back, as they are and for as long as it likes. Meanwhile the connection is used as ever,
    /// given no bytes: it sends, replaces keys and closes. To take the record, it passes `record_len` bytes and no
    /// more, so that none behind it is opened with it. Records come in the order in which they were sent, whatever they carry:
    /// behind one that is refused, KeyUpdates and alerts wait, too.
    ///
    /// Of a record that carries no application data `max_payload` is 0: pass it on. That includes all records of the
    /// handshake and early data that is not accepted (RFC 9846 §4.3.10). Of early data that is, it is no more than is
    /// still allowed.
    ///
    /// ```
    /// use rustls::server::UnbufferedServerConnection;
    /// use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
    ///
    /// /// Takes in what was received, as long as `sink` has room for it.
    /// fn receive(
    ///     conn: &mut UnbufferedServerConnection,
    ///     incoming: &mut Vec<u8>,
    ///     sink: &mut Vec<u8>,
    ///     most: usize,
    /// ) -> Result<(), rustls::Error> {
    ///     loop {
    ///         let room = most - sink.len();
    ///         let offered = match conn.peek_record(incoming) {
    ///             // it waits in `incoming`
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
    ///             // what else there is to do is not this function's
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
