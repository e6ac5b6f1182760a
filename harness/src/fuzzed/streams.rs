//! Two ends that talk while a target does whatever its input says: which configurations they have, and streams of bytes
//! whose every piece tells where it belongs.

use std::sync::OnceLock;

use super::input::Input;
use super::trusting::trusting;
use crate::Noise;
use crate::configs::{ClientAuth, Versions};
use crate::endpoints::{ThisBuffered, handshake};
use crate::transparent::this::{Configs, forget_sessions};
use crate::transparent::{Resumes, Setup, TAG};
use crate::wire::{message, record};

/// What two ends are.
pub(super) struct Kind {
    pub(super) configs: Configs,
    pub(super) is_tls13: bool,
    /// They resume a session, and early data is sent and taken.
    pub(super) has_early_data: bool,
    /// Records are in the clear: when bytes are changed on the way, other data may arrive.
    pub(super) is_transparent: bool,
}

/// A corpus knows each by its number: new ones go to the end.
pub(super) fn kinds() -> &'static [Kind] {
    static MADE: OnceLock<Vec<Kind>> = OnceLock::new();
    MADE.get_or_init(|| {
        let kind = |versions, has_early_data: bool, seals: bool| {
            let resumes = has_early_data.then_some(Resumes::Stored);
            let configs = trusting(Setup {
                versions: [versions; 2],
                early_data: has_early_data,
                resumes,
                seals,
                ..Setup::usual(ClientAuth::None)
            });
            Kind {
                configs,
                is_tls13: versions == Versions::Tls13,
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
    /// Has the next client resume a session, if this kind does.
    pub(super) fn prepare(&self) {
        forget_sessions();
        if self.has_early_data {
            let mut client = ThisBuffered::new(self.configs.client());
            let mut server = ThisBuffered::new(self.configs.server());
            handshake(&mut client, &mut server);
        }
    }
}

/// Changes what is on the way from an honest peer: a byte anywhere, or a record more at the end. True if it is not as
/// it was.
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
    for content in content
        .chunks(1 << 14)
        .chain(content.is_empty().then_some(&[][..]))
    {
        bytes.extend(match kind.is_tls13 {
            true => record(23, &[content, &[typ], &TAG].concat()),
            false => record(typ, &[content, &TAG].concat()),
        });
    }
    true
}

/// A direction of a conversation: each byte depends on where it is.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) sent: usize,
    pub(super) received: usize,
}

impl Stream {
    /// The next `len` bytes, which count as sent once [`Self::sent`] says so.
    pub(super) fn next(&self, len: usize) -> Vec<u8> {
        bytes_at(self.sent, len).to_vec()
    }

    /// Takes in what has arrived: what was sent, no more, and in order.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        assert!(
            self.received + bytes.len() <= self.sent,
            "more than was sent: {} of {}",
            self.received + bytes.len(),
            self.sent
        );
        for chunk in bytes.chunks(MOST) {
            assert!(
                chunk == bytes_at(self.received, chunk.len()),
                "other bytes than were sent, at {}",
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

/// What a stream has at some place: noise that comes again after a number of bytes which nothing else is a part of. It
/// is made once: a fuzzer looks at each step of a loop.
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
