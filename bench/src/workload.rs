//! The parameters of connections of any implementation, and repeatable pieces of bulk work.

use std::sync::Arc;
use std::time::Instant;

pub(crate) use harness::peers::pairs::{Error, Result, check_received};
use pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use crate::cli::{ConnectionArgs, Group, KeyType, Provider, RunArgs};
use crate::measure::Timed;
use crate::suites::Suite;

/// The half of a connection that is timed.
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
    /// The order of `[client, server]`.
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// The parameters of a connection, shared by all implementations in a comparison.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) provider: Provider,
    pub(crate) suite: Suite,
    /// The key type of all certificates.
    pub(crate) key_type: KeyType,
    /// `None`: the groups that the provider offers by default.
    pub(crate) group: Option<Group>,
    /// The client's certificate and key, for servers that ask.
    pub(crate) client: Option<Arc<Identity>>,
    /// True if the server verifies the client's certificates, which dominates the cost of handling
    /// them.
    pub(crate) verifies_client: bool,
    /// True if connections and sessions share the certificates of one peer, where the
    /// implementation can.
    pub(crate) shares_chains: bool,
    pub(crate) sessions: Sessions,
    /// The number of tickets from a TLS 1.3 server; `None`: the default for `sessions`.
    pub(crate) tickets: Option<usize>,
    /// The number of sessions that each side keeps in memory, if it keeps any.
    pub(crate) kept: usize,
    pub(crate) max_fragment_size: Option<usize>,
}

impl Scenario {
    /// The scenario that the command line describes, with the suite called `suite`, for each
    /// provider.
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

/// The default number of sessions that each side keeps.
pub(crate) const SESSIONS: usize = 256;

/// A certificate chain and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The authority that the peer trusts.
    pub(crate) ca: CertificateDer<'static>,
}

impl Identity {
    /// Returns an identity with a key of `key_type` and a single certificate.
    pub(crate) fn of(key_type: KeyType) -> Self {
        let identities = key_type.identities();
        Self {
            chain: identities.client.chain.clone(),
            key: identities.client.key(),
            ca: identities.ca.clone(),
        }
    }
}

/// The session storage of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// The defaults of the configurations.
    Default,
    Nothing,
    /// The server stores every session, but no client resumes.
    Unused,
    /// Stored by the server: session IDs in TLS 1.2, tickets that name the session in TLS 1.3.
    Stored,
    /// Encrypted in tickets that the client keeps and the server opens.
    Tickets,
    /// Like tickets, but the server rotates their keys every second.
    RotatedTickets,
}

impl Sessions {
    /// True if handshakes after the first resume a session.
    pub(crate) const fn are_resumed(self) -> bool {
        match self {
            Self::Default | Self::Stored | Self::Tickets | Self::RotatedTickets => true,
            Self::Nothing | Self::Unused => false,
        }
    }
}

/// The traffic of an established connection.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub(crate) connection: Scenario,
    /// The bytes that the application writes at a time.
    pub(crate) plaintext_size: usize,
    /// The plaintext bytes that a thread cycles through; `None`: the same write is repeated.
    pub(crate) working_set: Option<usize>,
}

impl Traffic {
    /// The approximate plaintext bytes in a batch. It is large enough that reading the clock is
    /// negligible, and small enough that the records stay in the second-level cache.
    const BATCH_LEN: usize = 256 * 1024;

    /// The most writes in a batch.
    const BATCH_WRITES: usize = 4096;

    /// The number of writes of [`Self::plaintext_size`] bytes in one batch.
    pub(crate) fn writes(&self) -> usize {
        match self.working_set {
            Some(bytes) => Ord::max(bytes / self.plaintext_size, 1),
            None => (Self::BATCH_LEN / self.plaintext_size).clamp(1, Self::BATCH_WRITES),
        }
    }

    /// The number of these writes that have their own memory.
    pub(crate) fn apart(&self) -> usize {
        if self.working_set.is_some() {
            self.writes()
        } else {
            1
        }
    }

    /// The plaintext bytes in one batch.
    pub(crate) fn batch_len(&self) -> usize {
        self.writes() * self.plaintext_size
    }

    /// The plaintexts of all writes.
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

    /// The most plaintext bytes in a record. `max_fragment_size` includes the record header.
    pub(crate) fn max_record_payload(&self) -> usize {
        self.connection
            .max_fragment_size
            .map_or(MAX_RECORD_PAYLOAD, |size| size - RECORD_HEADER_LEN)
    }

    /// Room for a message that the connection inserts.
    const MESSAGE_ROOM: usize = 1024;

    /// Room for the records of one write, with 64 bytes of overhead per record and room for one
    /// message.
    fn sealed_room(&self) -> usize {
        let records = self.plaintext_size.div_ceil(self.max_record_payload()) + 1;
        self.plaintext_size + 64 * records + Self::MESSAGE_ROOM
    }

    /// Memory for all records of a batch, back to back.
    pub(crate) fn incoming(&self) -> Vec<u8> {
        vec![0; self.sealed_room() * self.writes()]
    }
}

/// RFC 9846 §5.1: 2^14 bytes.
const MAX_RECORD_PAYLOAD: usize = 1 << 14;

/// RFC 9846 §5.1: type, legacy version, length.
pub(crate) const RECORD_HEADER_LEN: usize = 5;

/// Memory that is used piece by piece, again and again.
pub(crate) struct Stretch {
    bytes: Vec<u8>,
    /// The room that each piece needs.
    step: usize,
    /// The start of the last piece, and that of the next one.
    last: usize,
    at: usize,
}

impl Stretch {
    /// Creates a stretch. `bytes` must have room for one step at least.
    pub(crate) fn new(bytes: Vec<u8>, step: usize) -> Self {
        Self {
            bytes,
            step,
            last: 0,
            at: 0,
        }
    }

    /// Returns the memory from the next piece on.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.at < self.step {
            self.at = 0;
        }
        self.last = self.at;
        &mut self.bytes[self.at..]
    }

    /// Returns the next piece, one step long.
    pub(crate) fn step(&mut self) -> &mut [u8] {
        let step = self.step;
        self.rest();
        self.at += step;
        &mut self.bytes[self.last..self.at]
    }

    /// Ends the next piece after `len` bytes of [`Self::rest`]; returns it.
    pub(crate) fn take(&mut self, len: usize) -> &[u8] {
        self.at += len;
        self.last()
    }

    /// The last piece.
    pub(crate) fn last(&self) -> &[u8] {
        &self.bytes[self.last..self.at]
    }
}

/// Bulk work that can be repeated in batches, each of [`Traffic::batch_len`] plaintext bytes.
pub(crate) trait Workload {
    /// Makes the input of [`Self::run`]. Not timed.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Runs one batch. Timed.
    fn run(&mut self) -> Result<()>;

    /// The number of records in the last batch.
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

/// The number of records in `wire`.
pub(crate) fn record_count(wire: &[u8]) -> usize {
    records(wire).count()
}

/// The content type and payload length of each record in `wire`.
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
    fn a_stretch_starts_over_at_its_end() {
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
