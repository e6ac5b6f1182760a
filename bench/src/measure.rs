//! Measures several workloads against each other in turns: a little of each, many times over.
//!
//! The machine's speed drifts with other processes, clock frequency and temperature. In rounds of a
//! few milliseconds every workload has its turn, so the drift affects all of them alike. Figures
//! are compared within a round; then the median over the rounds is taken.

use core::array;
use core::hint::black_box;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use harness::peers::pairs::Result;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// Work that can be repeated in batches of equal size. Each batch has `PARTS` parts that are timed
/// separately.
pub(crate) trait Timed<const PARTS: usize> {
    /// Prepares for round `round`, by using other memory for example.
    fn vary(&mut self, round: usize) {
        let _ = round;
    }

    /// Runs one batch; returns the seconds that each of its parts took.
    fn batch(&mut self) -> Result<[f64; PARTS]>;

    /// True if the calling thread does all of the work, without waiting.
    fn is_busy(&self) -> bool {
        true
    }
}

/// An operation that can be repeated.
pub(crate) type Operation = Box<dyn FnMut() -> Result<()>>;

/// An operation, repeated often enough that the cost of reading the clock is negligible.
pub(crate) struct Repeated {
    operation: Operation,
    times: u32,
}

impl Repeated {
    /// Much longer than reading a clock takes.
    const SECONDS: f64 = 20e-6;

    pub(crate) fn new(operation: Operation) -> Result<Self> {
        let mut repeated = Self {
            operation,
            times: 1,
        };
        while repeated.seconds()? < Self::SECONDS {
            repeated.times *= 2;
        }
        Ok(repeated)
    }

    /// The number of repetitions in a batch.
    pub(crate) fn times(&self) -> u32 {
        self.times
    }

    fn seconds(&mut self) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..self.times {
            (self.operation)()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

impl Timed<1> for Repeated {
    fn batch(&mut self) -> Result<[f64; 1]> {
        Ok([self.seconds()? / f64::from(self.times)])
    }
}

/// Work without further properties.
pub(crate) type Contender<const PARTS: usize> = Box<dyn Timed<PARTS>>;

/// Creates the workloads that are measured against each other; each thread has its own.
pub(crate) type Build<'a, W> = &'a (dyn Fn() -> Result<Vec<Box<W>>> + Sync);

/// Work that is measured: the same on each thread.
pub(crate) struct Work<'a, W: ?Sized> {
    pub(crate) build: Build<'a, W>,
    /// The number of workloads.
    pub(crate) workloads: usize,
    /// The size of one batch, in the unit of the rates.
    pub(crate) batch_len: usize,
    /// The number of threads that do the same at once.
    pub(crate) threads: usize,
    /// The measuring time relative to [`TOTAL`], whatever the speed of the machine.
    pub(crate) multiplier: f64,
    /// The label of the progress bar.
    pub(crate) label: String,
}

const TOTAL: Duration = Duration::from_millis(1600);
/// The number of turns of every workload in this time.
const ROUNDS: f64 = 360.0;
const FEWEST_ROUNDS: usize = 5;

/// The number of heap layouts in a long measurement.
const LAYOUTS: usize = 12;

/// The throughput of each part in each round, per second, summed over the threads:
/// `rates[workload][part][round]`.
pub(crate) type Rates<const PARTS: usize> = Vec<[Vec<f64>; PARTS]>;

impl<'a, W: ?Sized> Work<'a, W> {
    /// Work on one thread, in batches of one.
    pub(crate) fn new(
        build: Build<'a, W>,
        workloads: usize,
        multiplier: f64,
        label: impl Into<String>,
    ) -> Self {
        Self {
            build,
            workloads,
            batch_len: 1,
            threads: 1,
            multiplier,
            label: label.into(),
        }
    }

    /// Measures on several layouts of the heap.
    ///
    /// The layout is an accident of a process, but decides how fast copies between buffers are. So
    /// each part of the rounds has its own workloads, behind memory that is never freed.
    pub(crate) fn over_layouts<const PARTS: usize>(&self) -> Result<Rates<PARTS>>
    where
        W: Timed<PARTS>,
    {
        let layouts = (rounds(self.multiplier) / FEWEST_ROUNDS).clamp(1, LAYOUTS);
        let multiplier = self.multiplier / layouts as f64;
        let bar = progress(&self.label, layouts * rounds(multiplier));
        let mut all: Rates<PARTS> = vec![[const { Vec::new() }; PARTS]; self.workloads];
        for layout in 0..layouts {
            let build = || {
                // an odd number of lines of 16 bytes, so that all places in a page occur
                core::mem::forget(black_box(vec![0_u8; layout * 16 * 85]));
                (self.build)()
            };
            let part = Work {
                build: &build,
                multiplier,
                label: String::new(),
                ..*self
            };
            let rates = part.reporting_to(&bar)?;
            for (all, rates) in all.iter_mut().flatten().zip(rates.into_iter().flatten()) {
                all.extend(rates);
            }
        }
        Ok(all)
    }

