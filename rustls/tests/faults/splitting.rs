//! A connection that is split after its handshake, used as one end.

use std::io::{ErrorKind, Read, Write};
use std::mem;

use rustls::Connection;
use rustls::client::ClientConnectionData;
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};

use crate::ends::{Buffered, End, to_text};

/// The halves of a connection.
pub(crate) struct Halves {
    sender: Sender,
    receiver: Receiving,
    received: Vec<u8>,
    peer_has_closed: bool,
}

enum Receiving {
    OfClient(Receiver<ClientConnectionData>),
    OfServer(Receiver<ServerConnectionData>),
}

/// Common operations of both kinds of receiver.
macro_rules! receiver {
    ($halves:expr, $receiver:ident => $body:expr) => {
        match &mut $halves.receiver {
            Receiving::OfClient($receiver) => $body,
            Receiving::OfServer($receiver) => $body,
        }
    };
}

/// A connection that is split when data is first sent.
pub(crate) enum Splitting {
    Whole(Box<Buffered>),
    Halves(Box<Halves>),
    /// Only during the split.
    Neither,
}

impl Splitting {
    pub(crate) fn new(conn: Connection) -> Self {
        Self::Whole(Box::new(Buffered::new(conn)))
    }

    fn split(&mut self) {
        let Self::Whole(whole) = mem::replace(self, Self::Neither) else {
            unreachable!("split before");
        };
        let Buffered { conn, received, .. } = *whole;
        let (sender, receiver) = match conn {
            Connection::Client(conn) => {
                let (sender, receiver) = conn.into_split().unwrap();
                (sender, Receiving::OfClient(receiver))
            }
            Connection::Server(conn) => {
                let (sender, receiver) = conn.into_split().unwrap();
                (sender, Receiving::OfServer(receiver))
            }
        };
        *self = Self::Halves(Box::new(Halves {
            sender,
            receiver,
            received,
            peer_has_closed: false,
        }));
    }
}

impl End for Splitting {
    fn output(&mut self) -> Vec<u8> {
        let halves = match self {
            Self::Halves(halves) => halves,
            Self::Whole(whole) => return whole.output(),
            Self::Neither => unreachable!(),
        };
        let mut out = Vec::new();
        while halves.sender.wants_write() {
            assert_ne!(halves.sender.write_tls(&mut out).unwrap(), 0, "no progress");
        }
        out
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let halves = match self {
            Self::Halves(halves) => halves,
            Self::Whole(whole) => return whole.receive(bytes),
            Self::Neither => unreachable!(),
        };
        receiver!(halves, receiver => {
            while !bytes.is_empty() && receiver.read_tls(&mut bytes).unwrap() != 0 {
                let state = receiver.process_new_packets().map_err(to_text)?;
                halves.peer_has_closed |= state.peer_has_closed();
                match receiver.reader().read_to_end(&mut halves.received) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => {
                        return Err(to_text(error));
                    }
                    _ => {}
                }
            }
        });
        Ok(())
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), String> {
        if let Self::Whole(_) = self {
            self.split();
        }
        match self {
            Self::Halves(halves) => halves.sender.writer().write_all(plaintext).map_err(to_text),
            _ => unreachable!("split before"),
        }
    }

    fn send_early(&mut self, plaintext: &[u8]) -> Result<(), String> {
        match self {
            Self::Whole(whole) => whole.send_early(plaintext),
            _ => unreachable!("not split yet"),
        }
    }

    fn refresh(&mut self) -> Result<(), String> {
        match self {
            Self::Halves(halves) => halves.sender.refresh_traffic_keys().map_err(to_text),
            _ => unreachable!("split before"),
        }
    }

    fn close(&mut self) {
        match self {
            Self::Halves(halves) => halves.sender.send_close_notify(),
            _ => unreachable!("split before"),
        }
    }

    fn received(&mut self) -> Vec<u8> {
        match self {
            Self::Halves(halves) => mem::take(&mut halves.received),
            Self::Whole(whole) => whole.received(),
            Self::Neither => unreachable!(),
        }
    }

    fn is_handshaking(&self) -> bool {
        matches!(self, Self::Whole(whole) if whole.is_handshaking())
    }

    fn knows_peer(&self) -> bool {
        match self {
            Self::Halves(halves) => halves.sender.peer_certificates().is_some(),
            Self::Whole(whole) => whole.knows_peer(),
            Self::Neither => unreachable!(),
        }
    }

    fn check_over(&mut self) -> String {
        let halves = match self {
            Self::Halves(halves) => halves,
            Self::Whole(whole) => return whole.check_over(),
            Self::Neither => unreachable!(),
        };
        let error = halves.sender.error().unwrap();
        assert!(halves.sender.writer().write(b"late").is_err());
        assert_eq!(halves.sender.refresh_traffic_keys(), Err(error.clone()));
        halves.sender.send_close_notify();
        assert!(!halves.sender.wants_write());
        for _ in 0..2 {
            let processed = receiver!(halves, receiver => receiver.process_new_packets());
            assert_eq!(processed, Err(error.clone()));
        }
        let exported =
            receiver!(halves, receiver => receiver.export_keying_material([0; 8], b"label", None));
        assert_eq!(exported, Err(error.clone()));
        assert!(!halves.sender.wants_write());
        error.to_string()
    }
}
