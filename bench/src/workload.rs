//! What connections are made for, whichever implementation they are of, and pieces of bulk work that can be
//! repeated.

use std::sync::Arc;
use std::time::Instant;

pub(crate) use harness::pairs::{Error, Result, check_received};
use pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use crate::cli::{ConnectionArgs, Group, KeyType, Provider, RunArgs};
use crate::measure::Timed;
use crate::suites::Suite;

/// Which half of a connection is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the application's bytes to records.
    Send,
    /// From records to the application.
    Receive,
}

impl Direction {
    pub(crate) const ALL: [Self; 2] = [Self::Send, Self::Receive];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    Client,
    Server,
}

impl Role {
    /// In the order of `[client, server]`.
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The parameters of a connection, which all implementations in a comparison share.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) provider: Provider,
    pub(crate) suite: Suite,
    /// Of all certificates.
    pub(crate) key_type: KeyType,
    /// `None`: those that the provider offers by default.
    pub(crate) group: Option<Group>,
    /// Who the client says it is, where the server asks.
    pub(crate) client: Option<Arc<Identity>>,
    /// Whether the server verifies the client's certificates, which takes longer than all else that it does with
    /// them.
    pub(crate) verifies_client: bool,
    /// Whether connections and sessions share the certificates of one peer, where the implementation can.
    pub(crate) shares_chains: bool,
    pub(crate) sessions: Sessions,
    /// How many tickets a TLS 1.3 server sends; `None`: as many as go with `sessions`.
    pub(crate) tickets: Option<usize>,
    /// How many sessions each side keeps, where it keeps any in memory.
    pub(crate) kept: usize,
    pub(crate) max_fragment_size: Option<usize>,
}

impl Scenario {
    /// Connections over the suite called `suite` as the command line asks for them, with each provider.
    pub(crate) fn each(suite: &str, run: &RunArgs, args: &ConnectionArgs) -> Result<Vec<Self>> {
        let providers = run.provider.providers();
        let suite = Suite::find(suite, &providers)?;
        let key_type = suite.key_type(args.key_type)?;
        let scenarios = providers.into_iter().map(|provider| Self {
            provider,
            suite: suite.clone(),
            key_type,
            group: None,
            client: None,
            verifies_client: true,
            shares_chains: true,
            sessions: Sessions::Default,
            tickets: None,
            kept: SESSIONS,
            max_fragment_size: args.max_fragment_size,
        });
        Ok(scenarios.collect())
    }
}

/// How many sessions each side keeps by default.
pub(crate) const SESSIONS: usize = 256;

/// Certificates and their key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The authority that the peer trusts.
    pub(crate) ca: CertificateDer<'static>,
}

impl Identity {
    /// One with a key of that kind and a single certificate.
    pub(crate) fn of(key_type: KeyType) -> Self {
        let identities = key_type.identities();
        Self {
            chain: identities.client.chain.clone(),
            key: identities.client.key(),
            ca: identities.ca.clone(),
        }
    }
}

/// What the two sides keep in order to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// What configurations keep by default.
    Default,
    Nothing,
    /// The server stores every session, and no client comes back to it.
    Unused,
    /// The server has them stored: session IDs in TLS 1.2, tickets that name them in TLS 1.3.
    Stored,
    /// The client has them in tickets, which the server can open.
    Tickets,
    /// As tickets, whose keys the server replaces every second.
    RotatedTickets,
}

impl Sessions {
    /// Whether handshakes after the first resume one.
    pub(crate) const fn are_resumed(self) -> bool {
        match self {
            Self::Default | Self::Stored | Self::Tickets | Self::RotatedTickets => true,
            Self::Nothing | Self::Unused => false,
        }
    }
}

/// What an established connection carries.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub(crate) connection: Scenario,
    /// Bytes that the application hands over at a time.
    pub(crate) plaintext_size: usize,
    /// How many bytes of plaintext a thread walks through before it comes back to the first; `None`: the
    /// same write again and again.
    pub(crate) working_set: Option<usize>,
}

impl Traffic {
    /// About how many bytes of plaintext a batch has: enough that reading the clock costs nothing, few enough
    /// that the batch's records stay in the processor's second-level cache.
    const BATCH_LEN: usize = 256 * 1024;

    /// The most writes in a batch.
    const BATCH_WRITES: usize = 4096;

    /// How many times the application hands over [`Self::plaintext_size`] bytes in one batch.
    pub(crate) fn writes(&self) -> usize {
        match self.working_set {
            Some(bytes) => Ord::max(bytes / self.plaintext_size, 1),
            None => (Self::BATCH_LEN / self.plaintext_size).clamp(1, Self::BATCH_WRITES),
        }
    }

    /// How many of these writes have memory of their own.
    pub(crate) fn apart(&self) -> usize {
        if self.working_set.is_some() {
            self.writes()
        } else {
            1
        }
    }

    /// Bytes of plaintext in one batch.
    pub(crate) fn batch_len(&self) -> usize {
        self.writes() * self.plaintext_size
    }