    /// Measures in rounds.
    pub(crate) fn interleaved<const PARTS: usize>(&self) -> Result<Rates<PARTS>>
    where
        W: Timed<PARTS>,
    {
        self.reporting_to(&progress(&self.label, rounds(self.multiplier)))
    }

    /// Measures in rounds, and advances `bar` by the number of planned ones.
    fn reporting_to<const PARTS: usize>(&self, bar: &ProgressBar) -> Result<Rates<PARTS>>
    where
        W: Timed<PARTS>,
    {
        let shared = &Shared::new(self, bar);
        let of_threads = thread::scope(|scope| {
            let start = |index| scope.spawn(move || shared.measure(index == 0));
            let threads: Vec<_> = (0..self.threads).map(start).collect();
            let panicked = |_| Err("a measuring thread panicked".into());
            let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(panicked);
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        let of_threads: Vec<Turns<PARTS>> = of_threads.into_iter().collect::<Result<_>>()?;
        let rates = (0..self.workloads).map(|workload| {
            let turns = |round: usize| of_threads.iter().map(move |turns| &turns[workload][round]);
            array::from_fn(|part| {
                let rounds = 0..of_threads[0][workload].len();
                rounds.map(|round| summed(turns(round), part)).collect()
            })
        });
        Ok(rates.collect())
    }
}

/// The planned number of turns of every workload.
pub(crate) fn rounds(multiplier: f64) -> usize {
    ((ROUNDS * multiplier).round() as usize).max(FEWEST_ROUNDS)
}

/// Creates a progress bar for `rounds` on stderr, if stderr is a terminal. The allocator precedes
/// its label. It disappears when it is dropped.
pub(crate) fn progress(label: &str, rounds: usize) -> ProgressBar {
    let label = format!("{} · {label}", bench_allocator::selected().name());
    let bar = ProgressBar::new(rounds as u64).with_message(label);
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %");
    // only an invalid template is rejected
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_finish(ProgressFinish::AndClear)
}

/// The measurements of one thread: `turns[workload][round]`.
type Turns<const PARTS: usize> = Vec<Vec<Turn<PARTS>>>;

/// One turn of one workload on one thread.
struct Turn<const PARTS: usize> {
    rates: [f64; PARTS],
    /// Seconds since the measurement began.
    start: f64,
    end: f64,
}

/// The throughput of all threads in one turn. A thread's work counts over the whole time from the
/// first start to the last end. So a thread that waited for a processor does not look like an
/// additional processor.
fn summed<'a, const PARTS: usize>(
    turns: impl Iterator<Item = &'a Turn<PARTS>> + Clone,
    part: usize,
) -> f64 {
    let start = turns
        .clone()
        .map(|turn| turn.start)
        .fold(f64::MAX, f64::min);
    let end = turns.clone().map(|turn| turn.end).fold(0.0, f64::max);
    turns
        .map(|turn| turn.rates[part] * ((turn.end - turn.start) / (end - start)))
        .sum()
}

/// The parts of a measurement that its threads share.
struct Shared<'a, W: ?Sized> {
    work: &'a Work<'a, W>,
    /// The approximate duration of a turn, including its untimed part.
    turn: Duration,
    /// No turn is repeated after this time, and no round begins if the fewest are done.
    longest: Duration,
    /// Starts each turn on all threads together. A thread that has failed keeps waiting here too,
    /// or the others would hang.
    barrier: Barrier,
    /// The number of timed batches in a turn, equal for all workloads and threads.
    batches: AtomicUsize,
    /// The number of planned rounds, and that of the possible ones: fewer if a batch takes long.
    planned: usize,
    rounds: AtomicUsize,
    progress: &'a ProgressBar,
    epoch: Instant,
}

impl<'a, W: ?Sized> Shared<'a, W> {
    fn new(work: &'a Work<'a, W>, progress: &'a ProgressBar) -> Self {
        let planned = rounds(work.multiplier);
        let turns = (planned * work.workloads) as u32;
        let turn = TOTAL.mul_f64(work.multiplier) / turns;
        Self {
            work,
            turn,
            longest: 6 * turn * turns,
            barrier: Barrier::new(work.threads),
            batches: AtomicUsize::new(1),
            planned,
            rounds: AtomicUsize::new(planned),
            progress,
            epoch: Instant::now(),
        }
    }

