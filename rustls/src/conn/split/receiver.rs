//! The receiving half of a split connection.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
#[cfg(feature = "std")]
use std::io;

use super::{Facts, wants_sender};
use crate::config::ech::EchStatus;
use crate::conn::app_data_record::AppDataRecord;
use crate::conn::driver::Driver;
#[cfg(feature = "std")]
use crate::conn::read_early_data::ReadEarlyData;
#[cfg(feature = "std")]
use crate::conn::reader::Reader;
use crate::conn::records::Receiving;
use crate::conn::unwinding::fail_on_panic;
use crate::error::Error;
use crate::failure::Failure;
use crate::handshake::Link;
use crate::handshake::client::connection_data::ClientConnectionData;
#[cfg(feature = "std")]
use crate::handshake::server::connection_data::{EarlyDataDecision, ServerConnectionData};

/// The half of a connection that receives.
///
/// The connection's `into_split` creates it;
/// [`ClientConnection::into_split`](crate::ClientConnection::into_split) has an example. There are
/// two ways to receive:
///
/// - [`read_tls`](Self::read_tls) reads from the socket into the connection's own buffer.
///   [`process_new_packets`](Self::process_new_packets) opens the records, and
///   [`reader`](Self::reader) returns the data.
/// - [`open_in_place`](Self::open_in_place) opens records in the caller's buffer.
///
/// After either, check [`sender_wants_write`](Self::sender_wants_write). It is true if the sending
/// half now has something to send: a KeyUpdate that the peer requested, the alert for an error, or
/// in TLS 1.2 a no_renegotiation warning. If the thread of that half is idle, wake it.
///
/// Dropping the receiver does not affect the sender, but messages from the peer, including alerts,
/// are then no longer processed.
pub struct Receiver<Data> {
    driver: Driver<Data>,
    link: Arc<Link>,
    facts: Arc<Facts>,
}

impl<Data> Receiver<Data> {
    pub(super) fn new(driver: Driver<Data>, link: Arc<Link>, facts: Arc<Facts>) -> Self {
        Self {
            driver,
            link,
            facts,
        }
    }

    /// True if the sending half has something to send because of received data or an error. If so,
    /// call [`Sender::write_tls`](super::Sender::write_tls) while
    /// [`Sender::wants_write`](super::Sender::wants_write) is true.
    ///
    /// It becomes false again after the next sending call on the sending half, whose `wants_write`
    /// then reports pending output. It is also false if that half is closed or dropped, and after
    /// an error without an alert for the peer, such as an alert from the peer.
    pub fn sender_wants_write(&self) -> bool {
        wants_sender(&self.link)
    }

    /// True if the peer has sent a close_notify: no more plaintext will arrive.
    pub fn peer_has_closed(&self) -> bool {
        self.driver.common.records.receiving == Receiving::Closed
    }

