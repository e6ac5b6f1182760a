//! Repeatable pieces of bulk work, and the memory that they use.

use core::hint::black_box;
use core::ops::Range;
use std::thread;
use std::time::Instant;

use harness::peers::pairs::{Result, check_received};

use super::scenario::Scenario;
use crate::choices::Direction;
use crate::measure::{Batches, Contender, Timed};

/// The traffic of an established connection.
#[derive(Clone)]
pub(crate) struct Traffic {
    pub(crate) connection: Scenario,
    /// The bytes that the application writes at a time.
    pub(crate) plaintext_size: usize,
    /// The plaintext bytes that a thread cycles through; `None`: the same write is repeated.
    pub(crate) working_set: Option<usize>,
    /// True for a quick check, whose batches are small.
    pub(crate) is_quick: bool,
}

impl Traffic {
    /// The approximate plaintext bytes in a batch. It is large enough that reading the clock is
    /// negligible, and small enough that the records stay in the second-level cache.
    const BATCH_LEN: usize = 256 * 1024;

    /// The most writes in a batch.
    const BATCH_WRITES: usize = 4096;

    /// Room for a message that the connection inserts.
    const MESSAGE_ROOM: usize = 1024;

    /// The number of writes of [`Self::plaintext_size`] bytes in one batch.
    pub(crate) fn writes(&self) -> usize {
        let writes = (Self::BATCH_LEN / self.plaintext_size).clamp(1, Self::BATCH_WRITES);
        match self.working_set {
            Some(bytes) => Ord::max(bytes / self.plaintext_size, 1),
            None if self.is_quick => writes.div_ceil(16),
            None => writes,
        }
    }

    /// The number of these writes that have their own memory.
    pub(crate) fn apart(&self) -> usize {
        self.working_set.map_or(1, |_| self.writes())
    }

    /// The plaintext bytes in one batch.
    pub(crate) fn batch_len(&self) -> usize {
        self.writes() * self.plaintext_size
    }

    /// The plaintexts of all writes.
    pub(crate) fn plaintext(&self) -> Stretch {
        Stretch::new(self.plaintext_size * self.apart(), self.plaintext_size)
    }

    /// Memory for the plaintext that the application copies.
    pub(crate) fn application(&self) -> Stretch {
        // unless its writes are larger, the application's buffer has this length
        let step = Ord::max(self.plaintext_size, 16384);
        Stretch::new(step + self.plaintext_size * (self.apart() - 1), step)
    }

    /// Memory for the records of each write.
    pub(crate) fn sealed(&self) -> Stretch {
        let room = self.sealed_room();
        Stretch::new(room * self.apart(), room)
    }

    /// The number of records in a batch.
    pub(crate) fn records(&self) -> usize {
        self.plaintext_size.div_ceil(MAX_PAYLOAD) * self.writes()
    }

    /// Room for the records of one write, with 64 bytes of overhead per record and room for one
    /// message.
    fn sealed_room(&self) -> usize {
        let records = self.plaintext_size.div_ceil(MAX_PAYLOAD) + 1;
        self.plaintext_size + 64 * records + Self::MESSAGE_ROOM
    }

    /// Memory for all records of a batch, back to back.
    pub(crate) fn incoming(&self) -> Vec<u8> {
        vec![0; self.sealed_room() * self.writes()]
    }
}

/// The most plaintext bytes in a record: RFC 9846 §5.1.
pub(crate) const MAX_PAYLOAD: usize = 1 << 14;

/// RFC 9846 §5.1: type, legacy version, length.
pub(crate) const RECORD_HEADER_LEN: usize = 5;

/// Memory that is used piece by piece, again and again.
pub(crate) struct Stretch {
    /// All pieces, and a page for the offset.
    bytes: Vec<u8>,
    len: usize,
    /// The start of the first piece.
    offset: usize,
    /// The room that each piece needs.
    step: usize,
    /// The start of the last piece, and that of the next one.
    last: usize,
    next: usize,
}

/// The speed of copies depends on the offsets of both buffers in a page of this many bytes.
pub(crate) const PAGE: usize = 4096;

/// The most offsets in a row at which copies are slow: 1 to 31 on Zen 3.
const SLOW_OFFSETS: usize = 32;

/// Heap memory is aligned to this many bytes.
pub(crate) const ALIGNMENT: usize = 16;

impl Stretch {
    /// Creates a stretch of `len` bytes with room for one step at least.
    pub(crate) fn new(len: usize, step: usize) -> Self {
        Self {
            bytes: (0..len + PAGE).map(|at| at as u8).collect(),
            len,
            offset: 0,
            step,
            last: 0,
            next: 0,
        }
    }

    /// Moves all pieces to `offset` in a page, which counts from the start of the allocation.
    pub(crate) fn place(&mut self, offset: usize) {
        self.offset = offset % PAGE;
        (self.last, self.next) = (self.offset, self.offset);
    }