    /// Measures on the calling thread. The first one sets the number of batches and rounds, and
    /// reports progress.
    fn measure<const PARTS: usize>(&self, is_first: bool) -> Result<Turns<PARTS>>
    where
        W: Timed<PARTS>,
    {
        let warm = |mut workloads: Vec<_>| {
            let done = self.warm_up(&mut workloads, is_first);
            done.map(|()| workloads)
        };
        let mut outcome = (self.work.build)().and_then(warm);
        let (count, planned) = (self.work.workloads, self.planned);
        let before = self.progress.position();
        let mut turns: Turns<PARTS> = (0..count).map(|_| Vec::with_capacity(planned)).collect();
        for round in 0..planned {
            // known since the first turn
            if round >= self.rounds.load(Ordering::SeqCst) {
                break;
            }
            for place in 0..count {
                // the order alternates, so that no workload always runs after the same one
                let index = [place, count - 1 - place][round % 2];
                self.barrier.wait();
                let Ok(workloads) = &mut outcome else {
                    continue;
                };
                match self.turn(round, &mut *workloads[index]) {
                    Ok(turn) => turns[index].push(turn),
                    Err(error) => outcome = Err(error),
                }
            }
            if is_first {
                let advanced = planned * (round + 1) / self.rounds.load(Ordering::SeqCst);
                self.progress.set_position(before + advanced as u64);
            }
        }
        outcome.map(|_| turns)
    }

