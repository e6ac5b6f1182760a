//! The halves of a connection whose records are single bytes. What one half tells the other is the
//! library's: its link, used in the order of `rustls::split`.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::{error, fmt, mem};

use loom::sync::Arc;

use crate::link::Link;

/// Records of the peer: a request for new keys, one that cannot be decrypted, and a fatal alert.
/// Others are data.
pub(crate) const KEY_UPDATE: u8 = 1;
pub(crate) const BAD_RECORD: u8 = 2;
pub(crate) const ALERT: u8 = 3;
/// The reply to a request for new keys. The alert for a bad record is [`ALERT`].
pub(crate) const REPLY: u8 = 4;
const CLOSE_NOTIFY: u8 = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection has failed")
    }
}

impl error::Error for Error {}

struct Failure {
    sends_alert: bool,
}

fn sends_alert(failure: &Failure) -> bool {
    failure.sends_alert
}

pub(crate) fn connection<Data>() -> (Sender, Receiver<Data>) {
    let link = Arc::new(Link::new());
    let sender = Sender {
        link: link.clone(),
        queued: Vec::new(),
        has_failed: false,
        is_closed: false,
        fails_next: false,
    };
    let receiver = Receiver {
        link,
        received: Vec::new(),
        plaintext: Vec::new(),
        data: PhantomData,
    };
    (sender, receiver)
}

/// The room around a record, which is none.
pub struct InPlaceRoom;

pub struct Receiver<Data> {
    link: Arc<Link<Failure>>,
    received: Vec<u8>,
    plaintext: Vec<u8>,
    data: PhantomData<Data>,
}

impl<Data> Receiver<Data> {
    pub fn read_tls_for(&mut self, rd: &mut dyn Read, _len: usize) -> io::Result<usize> {
        let mut record = [0];
        let len = rd.read(&mut record)?;
        self.received.extend_from_slice(&record[..len]);
        Ok(len)
    }

    pub fn unprocessed_len(&self) -> usize {
        self.received.len()
    }

    pub fn process_new_packets_into(&mut self, buf: &mut [u8]) -> Result<(usize, ()), Error> {
        if self.link.has_failed() {
            return Err(Error);
        }
        for record in mem::take(&mut self.received) {
            match record {
                KEY_UPDATE => self.link.owe_update(),
                BAD_RECORD | ALERT => {
                    self.link.fail(Failure {
                        sends_alert: record == BAD_RECORD,
                    });
                    return Err(Error);
                }
                data => self.plaintext.push(data),
            }
        }
        let len = self.plaintext.len().min(buf.len());
        for (place, byte) in buf.iter_mut().zip(self.plaintext.drain(..len)) {
            *place = byte;
        }
        Ok((len, ()))
    }

    pub fn sender_wants_write(&self) -> bool {
        self.link.wants_sender(sends_alert)
    }

    pub fn reader(&mut self) -> Reader<'_> {
        Reader(&mut self.plaintext)
    }
}

impl<Data> fmt::Debug for Receiver<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}

pub struct Reader<'a>(&'a mut Vec<u8>);

impl<'a> Reader<'a> {
    pub fn into_first_chunk(self) -> io::Result<&'a [u8]> {
        match &self.0[..] {
            [] => Err(ErrorKind::WouldBlock.into()),
            plaintext => Ok(plaintext),
        }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(out)?;
        self.consume(len);
        Ok(len)
    }
}

impl BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Reader(self.0).into_first_chunk()
    }

    fn consume(&mut self, amt: usize) {
        self.0.drain(..amt);
    }
}

pub struct Sender {
    link: Arc<Link<Failure>>,
    queued: Vec<u8>,
    has_failed: bool,
    is_closed: bool,
    fails_next: bool,
}

impl Sender {
    /// Lets the next write fail, like one whose encryption fails.
    pub fn fail_next_write(&mut self) {
        self.fails_next = true;
    }

    fn handle_requests(&mut self) {
        if !self.link.concerns_sender() || self.has_failed {
            return;
        }
        let requests = self.link.take_requests();
        if let Some(failure) = self.link.failure() {
            self.has_failed = true;
            if !self.is_closed {
                self.queued.clear();
                self.queued.extend(failure.sends_alert.then_some(ALERT));
            }
            self.link.sender_is_done();
        } else if requests.update && !self.is_closed {
            self.queued.push(REPLY);
        }
    }

    /// Returns the error that this half knows. Looking for the other half's multiplies the
    /// interleavings.
    pub fn error(&self) -> Option<Error> {
        self.has_failed.then_some(Error)
    }

    pub fn wants_write(&self) -> bool {
        !self.queued.is_empty() || self.link.wants_sender(sends_alert)
    }

    pub fn write_tls(&mut self, wr: &mut dyn Write) -> io::Result<usize> {
        self.handle_requests();
        if self.queued.is_empty() {
            return Ok(0);
        }
        let len = wr.write(&self.queued)?;
        self.queued.drain(..len);
        Ok(len)
    }

    pub fn in_place_room(&self) -> InPlaceRoom {
        InPlaceRoom
    }

    /// Sends a byte like a write.
    pub fn send_in_place(
        &mut self,
        buf: &mut [u8],
        payload: Range<usize>,
        wr: &mut dyn Write,
    ) -> io::Result<()> {
        if self.writer().write(&buf[payload])? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.write_tls(wr).map(drop)
    }

    pub fn writer(&mut self) -> Writer<'_> {
        self.handle_requests();
        Writer(self)
    }

    pub fn send_close_notify(&mut self) {
        self.handle_requests();
        if !self.is_closed && !self.has_failed {
            self.is_closed = true;
            self.queued.push(CLOSE_NOTIFY);
            self.link.sender_is_done();
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.link.sender_is_done();
    }
}

pub struct Writer<'a>(&'a mut Sender);

impl Write for Writer<'_> {
    /// Accepts a byte if none is queued.
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let sender = &mut *self.0;
        if mem::take(&mut sender.fails_next) && !sender.has_failed {
            sender.link.fail(Failure { sends_alert: false });
            sender.has_failed = true;
        }
        self.flush()?;
        let sender = &mut *self.0;
        if !sender.queued.is_empty() {
            return Ok(0);
        }
        let len = buf.len().min(1);
        sender.queued.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.handle_requests();
        match self.0.has_failed {
            true => Err(io::Error::new(ErrorKind::InvalidData, Error)),
            false => Ok(()),
        }
    }
}
