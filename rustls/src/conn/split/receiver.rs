//! The receiving half of a split connection.

use alloc::sync::Arc;
use core::fmt;
use core::ops::Deref;
#[cfg(feature = "std")]
use std::io;

use super::{Facts, Link, wants_sender};
use crate::client::ClientConnectionData;
use crate::conn::driver::Driver;
#[cfg(feature = "std")]
use crate::conn::reader::Reader;
use crate::conn::records::Receiving;
use crate::conn::unbuffered::AppDataRecord;
use crate::ech::EchStatus;
use crate::error::Error;
use crate::handshake::Failure;
#[cfg(feature = "std")]
use crate::server::{EarlyData, ReadEarlyData, ServerConnectionData};

/// The half of a connection that receives.
///
/// [`ClientConnection::into_split`](crate::ClientConnection::into_split) makes it, and has an example. There are two ways
/// to receive:
///
/// - [`read_tls`](Self::read_tls) reads from the socket into the connection's own buffer,
///   [`process_new_packets`](Self::process_new_packets) opens what has come, and [`reader`](Self::reader) hands it out;
/// - [`open_in_place`](Self::open_in_place) opens records in the caller's buffer.
///
/// After either, [`sender_wants_write`](Self::sender_wants_write) tells whether the sending half has now something to
/// send: an answer to the peer's request for new keys, or the alert for an error. Whoever has that half is to be told,
/// by whatever means the application has, if it does not write anyway.
///
/// Dropping it leaves the sender as it is. What the peer sends is not looked at any more then, alerts included.
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

    /// True when the sending half has something to send because of what was received, or because of an error: see to it
    /// that [`Sender::write_tls`](super::Sender::write_tls) is called for as long as
    /// [`Sender::wants_write`](super::Sender::wants_write). False once that half knows of it, which is at the next call
    /// that sends, and says by its `wants_write` how long it is not sent; when that half is closed or dropped; and
    /// after an error that the peer is not told of, such as an alert of its own.
    pub fn sender_wants_write(&self) -> bool {
        wants_sender(&self.link)
    }

    /// True when the peer has sent a close_notify: no more plaintext will come.
    pub fn peer_has_closed(&self) -> bool {
        self.driver.common.records.receiving == Receiving::Closed
    }

    /// Opens the first record with application data in `incoming_tls`, bytes received from the peer, where it lies;
    /// records before it are processed. Call it again with what follows the bytes to
    /// [`discard`](AppDataRecord::discard).
    ///
    /// The payload is empty when no application data is left: the rest is no complete record, or the peer
    /// [has closed](Self::peer_has_closed). Call it again then when more bytes have come, with the ones that are left in
    /// front.
    ///
    /// ```
    /// # use rustls::client::ClientConnectionData;
    /// # use rustls::split::Receiver;
    /// /// Hands out all the data in the first `*filled` bytes of `buffer`, and moves what is left to the front.
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
    /// Any [`Error`] ends the connection, and each further call returns the same one. The sending half has the alert.
    /// The exception is [`Error::General`] while data that [`read_tls`](Self::read_tls) received is unread: it ends
    /// nothing.
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
        self.hear();
        let mut discard = 0;
        self.driver.check_failed()?;
        while !self.peer_has_closed() {
            match self.driver.process_record(&mut incoming_tls[discard..])? {
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
    }

    /// Derives keying material from the connection (RFC 9846 §7.5, RFC 5705) and returns it in `output`.
    ///
    /// # Errors
    ///
    /// [`Error::General`] when `output` is empty or too long; the error that ended the connection, in this half or in
    /// the other.
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

    /// Ends this half if the other has failed.
    #[inline]
    fn hear(&mut self) {
        if self.link.has_failed() {
            self.fail_too();
        }
    }

    #[cold]
    fn fail_too(&mut self) {
        if !self.driver.common.has_failed() {
            if let Some(failure) = self.link.failure() {
                // the other half has told the peer
                self.driver.fail(Failure {
                    error: failure.error.clone(),
                    alert: None,
                });
            }
        }
    }
}

