//! The halves of a connection, used as one end.

use std::io::{ErrorKind, Read, Write};
use std::mem;

use rustls::CommonState;
use rustls::split::{Receiver, Sender};

use crate::ends::{End, to_text};

/// The halves of a connection.
pub(crate) struct Halves<D> {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver<D>,
    pub(crate) received: Vec<u8>,
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
