//! The configurations of two ends, and streams of bytes in which every piece reveals its position.

use std::sync::OnceLock;

use harness::peers::configs::{ClientAuth, Versions};
use harness::peers::endpoints::{ThisBuffered, handshake};
use harness::providers::transparent::this::{Configs, forget_sessions};
use harness::providers::transparent::{Setup, TAG};
use harness::wire::{Noise, fragments, message, record};

use super::input::Input;

/// The kind of two ends.
pub(super) struct Kind {
    pub(super) configs: Configs,
    pub(super) is_tls13: bool,
    /// They resume a session, with early data.
    pub(super) has_early_data: bool,
    /// Records are in the clear, so changes in transit may deliver other data.
    pub(super) is_transparent: bool,
}

/// All kinds. Corpora refer to them by number, so append new ones at the end.
pub(super) fn kinds() -> &'static [Kind] {
    static MADE: OnceLock<Vec<Kind>> = OnceLock::new();
    MADE.get_or_init(|| {
        let kind = |version, has_early_data: bool, seals: bool| {
            let mut setup = Setup::usual(ClientAuth::None).trusting();
            setup = setup.with_versions([version; 2]);
            if has_early_data {
                setup = setup.with_early_data();
            }
            setup.seals = seals;
            Kind {
                configs: Configs::new(setup),
                is_tls13: version == Versions::Tls13,
                has_early_data,
                is_transparent: !seals,
            }
        };
        vec![
            kind(Versions::Tls13, false, true),
            kind(Versions::Tls12, false, true),
            kind(Versions::Tls13, true, true),
            kind(Versions::Tls13, false, false),
            kind(Versions::Tls12, false, false),
            kind(Versions::Tls13, true, false),
        ]
    })
}

impl Kind {
    /// Prepares a session for the next client, if this kind resumes.
    pub(super) fn prepare(&self) {
        forget_sessions();
        if self.has_early_data {
            let mut client = ThisBuffered::new(self.configs.client());
            let mut server = ThisBuffered::new(self.configs.server());
            handshake(&mut client, &mut server);
        }
    }
}

/// Changes bytes in transit from an honest peer: one byte, or an additional record at the end.
/// Returns true if anything changed.
pub(super) fn tamper(input: &mut Input<'_>, kind: &Kind, bytes: &mut Vec<u8>) -> bool {
    let (what, at, value) = (input.byte(), input.len(), input.byte());
    if what & 1 == 0 || !kind.is_transparent {
        return match bytes.get_mut(at) {
            Some(byte) => {
                *byte ^= value;
                value != 0
            }
            None => false,
        };
    }
    let (typ, content) = match what >> 1 & 7 {
        // KeyUpdate
        0 => (22, vec![24, 0, 0, 1, value & 1]),
        // HelloRequest
        1 => (22, vec![0; 4]),
        2 => (21, vec![1, value]),
        3 => (21, vec![2, value]),
        4 => (23, Vec::new()),
        5 => (22, message(value, &[0; 3])),
        _ => (23, vec![value; at]),
    };
    for content in fragments(&content) {
        bytes.extend(match kind.is_tls13 {
            true => record(23, &[content, &[typ], &TAG].concat()),
            false => record(typ, &[content, &TAG].concat()),
        });
    }
    true
}

/// One direction of a conversation. Each byte depends on its position.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) sent: usize,
    pub(super) received: usize,
}

impl Stream {
    /// The next `len` bytes. They count as sent once the caller advances [`Self::sent`].
    pub(super) fn next(&self, len: usize) -> Vec<u8> {
        bytes_at(self.sent, len).to_vec()
    }

    /// Checks that the bytes are the next ones sent, and counts them as received.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        assert!(
            self.received + bytes.len() <= self.sent,
            "received more than was sent: {} of {}",
            self.received + bytes.len(),
            self.sent
        );
        for chunk in bytes.chunks(MOST) {
            assert!(
                chunk == bytes_at(self.received, chunk.len()),
                "received wrong bytes at {}",
                self.received
            );
            self.received += chunk.len();
        }
    }

    pub(super) fn has_arrived(&self) -> bool {
        self.sent == self.received
    }
}

/// The longest piece of a stream.
const MOST: usize = 1 << 16;

/// The bytes of a stream at a position: noise with a long prime period. It is created once, since a
/// fuzzer instruments each iteration of a loop.
fn bytes_at(position: usize, len: usize) -> &'static [u8] {
    const PERIOD: usize = 65_521;
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let mut noise = Noise::new(8);
        let period: Vec<u8> = (0..PERIOD).map(|_| noise.next() as u8).collect();
        period.iter().copied().cycle().take(PERIOD + MOST).collect()
    });
    &made[position % PERIOD..][..len]
}