#[cfg(feature = "std")]
impl<Data> Receiver<Data> {
    /// True when this half wants [`Self::read_tls`] to be called as soon as possible: not while plaintext waits to be
    /// read, nor after close_notify.
    pub fn wants_read(&self) -> bool {
        self.driver.common.wants_read()
    }

    /// Reads TLS bytes from `rd` into the connection's receive buffer, with one call of its `read`.
    ///
    /// Returns how many; zero is the end of the stream. [`Self::process_new_packets`] must follow.
    ///
    /// # Errors
    ///
    /// As for [`ConnectionCommon::read_tls`](crate::ConnectionCommon::read_tls).
    pub fn read_tls(&mut self, rd: &mut dyn io::Read) -> Result<usize, io::Error> {
        self.driver.common.records.read_tls(rd)
    }

    /// Processes what [`Self::read_tls`] has read: opens application data for [`Self::reader`], and takes in what else
    /// the peer has to say.
    ///
    /// # Errors
    ///
    /// Any [`Error`] ends the connection; the alert that tells the peer waits in the sending half
    /// ([`Self::sender_wants_write`]), plaintext received before can still be read, and each further call returns the
    /// same error. That goes for an error of the sending half, too.
    pub fn process_new_packets(&mut self) -> Result<ReceiverState, Error> {
        self.hear();
        self.driver.process_received()?;
        Ok(ReceiverState {
            plaintext_bytes_to_read: self.driver.common.records.received.unread(),
            peer_has_closed: self.peer_has_closed(),
            sender_wants_write: self.sender_wants_write(),
        })
    }

    /// An object to read received plaintext from.
    pub fn reader(&mut self) -> Reader<'_> {
        Reader::new(&mut self.driver.common)
    }
}

impl Receiver<ClientConnectionData> {
    /// How many session tickets the server has sent.
    pub fn tls13_tickets_received(&self) -> u32 {
        self.driver.data.tickets_received
    }

    /// What became of Encrypted ClientHello; see
    /// [`UnbufferedClientConnection::ech_status`](crate::client::UnbufferedClientConnection::ech_status).
    pub fn ech_status(&self) -> EchStatus {
        self.driver.data.ech_status
    }

    /// True if the server has accepted early data.
    pub fn is_early_data_accepted(&self) -> bool {
        self.driver.data.early_data_accepted
    }
}

#[cfg(feature = "std")]
impl Receiver<ServerConnectionData> {
    /// The server name that the client asked for (SNI, RFC 6066 §3); `None` when it sent none.
    pub fn server_name(&self) -> Option<&str> {
        self.driver.data.server_name()
    }

    /// See [`ServerConnection::received_resumption_data`](crate::ServerConnection::received_resumption_data).
    pub fn received_resumption_data(&self) -> Option<&[u8]> {
        self.driver.data.received_resumption_data()
    }

    /// What is left to read of the client's early data, if that was accepted.
    pub fn early_data(&mut self) -> Option<ReadEarlyData<'_>> {
        match self.driver.data.early_data {
            EarlyData::Accepted => Some(ReadEarlyData::new(&mut self.driver.common)),
            EarlyData::Undecided | EarlyData::Rejected => None,
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

/// What [`Receiver::process_new_packets`] found.
#[derive(Debug, Eq, PartialEq)]
pub struct ReceiverState {
    plaintext_bytes_to_read: usize,
    peer_has_closed: bool,
    sender_wants_write: bool,
}

impl ReceiverState {
    /// How many bytes of plaintext wait to be read.
    pub fn plaintext_bytes_to_read(&self) -> usize {
        self.plaintext_bytes_to_read
    }

    /// True when the peer has sent a close_notify: no more plaintext will come.
    pub fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    /// True when the sending half has something to send because of what was received; see
    /// [`Receiver::sender_wants_write`].
    pub fn sender_wants_write(&self) -> bool {
        self.sender_wants_write
    }
}