    /// Opens the first record with application data in `incoming_tls`, in place, and processes the
    /// records before it. `incoming_tls` contains bytes received from the peer. Remove the bytes to
    /// [`discard`](AppDataRecord::discard) from its front before the next call.
    ///
    /// The payload is empty if no application data is left: the rest is an incomplete record, or
    /// the peer [has closed](Self::peer_has_closed). Receive more bytes, append them to the
    /// remaining ones, and call this again.
    ///
    /// ```
    /// # use rustls::client::ClientConnectionData;
    /// # use rustls::split::Receiver;
    /// /// Passes all data in `buffer[..*filled]` to `consume`, and moves the rest to the front.
    /// fn drain(
    ///     receiver: &mut Receiver<ClientConnectionData>,
    ///     buffer: &mut [u8],
    ///     filled: &mut usize,
    ///     mut consume: impl FnMut(&[u8]),
    /// ) -> Result<(), rustls::Error> {
    ///     let mut done = 0;
    ///     loop {
    ///         let record = receiver.open_in_place(&mut buffer[done..*filled])?;
    ///         done += record.discard;
    ///         if record.payload.is_empty() {
    ///             break;
    ///         }
    ///         consume(record.payload);
    ///     }
    ///     buffer.copy_within(done..*filled, 0);
    ///     *filled -= done;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection, and each later call returns the same error. The sending
    /// half sends the alert. The exception is [`Error::General`] because data from
    /// [`read_tls`](Self::read_tls) is unread: the connection then continues.
    pub fn open_in_place<'i>(
        &mut self,
        incoming_tls: &'i mut [u8],
    ) -> Result<AppDataRecord<'i>, Error> {
        let received = &self.driver.common.records.received;
        if received.unread() != 0 || !received.all_opened() {
            return Err(Error::General(
                "data that read_tls received must be processed and read first".into(),
            ));
        }
        self.after_failures(move |driver| {
            let mut discard = 0;
            driver.check_failed()?;
            while driver.common.records.receiving != Receiving::Closed {
                match driver.process_record(&mut incoming_tls[discard..])? {
                    Some(record) if record.plaintext.is_empty() => discard += record.record_len,
                    Some(record) => {
                        return Ok(AppDataRecord {
                            discard: discard + record.record_len,
                            payload: &incoming_tls[discard..][record.plaintext],
                        });
                    }
                    None => {
                        return Ok(AppDataRecord {
                            discard,
                            payload: &[],
                        });
                    }
                }
            }
            // RFC 9846 §6.1: data received after a closure alert is ignored
            Ok(AppDataRecord {
                discard: incoming_tls.len(),
                payload: &[],
            })
        })
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in
    /// `output`.
    ///
    /// # Errors
    ///
    /// Returns the errors of
    /// [`export_keying_material`](crate::ConnectionCommon::export_keying_material) of a connection
    /// that is not split, even if only the other half has failed.
    pub fn export_keying_material<T: AsMut<[u8]>>(
        &self,
        output: T,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Result<T, Error> {
        let common = &self.driver.common;
        if !common.has_failed() {
            if let Some(failure) = self.link.failure() {
                return Err(failure.error.clone());
            }
        }
        common.export_keying_material(output, label, context)
    }

    /// Ends this half if the other half has failed, and then runs `operation`. A panic in either
    /// step fails the connection.
    #[inline(always)]
    fn after_failures<R>(&mut self, operation: impl FnOnce(&mut Driver<Data>) -> R) -> R {
        let link = &self.link;
        fail_on_panic(&mut self.driver, |driver| {
            if link.has_failed() {
                driver.adopt_failure(link);
            }
            operation(driver)
        })
    }
}

impl<Data> Driver<Data> {
    /// Ends this half for the same reason as the other, which sends the alert.
    #[cold]
    fn adopt_failure(&mut self, link: &Link) {
        if !self.common.has_failed() {
            if let Some(failure) = link.failure() {
                self.adopt(Failure {
                    error: failure.error.clone(),
                    alert: None,
                });
            }
        }
    }
}

#[cfg(feature = "std")]
impl<Data> Receiver<Data> {
    /// True if [`Self::read_tls`] should be called as soon as possible. False if plaintext is
    /// unread, and after the peer's close_notify.
    pub fn wants_read(&self) -> bool {
        self.driver.common.wants_read()
    }

