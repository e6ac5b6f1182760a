//! A connection that is split after its handshake and still used as one end.

use std::io::{ErrorKind, Read, Write};
use std::mem;

use harness::either;
use rustls::CommonState;
use rustls::split::{Receiver, Sender};

use crate::ends::{Buffered, End, to_text};

/// A connection that is split when data is first sent.
pub(crate) enum Splitting {
    /// `None` only during the split.
    Whole(Option<Box<Buffered>>),
    Halves(Box<dyn End>),
}

impl Splitting {
    fn end(&self) -> &dyn End {
        match self {
            Self::Whole(whole) => whole.as_deref().unwrap(),
            Self::Halves(halves) => &**halves,
        }
    }

    fn end_mut(&mut self) -> &mut dyn End {
        match self {
            Self::Whole(whole) => whole.as_deref_mut().unwrap(),
            Self::Halves(halves) => &mut **halves,
        }
    }
}

impl End for Splitting {
    fn output(&mut self) -> Vec<u8> {
        self.end_mut().output()
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.end_mut().receive(bytes)
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String> {
        if let Self::Whole(whole) = self {
            let Buffered { conn, received, .. } = *whole.take().unwrap();
            *self = Self::Halves(either!(rustls: conn, conn => {
                let (sender, receiver) = conn.into_split().unwrap();
                Box::new(Halves { sender, receiver, received })
            }));
        }
        self.end_mut().send(plaintext)
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.end_mut().send_early(plaintext)
    }

    fn refresh(&mut self) -> Result<(), String> {
        self.end_mut().refresh()
    }

    fn close(&mut self) {
        self.end_mut().close();
    }

    fn received(&mut self) -> Vec<u8> {
        self.end_mut().received()
    }

    fn common(&self) -> Option<&CommonState> {
        self.end().common()
    }

    fn knows_peer(&self) -> bool {
        self.end().knows_peer()
    }

    fn check_over(&mut self) -> String {
        self.end_mut().check_over()
    }
}

/// The halves of a connection.
struct Halves<D> {
    sender: Sender,
    receiver: Receiver<D>,
    received: Vec<u8>,
}

impl<D> End for Halves<D> {
    fn output(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.sender.wants_write() {
            assert_ne!(self.sender.write_tls(&mut out).unwrap(), 0, "no progress");
        }
        out
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() && self.receiver.read_tls(&mut bytes).unwrap() != 0 {
            self.receiver.process_new_packets().map_err(to_text)?;
            match self.receiver.reader().read_to_end(&mut self.received) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(to_text(error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String> {
        self.sender.writer().write_all(plaintext).map_err(to_text)
    }

    fn send_early(&mut self, _: &[u8]) -> Result<(), String> {
        unreachable!("the handshake is complete")
    }

    fn refresh(&mut self) -> Result<(), String> {
        self.sender.refresh_traffic_keys().map_err(to_text)
    }

    fn close(&mut self) {
        self.sender.send_close_notify();
    }

    fn received(&mut self) -> Vec<u8> {
        mem::take(&mut self.received)
    }

    fn common(&self) -> Option<&CommonState> {
        None
    }

    fn knows_peer(&self) -> bool {
        self.sender.peer_certificates().is_some()
    }

    fn check_over(&mut self) -> String {
        let Self {
            sender, receiver, ..
        } = self;
        let error = sender.error().unwrap();
        assert!(sender.writer().write(b"late").is_err());
        assert_eq!(sender.refresh_traffic_keys(), Err(error.clone()));
        sender.send_close_notify();
        assert!(!sender.wants_write());
        for _ in 0..2 {
            assert_eq!(receiver.process_new_packets(), Err(error.clone()));
        }
        let exported = receiver.export_keying_material([0; 8], b"label", None);
        assert_eq!(exported, Err(error.clone()));
        assert!(!sender.wants_write());
        error.to_string()
    }
}
