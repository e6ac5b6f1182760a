//! The cost of one hostile peer. Its connection is alone in the process, over memory, so each heap
//! byte and nanosecond is attributed to it.

use bench_allocator::{bytes_of_this_thread, so_far, take_peak};
use harness::peers::endpoints::Endpoint;
use harness::peers::os::thread_cpu_time;
use harness::peers::roles::Role;
use harness::wire::records;

use crate::Result;
use crate::attacker::Attacker;
use crate::kinds::Kind;

/// The configurations shared by all attacked connections of one library.
pub(crate) trait Victims {
    /// A new connection of this side.
    fn connect(&self, side: Role) -> Result<Box<dyn Endpoint>>;
}

/// The result of a connection with its hostile peer.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Records received.
    pub(crate) records: usize,
    pub(crate) bytes: usize,
    /// The error that ended the connection.
    pub(crate) error: Option<String>,
    /// The alert sent to the peer.
    pub(crate) alert: Option<String>,
    /// The most heap held between two calls, including the connection and its buffers.
    pub(crate) held: i64,
    /// The most heap in use during a call, without buffers that its thread keeps anyway.
    pub(crate) peak: i64,
    pub(crate) seconds: f64,
}

/// Runs connections against peers of `kind`, until one side ends or after `steps` steps. Call it
/// within the work of [`bench_allocator::count`].
pub(crate) fn outcome(kind: &'static Kind, victims: &dyn Victims, steps: usize) -> Result<Outcome> {
    let at_once_steps = Ord::min(steps, AT_ONCE_STEPS);
    // first fill the thread's buffer pool and the caches of the configurations
    held_by(kind, victims, AT_ONCE + 2, at_once_steps)?;
    held_by(kind, victims, 1, steps)?;
    let mut meeting = Meeting::new(kind, victims)?;
    for _ in 0..steps {
        meeting.step()?;
    }
    // returns its buffers to the pool
    let Meeting {
        mut outcome,
        watch,
        victim,
        ..
    } = meeting;
    drop(victim);
    (outcome.peak, outcome.seconds) = (watch.peak, watch.seconds);
    // Buffers come from the thread's pool. Once other connections use up the pool, two more
    // connections show the memory that each holds.
    let fewer = held_by(kind, victims, AT_ONCE, at_once_steps)?;
    let more = held_by(kind, victims, AT_ONCE + 2, at_once_steps)?;
    outcome.held = Ord::max(watch.most_held, (more - fewer) / 2);
    Ok(outcome)
}

/// The number of connections that use up a pool's buffers of one length.
const AT_ONCE: usize = 4;
const AT_ONCE_STEPS: usize = 40;

/// The most heap that `connections` connections hold at once, whose peers take their steps in
/// turns.
fn held_by(
    kind: &'static Kind,
    victims: &dyn Victims,
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
    /// The output of the connection.
    answers: Vec<u8>,
    /// The plaintext from the connection.
    application: Vec<u8>,
    is_over: bool,
    watch: Watch,
    outcome: Outcome,
}

impl Meeting {
    fn new(kind: &'static Kind, victims: &dyn Victims) -> Result<Self> {
        // memory that does not belong to the connection is allocated in advance
        let (mut answers, application) = (Vec::with_capacity(1 << 18), Vec::with_capacity(1 << 18));
        let attacker = Attacker::new(kind)?;
        let mut watch = Watch::default();
        let mut victim = watch.run(|| victims.connect(kind.victim))?;
        watch.run(|| answers.append(&mut victim.take_output()));
        Ok(Self {
            attacker,
            victim,
            answers,
            application,
            is_over: false,
            watch,
            outcome: Outcome::default(),
        })
    }

    /// Lets the peer complete the handshake, or take one step after it.
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

    /// Lets the peer send once and the connection answer.
    fn exchange(&mut self) -> Result<()> {
        let Self {
            attacker,
            victim,
            answers,
            application,
            watch,
            outcome,
            ..
        } = self;
        let sent = attacker.next(answers)?;
        let Some(sent) = sent.filter(|sent| !sent.is_empty() || !answers.is_empty()) else {
            self.is_over = true;
            return Ok(());
        };
        answers.clear();
        application.clear();
        outcome.records += records(&sent).len();
        outcome.bytes += sent.len();
        let reads = attacker.kind.reads || !attacker.is_connected();
        let received = watch.run(|| {
            let received = victim.receive(&sent).and_then(|()| victim.process());
            if received.is_ok() {
                victim.read_into(application);
            }
            // an application that echoes everything, as long as the connection accepts it
            if !reads && received.is_ok() {
                victim.send(application);
            }
            if reads || received.is_err() {
                answers.append(&mut victim.take_output());
            }
            received
        });
        if let Err(error) = received {
            outcome.error = Some(error);
            outcome.alert = attacker.alert(answers);
            self.is_over = true;
        }
        Ok(())
    }
}

/// The resources used while a connection runs.
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