    /// Reads TLS bytes into the connection's receive buffer, with at most one call to `rd.read`.
    ///
    /// Returns the number of bytes read: 0 at the end of the stream, and also, without a call to
    /// `rd`, after the peer's close_notify. Call [`Self::process_new_packets`] next.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ConnectionCommon::read_tls`](crate::ConnectionCommon::read_tls).
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        self.read_tls_for(rd, 0)
    }

    /// Reads TLS bytes like [`Self::read_tls`], for a caller that has a buffer of `len` bytes for
    /// [`Self::process_new_packets_into`]. See
    /// [`read_tls_for`](crate::ConnectionCommon::read_tls_for) of a connection that is not split.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::read_tls`].
    pub fn read_tls_for(&mut self, rd: &mut dyn io::Read, len: usize) -> Result<usize, io::Error> {
        self.driver.common.records.read_tls_for(rd, len)
    }

    /// Processes the complete records that [`Self::read_tls`] read: decrypts application data for
    /// [`Self::reader`], and handles all other messages.
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection, even one from the sending half. That half sends the alert
    /// ([`Self::sender_wants_write`]). Plaintext received earlier can still be read, and each later
    /// call returns the same error.
    pub fn process_new_packets(&mut self) -> Result<ReceiverState, Error> {
        self.after_failures(Driver::process_received)?;
        Ok(self.state())
    }

    /// Processes received bytes like [`Self::process_new_packets`], and then reads plaintext into
    /// `buf`, opening records there directly if possible. See
    /// [`process_new_packets_into`](crate::ConnectionCommon::process_new_packets_into) for a
    /// connection that is not split.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::process_new_packets`]. All plaintext can then still be read
    /// from [`Self::reader`].
    pub fn process_new_packets_into(
        &mut self,
        buf: &mut [u8],
    ) -> Result<(usize, ReceiverState), Error> {
        let len = self.after_failures(|driver| driver.process_received_into(buf))?;
        Ok((len, self.state()))
    }

    /// Returns the number of bytes that have been read and not processed. See
    /// [`unprocessed_len`](crate::ConnectionCommon::unprocessed_len) of a connection that is not
    /// split.
    pub fn unprocessed_len(&self) -> usize {
        self.driver.common.unprocessed_len()
    }

    fn state(&self) -> ReceiverState {
        ReceiverState {
            plaintext_bytes_to_read: self.driver.common.records.received.unread(),
            peer_has_closed: self.peer_has_closed(),
            sender_wants_write: self.sender_wants_write(),
        }
    }

    /// Returns a reader for received plaintext.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader::new(&mut self.driver.common)
    }
}

impl Receiver<ClientConnectionData> {
    /// Returns the number of TLS 1.3 session tickets received from the server.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.driver.data.tickets_received
    }

    /// Returns the state of Encrypted ClientHello; see
    /// [`ech_status`](crate::client::UnbufferedClientConnection::ech_status) for a connection that
    /// is not split.
    pub fn ech_status(&self) -> EchStatus {
        self.driver.common.negotiated.facts.ech_status()
    }

    /// True if the server has accepted early data.
    pub fn is_early_data_accepted(&self) -> bool {
        self.driver.common.negotiated.facts.is_early_data_accepted()
    }
}

#[cfg(feature = "std")]
impl Receiver<ServerConnectionData> {
    /// Returns the server name that the client requested (SNI, RFC 6066 §3), or `None` if it sent
    /// no host name.
    pub fn server_name(&self) -> Option<&str> {
        self.driver.data.server_name()
    }

    /// See [`received_resumption_data`](crate::ServerConnection::received_resumption_data).
    pub fn received_resumption_data(&self) -> Option<&[u8]> {
        self.driver.data.received_resumption_data()
    }

    /// Returns a reader for the client's unread early data, if early data was accepted.
    pub fn early_data(&mut self) -> Option<ReadEarlyData<'_>> {
        match self.driver.data.early_data {
            EarlyDataDecision::Accepted => Some(ReadEarlyData::new(&mut self.driver.common)),
            EarlyDataDecision::Undecided | EarlyDataDecision::Rejected => None,
        }
    }
}

impl<Data> Deref for Receiver<Data> {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl<Data> fmt::Debug for Receiver<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("facts", &self.facts)
            .field("receiving", &self.driver.common.records.receiving)
            .finish_non_exhaustive()
    }
}

/// The state of both halves after [`Receiver::process_new_packets`].
#[derive(Debug, Eq, PartialEq)]
pub struct ReceiverState {
    plaintext_bytes_to_read: usize,
    peer_has_closed: bool,
    sender_wants_write: bool,
}

impl ReceiverState {
    /// Returns the number of plaintext bytes that can be read.
    pub fn plaintext_bytes_to_read(&self) -> usize {
        self.plaintext_bytes_to_read
    }

    /// True if the peer has sent a close_notify: no more plaintext will arrive.
    pub fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    /// True if the sending half has something to send because of received data or an error; see
    /// [`Receiver::sender_wants_write`].
    pub fn sender_wants_write(&self) -> bool {
        self.sender_wants_write
    }
}
