//! What one hostile peer costs: the connection it talks to, alone in the process and over memory, so that each byte
//! of heap and each nanosecond is known.

use std::sync::Arc;

use bench_allocator::{bytes_of_this_thread, so_far, take_peak};
use harness::configs::{
    ClientAuth, KeyType, Versions, server_name, this as this_configs, upstream as upstream_configs,
};
use harness::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};

use super::attacker::Attacker;
use super::kinds::Kind;
use crate::cli::Provider;
use crate::socket::thread_cpu_time;
use crate::workload::{Result, Role, record_count};

/// Configurations that all victims of one implementation share.
pub(super) enum Victims {
    This(Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>),
    Upstream(
        Arc<rustls_upstream::ClientConfig>,
        Arc<rustls_upstream::ServerConfig>,
    ),
}

/// Servers ask for certificates, and take clients without.
const AUTH: ClientAuth = ClientAuth::OptionalAbsent;
const KEY_TYPE: KeyType = KeyType::EcdsaP256;

impl Victims {
    pub(super) fn new(implementation: &str, provider: Provider) -> Result<Self> {
        let in_harness = provider.in_harness();
        Ok(if implementation == "this" {
            let crypto = || in_harness.this();
            let client = this_configs::client_of(Versions::Both, crypto(), KEY_TYPE, AUTH);
            Self::This(Arc::new(client), crate::this::hostile_server(provider)?)
        } else {
            let crypto = || in_harness.upstream();
            let client = upstream_configs::client_of(Versions::Both, crypto(), KEY_TYPE, AUTH);
            Self::Upstream(Arc::new(client), crate::upstream::hostile_server(provider)?)
        })
    }

    fn victim(&self, role: Role) -> Result<Box<dyn Endpoint>> {
        use rustls::{ClientConnection as Client, ServerConnection as Server};
        use rustls_upstream::{
            ClientConnection as UpstreamClient, ServerConnection as UpstreamServer,
        };
        let name = server_name();
        Ok(match (self, role) {
            (Self::This(client, _), Role::Client) => {
                Box::new(ThisBuffered::new(Client::new(client.clone(), name)?))
            }
            (Self::This(_, server), Role::Server) => {
                Box::new(ThisBuffered::new(Server::new(server.clone())?))
            }
            (Self::Upstream(client, _), Role::Client) => Box::new(UpstreamBuffered::new(
                UpstreamClient::new(client.clone(), name)?,
            )),
            (Self::Upstream(_, server), Role::Server) => {
                Box::new(UpstreamBuffered::new(UpstreamServer::new(server.clone())?))
            }
        })
    }
}

/// What was found of a connection and its hostile peer.
#[derive(Default)]
pub(super) struct Found {
    /// That it has received.
    pub(super) records: usize,
    pub(super) bytes: usize,
    /// The error that it ended with.
    pub(super) error: Option<String>,
    /// The alert by which the peer was told.
    pub(super) alert: Option<String>,
    /// The most heap it held between two calls, itself and its buffers included.
    pub(super) held: i64,
    /// The most that was in use for it within a call, but for buffers that its thread has anyway.
    pub(super) peak: i64,
    pub(super) seconds: f64,
}

/// Has peers of `kind` talk to connections until either ends, or until each has had so many steps. Within the work of
/// [`bench_allocator::count`].
pub(super) fn found(kind: &'static Kind, victims: &Victims, steps: usize) -> Result<Found> {
    let at_once_steps = Ord::min(steps, AT_ONCE_STEPS);
    // the first of their kind have the thread fill its pool of buffers, and configurations their caches
    held_by(kind, victims, AT_ONCE + 2, at_once_steps)?;
    held_by(kind, victims, 1, steps)?;
    let mut meeting = Meeting::new(kind, victims)?;
    for _ in 0..steps {
        meeting.step()?;
    }
    // with it goes what it has of the pool
    let Meeting {
        mut found,
        watch,
        victim,
        ..
    } = meeting;
    drop(victim);
    (found.peak, found.seconds) = (watch.peak, watch.seconds);
    // Buffers come from the pool of the thread. What two connections more hold when others have all that is in it is
    // what each holds.
    let fewer = held_by(kind, victims, AT_ONCE, at_once_steps)?;
    let more = held_by(kind, victims, AT_ONCE + 2, at_once_steps)?;
    found.held = Ord::max(watch.most_held, (more - fewer) / 2);
    Ok(found)
}

