//! A QUIC client and server. An input changes what they send each other.

use std::collections::VecDeque;
use std::sync::OnceLock;

use harness::peers::configs::ClientAuth;
use harness::providers::transparent::Setup;
use harness::providers::transparent::this::{Configs, forget_sessions};
use harness::quic::{
    Crypto, Level, QuicEndpoint, Use, VERSIONS, Version, check_connected, deliver, this,
};
use harness::wire::message;

use super::input::Input;

/// The most steps of an input.
const STEPS: usize = 100;
const KEY_UPDATES: usize = 4;

const LEVELS: [Level; 4] = [
    Level::Initial,
    Level::EarlyData,
    Level::Handshake,
    Level::OneRtt,
];

/// The first byte chooses version and setup, the second the length of the transport parameters.
/// Each further byte is a step of `Pair::step`, followed by its arguments.
pub fn quic(input: &[u8]) {
    static CONFIGS: OnceLock<Vec<(Setup, Configs)>> = OnceLock::new();
    let make = |setup| (setup, Configs::new(setup));
    let all = CONFIGS.get_or_init(|| setups().map(make).into());
    let mut input = Input::new(input);
    let which = usize::from(input.byte());
    let version = VERSIONS[which % VERSIONS.len()];
    let (setup, configs) = &all[which / VERSIONS.len() % all.len()];
    forget_sessions();
    if setup.resumes.is_some() {
        Pair::new(configs, version, 1).finish();
    }
    let mut pair = Pair::new(configs, version, usize::from(input.byte()));
    while input.begins_step(STEPS) {
        pair.step(&mut input);
    }
    pair.finish();
}

/// Setups in which changes do not affect what the ends agree on: transcripts are not hashed.
fn setups() -> [Setup; 4] {
    let required = Setup::unhashed(ClientAuth::Required).over_quic();
    let none = Setup::unhashed(ClientAuth::None).over_quic();
    [
        required,
        required.with_retry(),
        none.with_early_data(),
        required.with_early_data().with_retry(),
    ]
}

struct Pair {
    /// Client and server.
    ends: [this::End; 2],
    /// The CRYPTO data in transit to each.
    to: [VecDeque<Crypto>; 2],
    errors: [Option<String>; 2],
    /// True if any data arrived changed.
    is_tampered: bool,
    key_updates: usize,
}

impl Pair {
    fn new(configs: &Configs, version: Version, parameters: usize) -> Self {
        let parameters = vec![0x1f; parameters];
        Self {
            ends: [
                this::client(&configs.client, version, &parameters).unwrap(),
                this::server(&configs.server, version, &parameters).unwrap(),
            ],
            to: Default::default(),
            errors: Default::default(),
            is_tampered: false,
            key_updates: 0,
        }
    }

    /// The highest bit of the first byte chooses the end, the rest the operation.
    fn step(&mut self, input: &mut Input<'_>) {
        let what = input.byte();
        let to = usize::from(what >> 7);
        match what & 0x7f {
            0..16 => self.queue_output(to),
            16..32 => self.deliver(to, usize::MAX),
            32..40 => self.deliver(to, usize::from(input.byte())),
            40..64 => self.tamper(to, what, input),
            64..76 => {
                let bytes = input.bytes();
                self.receive(to, &bytes);
            }
            76..88 => {
                let typ = input.byte();
                self.receive(to, &message(typ, &input.bytes()));
            }
            88..96 => self.update_keys(),
            96..108 => self.packet(to, LEVELS[usize::from(what) % 4], input),
            108..120 => self.not_a_packet(to, LEVELS[usize::from(what) % 4], input),
            _ => {
                let [_, server] = &mut self.ends;
                if server.is_handshaking() {
                    server.reject_early_data();
                }
            }
        }
    }

    /// Queues the output of the other end.
    fn queue_output(&mut self, to: usize) {
        let output = self.ends[1 - to].take_crypto();
        // after an error, an end only sends on a few levels
        self.to[to].extend(output);
    }

    /// Delivers the next queued data, in pieces.
    fn deliver(&mut self, to: usize, piece_len: usize) {
        let Some(Crypto { level, bytes }) = self.to[to].pop_front() else {
            return;
        };
        for piece in bytes.chunks(piece_len.max(1)) {
            if level != self.ends[to].read_level() {
                // QUIC rejects data of another level
                self.is_tampered = true;
                return;
            }
            let result = deliver(&mut self.ends[to], level, piece);
            let output = self.note(to, result).unwrap_or_default();
            self.to[1 - to].extend(output);
        }
    }