    /// Returns the memory from the next piece on.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        let end = self.offset + self.len;
        if end - self.next < self.step {
            self.next = self.offset;
        }
        self.last = self.next;
        &mut self.bytes[self.next..end]
    }

    /// Returns the next piece, one step long.
    pub(crate) fn step(&mut self) -> &[u8] {
        self.rest();
        self.take(self.step)
    }

    /// Ends the next piece after `len` bytes of [`Self::rest`]; returns it.
    pub(crate) fn take(&mut self, len: usize) -> &[u8] {
        self.next += len;
        self.last()
    }

    /// The last piece.
    pub(crate) fn last(&self) -> &[u8] {
        &self.bytes[self.last..self.next]
    }
}

/// Bulk work that can be repeated in batches, each of [`Traffic::batch_len`] plaintext bytes.
pub(crate) trait Workload: Timed<1> + Send {
    /// Moves the application's buffer to `offset` in a page. Returns false if there is no buffer
    /// that an implementation could copy from or to.
    fn place(&mut self, _offset: usize) -> bool {
        false
    }

    /// Makes the input of [`Self::run`]. Not timed.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Runs one batch. Timed.
    fn run(&mut self) -> Result<()>;

    /// True if the calling thread only waits for others.
    fn waits(&self) -> bool {
        false
    }
}

fn seconds(workload: &mut dyn Workload) -> Result<f64> {
    workload.prepare()?;
    let start = Instant::now();
    workload.run()?;
    Ok(start.elapsed().as_secs_f64())
}

impl<W: Workload> Timed<1> for W {
    /// Uses another offset in each round.
    fn vary(&mut self, round: usize) {
        // coprime to the number of offsets, so that all occur
        self.place(round * 37 * ALIGNMENT);
    }

    fn batch(&mut self) -> Result<[f64; 1]> {
        Ok([seconds(self)?])
    }

    fn is_busy(&self) -> bool {
        !self.waits()
    }
}

/// Returns work that runs `all` at once, each on its own thread.
pub(crate) fn on_threads(mut all: Vec<Box<dyn Workload>>) -> Result<Box<dyn Workload>> {
    if all.len() > 1 {
        return Ok(Box::new(OnThreads(all)));
    }
    Ok(all.pop().ok_or("no threads")?)
}

struct OnThreads(Vec<Box<dyn Workload>>);

impl Workload for OnThreads {
    fn place(&mut self, offset: usize) -> bool {
        self.0.iter_mut().all(|workload| workload.place(offset))
    }

    fn prepare(&mut self) -> Result<()> {
        let mut all = self.0.iter_mut();
        all.try_for_each(|workload| workload.prepare())
    }

    fn run(&mut self) -> Result<()> {
        thread::scope(|scope| {
            let all = self.0.iter_mut();
            let threads = all.map(|workload| scope.spawn(|| workload.run()));
            let threads: Vec<_> = threads.collect();
            let mut done = threads.into_iter().map(|thread| thread.join());
            done.try_for_each(|done| done.map_err(|_| "a measuring thread panicked")?)
        })
    }

    fn waits(&self) -> bool {
        true
    }
}

/// Two ends, one of which sends to the other.
pub(crate) trait Transfers: Send + 'static {
    /// Writes the records of `plaintext` to the front of `out`; returns their length.
    fn send(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<usize>;

    /// Opens all records of `wire`; returns the length of their plaintext. The application copies
    /// it to `memory`, or reads it in place.
    fn receive(&mut self, wire: &mut [u8], memory: Option<&mut Stretch>) -> Result<usize>;
}

/// The work of `pair` in `direction`.
pub(crate) fn transfer<P: Transfers>(
    pair: P,
    direction: Direction,
    traffic: &Traffic,
    memory: Option<Stretch>,
) -> Box<dyn Workload> {
    let (plaintext, writes) = (traffic.plaintext(), traffic.writes());
    match direction {
        Direction::Send => Box::new(Sending {
            pair,
            plaintext,
            writes,
            out: traffic.sealed(),
        }),
        Direction::Receive => Box::new(Receiving {
            pair,
            plaintext,
            writes,
            wire: traffic.incoming(),
            wire_len: 0,
            memory,
        }),
    }
}

/// Timed: the sender's work to make records from plaintext, into one output buffer, again and
/// again.
struct Sending<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    out: Stretch,
}

impl<P: Transfers> Workload for Sending<P> {
    fn place(&mut self, offset: usize) -> bool {
        self.plaintext.place(offset);
        true
    }

    fn run(&mut self) -> Result<()> {
        for _ in 0..self.writes {
            let plaintext = black_box(self.plaintext.step());
            let used = self.pair.send(plaintext, self.out.rest())?;
            black_box(self.out.take(used));
        }
        Ok(())
    }
}

/// Timed: the receiver's work to get the plaintext of a batch of records.
struct Receiving<P> {
    pair: P,
    plaintext: Stretch,
    writes: usize,
    wire: Vec<u8>,
    wire_len: usize,
    memory: Option<Stretch>,
}

impl<P: Transfers> Workload for Receiving<P> {
    fn place(&mut self, offset: usize) -> bool {
        let memory = self.memory.as_mut();
        memory.map(|memory| memory.place(offset)).is_some()
    }