/// As many connections as a thread's pool has buffers of a length.
const AT_ONCE: usize = 4;
const AT_ONCE_STEPS: usize = 40;

/// The most that so many connections hold at once, whose peers take their steps in turns.
fn held_by(
    kind: &'static Kind,
    victims: &Victims,
    connections: usize,
    steps: usize,
) -> Result<i64> {
    let meetings = (0..connections).map(|_| Meeting::new(kind, victims));
    let mut meetings = meetings.collect::<Result<Vec<_>>>()?;
    let mut most = 0;
    for _ in 0..steps {
        for meeting in &mut meetings {
            meeting.step()?;
        }
        let held = meetings.iter().map(|meeting| meeting.watch.held).sum();
        most = Ord::max(most, held);
    }
    Ok(most)
}

/// A connection and its hostile peer.
struct Meeting {
    attacker: Attacker,
    victim: Box<dyn Endpoint>,
    /// What the connection sends.
    answers: Vec<u8>,
    /// What it hands out.
    application: Vec<u8>,
    is_over: bool,
    watch: Watch,
    found: Found,
}

impl Meeting {
    fn new(kind: &'static Kind, victims: &Victims) -> Result<Self> {
        // what is not the connection's has its memory beforehand
        let (mut answers, application) = (Vec::with_capacity(1 << 18), Vec::with_capacity(1 << 18));
        let attacker = Attacker::new(kind)?;
        let mut watch = Watch::default();
        let mut victim = watch.run(|| victims.victim(kind.victim))?;
        watch.run(|| answers.append(&mut victim.take_output()));
        Ok(Self {
            attacker,
            victim,
            answers,
            application,
            is_over: false,
            watch,
            found: Found::default(),
        })
    }

    /// Has the peer take one step after the handshake, if it has any.
    fn step(&mut self) -> Result<()> {
        while !self.is_over {
            let was_connected = self.attacker.is_connected();
            self.exchange()?;
            if was_connected {
                break;
            }
        }
        Ok(())
    }

    /// Has the peer send once, and the connection answer.
    fn exchange(&mut self) -> Result<()> {
        let Self {
            attacker,
            victim,
            answers,
            application,
            watch,
            found,
            ..
        } = self;
        let sent = attacker.next(answers)?;
        let Some(sent) = sent.filter(|sent| !sent.is_empty() || !answers.is_empty()) else {
            self.is_over = true;
            return Ok(());
        };
        answers.clear();
        application.clear();
        found.records += record_count(&sent);
        found.bytes += sent.len();
        let reads = attacker.kind.reads || !attacker.is_connected();
        let received = watch.run(|| {
            let received = victim.receive(&sent).and_then(|()| victim.process());
            if received.is_ok() {
                victim.read_into(application);
            }
            // an application that answers whatever it is sent, as far as the connection takes it
            if !reads && received.is_ok() {
                victim.send(application);
            }
            if reads || received.is_err() {
                answers.append(&mut victim.take_output());
            }
            received
        });
        if let Err(error) = received {
            found.error = Some(error);
            found.alert = attacker.alert(answers);
            self.is_over = true;
        }
        Ok(())
    }
}

/// What happens while a connection runs.
#[derive(Default)]
struct Watch {
    held: i64,
    most_held: i64,
    peak: i64,
    seconds: f64,
}

impl Watch {
    fn run<T>(&mut self, work: impl FnOnce() -> T) -> T {
        take_peak();
        let (in_use, before) = (so_far().bytes, bytes_of_this_thread());
        let start = thread_cpu_time();
        let result = work();
        self.seconds += (thread_cpu_time() - start).as_secs_f64();
        self.peak = self.peak.max(self.held + take_peak() - in_use);
        self.held += bytes_of_this_thread() - before;
        self.most_held = self.most_held.max(self.held);
        result
    }
}
