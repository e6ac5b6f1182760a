//! A whole connection between two ends of this crate, any call of which may fail or panic.

use harness::peers::configs::Versions;
use harness::peers::roles::this::Config;

use crate::bomb::survives;
use crate::ends::{self, Api, End};
use crate::rigged::{Rig, Setup};

const EARLY: &[u8] = b"early";

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// The way in which a connection stopped.
#[derive(Debug, PartialEq)]
pub(crate) enum Stop {
    Done,
    /// A call on this side panicked.
    Panicked(usize),
    /// A call on this side returned this error.
    Failed(usize, String),
    /// The connection could not be created.
    NotMade,
}

/// A connection, and the data written to and read from it.
pub(crate) struct Talk {
    pub(crate) ends: Vec<Box<dyn End>>,
    /// True if connections are split after the handshake.
    splits: bool,
    written: [Vec<u8>; 2],
    received: [Vec<u8>; 2],
}

impl Talk {
    /// Runs a handshake and sends data in both directions, a KeyUpdate and its answer, more data,
    /// and a close_notify.
    pub(crate) fn run(rig: &Rig, setup: Setup, api: Api) -> (Option<Self>, Stop) {
        match survives(|| Self::new(rig, api)) {
            Some(Ok(mut talk)) => {
                let stop = talk.run_to_end(setup).err().unwrap_or(Stop::Done);
                (Some(talk), stop)
            }
            _ => (None, Stop::NotMade),
        }
    }

    pub(crate) fn new(rig: &Rig, api: Api) -> Result<Self, String> {
        let client = ends::end(Config::Client(rig.client.clone()), api)?;
        let server = ends::end(Config::Server(rig.server.clone()), api)?;
        Ok(Self {
            ends: vec![client, server],
            splits: api == Api::Split,
            written: Default::default(),
            received: Default::default(),
        })
    }

    fn run_to_end(&mut self, setup: Setup) -> Result<(), Stop> {
        self.open(setup)?;
        if setup.versions == Versions::Tls13 {
            self.call(CLIENT, |end| end.refresh())?;
            self.exchange()?;
        }
        self.send(CLIENT, &[1; 300])?;
        self.send(SERVER, &[2; 300])?;
        self.exchange()?;
        for side in [CLIENT, SERVER] {
            self.call(side, |end| {
                end.close();
                Ok(())
            })?;
            self.exchange()?;
        }
        Ok(())
    }

    /// Runs the handshake and sends data in both directions.
    pub(crate) fn open(&mut self, setup: Setup) -> Result<(), Stop> {
        if setup.early_data {
            // fails without a session
            if let Err(stop @ Stop::Panicked(_)) = self.call(CLIENT, |end| end.send_early(EARLY)) {
                return Err(stop);
            }
        }
        self.exchange()?;
        for (side, end) in self.ends.iter().enumerate() {
            if end.is_handshaking() {
                return Err(Stop::Failed(side, "the handshake is not complete".into()));
            }
        }
        if self.splits {
            self.ends = self.ends.drain(..).map(End::into_halves).collect();
        }
        self.send(CLIENT, b"from the client")?;
        self.send(SERVER, b"from the server")?;
        self.exchange()
    }

    fn call<T>(
        &mut self,
        side: usize,
        call: impl FnOnce(&mut dyn End) -> Result<T, String>,
    ) -> Result<T, Stop> {
        match survives(|| call(&mut *self.ends[side])) {
            None => Err(Stop::Panicked(side)),
            Some(result) => result.map_err(|error| Stop::Failed(side, error)),
        }
    }

    fn send(&mut self, side: usize, plaintext: &[u8]) -> Result<(), Stop> {
        self.written[side].extend_from_slice(plaintext);
        self.call(side, |end| end.send(plaintext))
    }

    fn exchange(&mut self) -> Result<(), Stop> {
        loop {
            let mut has_moved = false;
            for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
                let bytes = self.call(from, |end| Ok(end.output()))?;
                has_moved |= !bytes.is_empty();
                let received = self.call(to, |end| end.receive(&bytes));
                self.read(to);
                received?;
            }
            if !has_moved {
                return Ok(());
            }
        }
    }

    fn read(&mut self, side: usize) {
        let received = self.ends[side].received();
        // a server may have rejected early data
        let received = received.strip_prefix(EARLY).unwrap_or(&received);
        self.received[side].extend(received);
    }

    /// Delivers the remaining output of `side`.
    pub(crate) fn deliver_rest(&mut self, side: usize) {
        let peer = 1 - side;
        let rest = self.ends[side].output();
        let _ = self.ends[peer].receive(&rest);
        self.read(peer);
    }

    /// Asserts that the received data is a prefix of the written data.
    pub(crate) fn check_received(&self) {
        for side in [CLIENT, SERVER] {
            assert!(self.written[1 - side].starts_with(&self.received[side]));
        }
    }
}

/// Runs a connection on which nothing fails.
pub(crate) fn good(rig: &Rig, setup: Setup, api: Api) {
    let (talk, stop) = Talk::run(rig, setup, api);
    assert_eq!(stop, Stop::Done);
    let talk = talk.unwrap();
    if api != Api::Quic {
        assert_eq!(talk.written[CLIENT], talk.received[SERVER]);
        assert_eq!(talk.written[SERVER], talk.received[CLIENT]);
    }
    assert!(talk.ends.iter().all(|end| end.knows_peer()));
}