    /// What the application hands over, one write after the other.
    pub(crate) fn plaintext(&self) -> Stretch {
        let len = self.plaintext_size * self.apart();
        let bytes = (0..len).map(|i| (i % self.plaintext_size) as u8);
        Stretch::new(bytes.collect(), self.plaintext_size)
    }

    /// Memory for the records of each write.
    pub(crate) fn sealed(&self) -> Stretch {
        let room = self.sealed_room();
        let more = (room - Self::MESSAGE_ROOM) * (self.apart() - 1);
        Stretch::new(vec![0; room + more], room)
    }

    /// The most plaintext bytes of a record: `max_fragment_size` counts the record header too.
    pub(crate) fn max_record_payload(&self) -> usize {
        self.connection
            .max_fragment_size
            .map_or(MAX_RECORD_PAYLOAD, |size| size - RECORD_HEADER_LEN)
    }

    /// For a message that the connection has to send in between.
    const MESSAGE_ROOM: usize = 1024;

    /// Room for the records of one write, with 64 bytes to spare for each record and for one message in
    /// between.
    fn sealed_room(&self) -> usize {
        let records = self.plaintext_size.div_ceil(self.max_record_payload()) + 1;
        self.plaintext_size + 64 * records + Self::MESSAGE_ROOM
    }

    /// Memory for all records of a batch, one behind the other.
    pub(crate) fn incoming(&self) -> Vec<u8> {
        vec![0; self.sealed_room() * self.writes()]
    }
}

/// RFC 9846 §5.1: 2^14 bytes.
const MAX_RECORD_PAYLOAD: usize = 1 << 14;

/// RFC 9846 §5.1: type, legacy version, length.
pub(crate) const RECORD_HEADER_LEN: usize = 5;

/// Memory that is walked through piece by piece, over and over.
pub(crate) struct Stretch {
    bytes: Vec<u8>,
    /// Each piece has at least so much room.
    step: usize,
    /// The last piece, and where the next one begins.
    last: usize,
    at: usize,
}

impl Stretch {
    /// `bytes` has room for one step at least.
    pub(crate) fn new(bytes: Vec<u8>, step: usize) -> Self {
        Self {
            bytes,
            step,
            last: 0,
            at: 0,
        }
    }

    /// The rest of it, from the next piece on.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.at < self.step {
            self.at = 0;
        }
        self.last = self.at;
        &mut self.bytes[self.at..]
    }

    /// The next piece as long as a step.
    pub(crate) fn step(&mut self) -> &mut [u8] {
        let step = self.step;
        self.rest();
        self.at += step;
        &mut self.bytes[self.last..self.at]
    }

    /// Says how much of [`Self::rest`] the next piece takes; returns it.
    pub(crate) fn take(&mut self, len: usize) -> &[u8] {
        self.at += len;
        self.last()
    }

    /// The piece that was taken last.
    pub(crate) fn last(&self) -> &[u8] {
        &self.bytes[self.last..self.at]
    }
}

/// Bulk work that can be repeated in batches, each of [`Traffic::batch_len`] bytes of plaintext.
pub(crate) trait Workload {
    /// Makes what [`Self::run`] consumes. Not timed.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// One batch. Timed.
    fn run(&mut self) -> Result<()>;

    /// How many records the last batch had.
    fn records(&self) -> usize;
}

impl Timed<1> for Box<dyn Workload> {
    fn batch(&mut self) -> Result<[f64; 1]> {
        self.prepare()?;
        let start = Instant::now();
        self.run()?;
        Ok([start.elapsed().as_secs_f64()])
    }
}

/// How many records `wire` consists of.
pub(crate) fn record_count(wire: &[u8]) -> usize {
    records(wire).count()
}

/// Content type and payload length of each record in `wire`.
pub(crate) fn records(mut wire: &[u8]) -> impl Iterator<Item = (u8, usize)> {
    core::iter::from_fn(move || {
        let [content_type, _, _, high, low, rest @ ..] = wire else {
            return None;
        };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        wire = rest.get(len..).unwrap_or(&[]);
        Some((*content_type, len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_by_their_headers() {
        assert_eq!(record_count(&[]), 0);
        assert_eq!(record_count(&[23, 3, 3, 0, 2, 9, 9]), 1);
        assert_eq!(record_count(&[23, 3, 3, 0, 0, 22, 3, 3, 0, 1, 9]), 2);
        let found: Vec<_> = records(&[23, 3, 3, 0, 0, 22, 3, 3, 0, 1, 9]).collect();
        assert_eq!(found, [(23, 0), (22, 1)]);
    }

    #[test]
    fn a_stretch_is_walked_through_and_begun_again() {
        let mut stretch = Stretch::new((0..10).collect(), 3);
        assert_eq!(stretch.rest().len(), 10);
        assert_eq!(stretch.take(4), [0, 1, 2, 3]);
        assert_eq!(stretch.step(), [4, 5, 6]);
        assert_eq!(stretch.step(), [7, 8, 9]);
        assert_eq!(stretch.step(), [0, 1, 2]);
        assert_eq!(stretch.last(), [0, 1, 2]);
        assert_eq!(stretch.rest().len(), 7);
    }
}