    /// Delivers arbitrary bytes on the level that is being read.
    fn receive(&mut self, to: usize, bytes: &[u8]) {
        self.is_tampered = true;
        let result = self.ends[to].receive(bytes);
        self.note(to, result);
    }

    /// Records an error. A failed connection must stay failed.
    fn note<T>(&mut self, to: usize, result: Result<T, String>) -> Option<T> {
        match (result, &self.errors[to]) {
            (Ok(done), None) => Some(done),
            (Ok(_), Some(error)) => panic!("nothing wrong after {error}"),
            (Err(error), None) => {
                assert!(self.is_tampered, "{error}");
                self.errors[to] = Some(error);
                None
            }
            (Err(error), Some(first)) => {
                assert_eq!(error, *first);
                None
            }
        }
    }

    /// Changes queued data.
    fn tamper(&mut self, to: usize, what: u8, input: &mut Input<'_>) {
        let waiting = &mut self.to[to];
        let Some(next) = waiting.front_mut() else {
            return;
        };
        self.is_tampered = true;
        let at = input.position(next.bytes.len());
        match what % 8 {
            0..3 => next.bytes[at] ^= input.byte(),
            3 => {
                let bytes = input.bytes();
                next.bytes.splice(at..at, bytes);
            }
            4 => next.bytes.truncate(at.max(1)),
            5 => {
                let end = next.bytes.len().min(at + usize::from(input.byte()));
                next.bytes.drain(at.max(1)..end.max(at).max(1));
            }
            6 => drop(waiting.pop_front()),
            _ => {
                let again = next.clone();
                waiting.push_front(again);
            }
        }
    }

    fn update_keys(&mut self) {
        let are_ready = self.ends.iter().all(|end| end.has_keys(Level::OneRtt)[0]);
        if are_ready && self.key_updates < KEY_UPDATES {
            self.key_updates += 1;
            self.ends.iter_mut().for_each(this::End::update_keys);
        }
    }

    /// Checks that the other end opens a packet that one end seals.
    fn packet(&self, to: usize, level: Level, input: &mut Input<'_>) {
        let (from, to) = (&self.ends[1 - to], &self.ends[to]);
        if !from.has_keys(level)[0] || !to.has_keys(level)[1] {
            return;
        }
        let which = self.keys(level, input.byte());
        let number = u32::from(input.byte()) << input.position(25);
        let payload = [input.bytes(), vec![0; 4]].concat();
        let opened = to.open(level, which, &from.seal(level, which, number, &payload));
        if !self.is_tampered {
            assert_eq!(opened, Ok((number, payload)), "{level:?} {which:?}");
        }
    }

    /// Opens bytes that are not a packet.
    fn not_a_packet(&self, to: usize, level: Level, input: &mut Input<'_>) {
        if self.ends[to].has_keys(level)[1] {
            let which = self.keys(level, input.byte());
            let packet = [input.bytes(), vec![0; 22]].concat();
            let _ = self.ends[to].open(level, which, &packet);
        }
    }

    fn keys(&self, level: Level, which: u8) -> Use {
        match usize::from(which) % (self.key_updates + 2) {
            1 => Use::Path(which.into()),
            n if n > 1 && level == Level::OneRtt => Use::Updated(n - 1),
            _ => Use::First,
        }
    }

    /// Delivers all queued data. If nothing was changed the ends are connected; in any case their
    /// accessors work.
    fn finish(&mut self) {
        while self.errors == [None, None] {
            self.queue_output(0);
            self.queue_output(1);
            if self.to.iter().all(VecDeque::is_empty) {
                break;
            }
            self.deliver(0, usize::MAX);
            self.deliver(1, usize::MAX);
        }
        let [client, server] = &mut self.ends;
        if !self.is_tampered {
            check_connected(client, server);
        }
        for (end, error) in self.ends.iter().zip(&self.errors) {
            assert!(error.is_some() || end.alert().is_none());
            end.negotiated();
            end.peer_certificates();
            end.server_name();
            end.peer_parameters();
            assert!(end.exported().is_err() || !end.is_handshaking() && error.is_none());
        }
    }
}