    fn prepare(&mut self) -> Result<()> {
        self.wire_len = 0;
        for _ in 0..self.writes {
            let free = &mut self.wire[self.wire_len..];
            self.wire_len += self.pair.send(self.plaintext.step(), free)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let wire = &mut self.wire[..self.wire_len];
        let received = self.pair.receive(wire, self.memory.as_mut())?;
        check_received(received, self.plaintext.last().len() * self.writes)
    }
}

/// An end that seals in place.
pub(crate) trait SealsInPlace: Send + 'static {
    /// Seals the plaintext at `payload` in `memory`, which has room for the record around it.
    fn seal_in_place(&mut self, memory: &mut [u8], payload: Range<usize>) -> Result<()>;
}

/// Timed: sealing in place, over the same records again and again. The ciphertext of one round is
/// the plaintext of the next.
pub(crate) struct InPlace<P> {
    pair: P,
    /// The memory of each record, and the place of its plaintext.
    records: Vec<(Vec<u8>, Range<usize>)>,
    rounds: usize,
}

impl<P: SealsInPlace> InPlace<P> {
    /// Each record has `room` bytes before and after its plaintext.
    pub(crate) fn new(pair: P, traffic: &Traffic, room: [usize; 2]) -> Self {
        let [head, tail] = room.map(|len| vec![0; len]);
        let (mut plaintext, mut records) = (traffic.plaintext(), Vec::new());
        for _ in 0..traffic.apart() {
            let fragments = plaintext.step().chunks(MAX_PAYLOAD);
            records.extend(fragments.map(|fragment| {
                let payload = head.len()..head.len() + fragment.len();
                ([&head, fragment, &tail].concat(), payload)
            }));
        }
        let rounds = traffic.writes() / traffic.apart();
        Self {
            pair,
            records,
            rounds,
        }
    }
}

impl<P: SealsInPlace> Workload for InPlace<P> {
    fn run(&mut self) -> Result<()> {
        for _ in 0..self.rounds {
            for (memory, payload) in &mut self.records {
                self.pair
                    .seal_in_place(black_box(memory), payload.clone())?;
                black_box(&memory[..]);
            }
        }
        Ok(())
    }
}

/// Moves `workload` to the offset at which it is slowest, where it stays.
pub(crate) fn slowest(mut workload: Box<dyn Workload>, stride: usize) -> Result<Contender<1>> {
    let slowest = slowest_offset(&mut *workload, stride)?;
    workload.place(slowest);
    let run = move || workload.batch();
    Ok(Box::new(Batches { run, is_busy: true }))
}

/// Tries every `stride`-th aligned offset, then every single offset around the slowest. Returns the
/// slowest one.
///
/// Copies are slow at up to 31 offsets in a row: aligned offsets find them, and single ones the
/// worst of them.
fn slowest_offset(workload: &mut dyn Workload, stride: usize) -> Result<usize> {
    let aligned = (0..PAGE).step_by(ALIGNMENT * stride);
    let around = slowest_of(workload, aligned)?;
    let single = (0..2 * SLOW_OFFSETS).step_by(stride);
    let single = single.map(|by| (PAGE + around + by - SLOW_OFFSETS) % PAGE);
    slowest_of(workload, single)
}

/// Returns the one of `offsets` at which `workload` is slowest.
fn slowest_of(workload: &mut dyn Workload, offsets: impl Iterator<Item = usize>) -> Result<usize> {
    let mut slowest = (0.0, 0);
    for offset in offsets {
        workload.place(offset);
        let first = seconds(workload)?;
        // an interruption may slow one down, but hardly both
        let time = seconds(workload)?.min(first);
        if time > slowest.0 {
            slowest = (time, offset);
        }
    }
    Ok(slowest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_starts_over_at_its_end() {
        let mut stretch = Stretch::new(10, 3);
        for offset in [0, 5] {
            let first = offset as u8;
            stretch.place(PAGE + offset);
            assert_eq!(stretch.rest().len(), 10);
            assert_eq!(stretch.take(4), [first, first + 1, first + 2, first + 3]);
            assert_eq!(stretch.step(), [first + 4, first + 5, first + 6]);
            assert_eq!(stretch.step()[0], first + 7);
            assert_eq!(stretch.step()[0], first);
            assert_eq!(stretch.last().len(), 3);
            assert_eq!(stretch.rest().len(), 7);
        }
    }

    /// Work that is slow at one offset.
    struct SlowAt(usize, usize);

    impl Workload for SlowAt {
        fn place(&mut self, offset: usize) -> bool {
            self.1 = offset;
            true
        }

        fn run(&mut self) -> Result<()> {
            if self.0 == self.1 {
                thread::sleep(core::time::Duration::from_millis(20));
            }
            Ok(())
        }
    }

    #[test]
    fn the_slowest_offset_is_found() {
        for offset in [160, 0] {
            assert_eq!(slowest_offset(&mut SlowAt(offset, 0), 1).unwrap(), offset);
        }
    }
}