    /// Runs each workload a few times and derives the number of batches in a turn.
    fn warm_up<const PARTS: usize>(&self, workloads: &mut [Box<W>], is_first: bool) -> Result<()>
    where
        W: Timed<PARTS>,
    {
        for workload in &mut *workloads {
            workload.batch()?;
        }
        let start = Instant::now();
        for workload in &mut *workloads {
            workload.batch()?;
            workload.batch()?;
        }
        if is_first {
            let mean = start.elapsed().as_secs_f64() / (2 * workloads.len()) as f64;
            let batches = (self.turn.as_secs_f64() / mean).round() as usize;
            // each turn runs one more batch, untimed
            self.batches.store(batches.max(2) - 1, Ordering::SeqCst);
            let round = 2.0 * mean * workloads.len() as f64;
            let rounds = (self.longest.as_secs_f64() / round) as usize;
            let rounds = rounds.clamp(FEWEST_ROUNDS, self.planned);
            self.rounds.store(rounds, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The share of a processor's time that an undisturbed turn has.
    const UNDISTURBED: f64 = 0.97;
    const ATTEMPTS: usize = 12;

    /// Runs one turn of `workload`. Repeats it if another program took the processor meanwhile.
    fn turn<const PARTS: usize>(&self, round: usize, workload: &mut W) -> Result<Turn<PARTS>>
    where
        W: Timed<PARTS>,
    {
        workload.vary(round);
        // untimed: the first batch refills the caches that the previous workload evicted
        workload.batch()?;
        let batches = self.batches.load(Ordering::SeqCst);
        let mut attempts = 1;
        loop {
            let (start, cpu) = (self.epoch.elapsed().as_secs_f64(), thread_cpu_time());
            let mut times = [0.0; PARTS];
            for _ in 0..batches {
                for (sum, time) in times.iter_mut().zip(workload.batch()?) {
                    *sum += time;
                }
            }
            let (end, cpu) = (self.epoch.elapsed().as_secs_f64(), thread_cpu_time() - cpu);
            // the other threads would not wait for a repetition
            let may_repeat = self.work.threads == 1
                && workload.is_busy()
                && !cpu.is_zero()
                && end < self.longest.as_secs_f64();
            let had_processor = cpu.as_secs_f64() > Self::UNDISTURBED * (end - start);
            if had_processor || !may_repeat || attempts == Self::ATTEMPTS {
                let rates = times.map(|time| (batches * self.work.batch_len) as f64 / time);
                return Ok(Turn { rates, start, end });
            }
            attempts += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Fails {
        after: usize,
    }

    impl Timed<2> for Fails {
        fn batch(&mut self) -> Result<[f64; 2]> {
            self.after = self.after.checked_sub(1).ok_or("it failed")?;
            Ok([0.5, 0.25])
        }
    }

    /// Work without the processor.
    struct Sleeps {
        is_busy: bool,
        batches: Arc<AtomicUsize>,
    }

    impl Timed<1> for Sleeps {
        fn batch(&mut self) -> Result<[f64; 1]> {
            thread::sleep(Duration::from_millis(1));
            self.batches.fetch_add(1, Ordering::SeqCst);
            Ok([1.0])
        }

        fn is_busy(&self) -> bool {
            self.is_busy
        }
    }

    /// Work of which the planned time has room for a few batches only.
    struct Slow;

    impl Timed<1> for Slow {
        fn batch(&mut self) -> Result<[f64; 1]> {
            thread::sleep(Duration::from_millis(20));
            Ok([1.0])
        }

        fn is_busy(&self) -> bool {
            false
        }
    }

    /// The shortest work of one workload on one thread.
    fn one<const PARTS: usize>(
        build: Build<'_, dyn Timed<PARTS>>,
        rounds: usize,
    ) -> Work<'_, dyn Timed<PARTS>> {
        Work {
            batch_len: 1000,
            ..Work::new(build, 1, rounds as f64 / ROUNDS, "")
        }
    }

    #[test]
    fn turns_without_the_processor_are_repeated_for_a_limited_time() {
        let [repeated, once] = [true, false].map(|is_busy| {
            let batches = Arc::new(AtomicUsize::new(0));
            let build = || {
                let batches = batches.clone();
                let sleeps: Contender<1> = Box::new(Sleeps { is_busy, batches });
                Ok(vec![sleeps])
            };
            let rates = one(&build, FEWEST_ROUNDS).interleaved().unwrap();
            assert_eq!(rates[0][0].len(), FEWEST_ROUNDS);
            batches.load(Ordering::SeqCst)
        });
        assert!(!cfg!(unix) || repeated > once, "{repeated} {once}");
    }

    fn fails(after: usize) -> Contender<2> {
        Box::new(Fails { after })
    }

    fn measure(threads: usize, after: usize) -> Result<Rates<2>> {
        let build = || Ok(vec![fails(usize::MAX), fails(after)]);
        let work = Work {
            workloads: 2,
            threads,
            ..one(&build, FEWEST_ROUNDS)
        };
        work.interleaved()
    }

    #[test]
    fn every_part_of_every_workload_has_a_rate_for_every_round() {
        let rates = measure(1, usize::MAX).unwrap();
        let of_each = [2000.0, 4000.0].map(|rate| vec![rate; FEWEST_ROUNDS]);
        assert_eq!(rates, [of_each.clone(), of_each]);
    }

    #[test]
    fn throughputs_of_threads_on_one_processor_do_not_add_up() {
        for (second, expected) in [((1.0, 2.0), 2000.0), ((2.0, 3.0), 1000.0)] {
            let turns = [(1.0, 2.0), second].map(|(start, end)| Turn {
                rates: [1000.0],
                start,
                end,
            });
            assert_eq!(summed(turns.iter(), 0), expected);
        }
    }

    #[test]
    fn a_failure_ends_the_measurement_on_all_threads() {
        for threads in [1, 2] {
            for after in [0, 1, 4] {
                let error = measure(threads, after).unwrap_err();
                assert_eq!(error.to_string(), "it failed");
            }
        }
    }

    #[test]
    fn a_bar_over_several_measurements_reaches_its_end() {
        let build = || Ok(vec![Box::new(Slow) as Contender<1>]);
        let planned = FEWEST_ROUNDS + 1;
        let work = one(&build, planned);
        let bar = progress("", 2 * planned);
        for done in [1, 2] {
            let rates = work.reporting_to(&bar).unwrap();
            // there is no time for all of them
            assert_eq!(rates[0][0].len(), FEWEST_ROUNDS);
            assert_eq!(bar.position(), done * planned as u64);
        }
    }

    #[test]
    fn a_long_measurement_is_divided_among_layouts() {
        let built = AtomicUsize::new(0);
        let build = || {
            built.fetch_add(1, Ordering::SeqCst);
            Ok(vec![fails(usize::MAX)])
        };
        let rates = one(&build, 60).over_layouts().unwrap();
        assert_eq!(built.load(Ordering::SeqCst), LAYOUTS);
        assert_eq!(rates[0][0].len(), 60);
    }
}
