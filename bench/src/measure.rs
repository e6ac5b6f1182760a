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
use std::thread;
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use indicatif::{ProgressBar, ProgressStyle};

use crate::workload::Result;

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

    /// Runs the operation once.
    pub(crate) fn once(&mut self) -> Result<()> {
        (self.operation)()
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

/// The size of a measurement.
pub(crate) struct Plan {
    /// The number of turns of every workload.
    pub(crate) rounds: usize,
    /// The number of workloads.
    pub(crate) workloads: usize,
    /// The approximate duration of a turn, including its untimed part.
    pub(crate) turn: Duration,
    /// The number of threads that do the same at once.
    pub(crate) threads: usize,
}

/// The number of heap layouts in a long measurement.
const LAYOUTS: usize = 12;

/// Measures `work` as `plan` says, on several layouts of the heap.
///
/// The layout is an accident of a process, but decides how fast copies between buffers are. So each
/// part of the rounds has its own workloads, behind memory that is never freed.
pub(crate) fn over_layouts<const PARTS: usize, W: Timed<PARTS>>(
    plan: &Plan,
    work: &Work<'_, W>,
) -> Result<Rates<PARTS>> {
    let layouts = (plan.rounds / Plan::FEWEST_ROUNDS as usize).clamp(1, LAYOUTS);
    let mut all: Rates<PARTS> = Vec::new();
    for layout in 0..layouts {
        let part = Plan {
            rounds: plan.rounds.div_ceil(layouts),
            ..*plan
        };
        let work = Work {
            build: &|| {
                // an odd number of lines of 16 bytes, so that all places in a page occur
                core::mem::forget(black_box(vec![0_u8; layout * 16 * 85]));
                (work.build)()
            },
            batch_len: work.batch_len,
            label: format!("{}, layout {} of {layouts}", work.label, layout + 1),
        };
        let rates = interleaved(&part, &work)?;
        all.resize_with(rates.len(), || array::from_fn(|_| Vec::new()));
        for (all, rates) in all.iter_mut().zip(rates) {
            for (all, rates) in all.iter_mut().zip(rates) {
                all.extend(rates);
            }
        }
    }
    Ok(all)
}

impl Plan {
    /// No turn is repeated after this time, and no round begins if the fewest are done.
    fn longest(&self) -> Duration {
        6 * self.turn * (self.rounds * self.workloads) as u32
    }

    const ROUNDS: f64 = 360.0;
    const FEWEST_ROUNDS: f64 = 5.0;
    const TOTAL: Duration = Duration::from_millis(1600);

    /// A plan that takes about 1.6 s times `multiplier`, whatever the speed of the machine.
    pub(crate) fn new(multiplier: f64, workloads: usize, threads: usize) -> Self {
        let rounds = (Self::ROUNDS * multiplier).max(Self::FEWEST_ROUNDS).round();
        let turns = rounds * workloads as f64;
        Self {
            rounds: rounds as usize,
            workloads,
            turn: Self::TOTAL.mul_f64(multiplier / turns),
            threads,
        }
    }
}

/// The work of all threads.
pub(crate) struct Work<'a, W> {
    /// Creates [`Plan::workloads`] workloads; each thread has its own.
    pub(crate) build: &'a (dyn Fn() -> Result<Vec<W>> + Sync),
    /// The size of one batch, in the unit of the rates.
    pub(crate) batch_len: usize,
    /// The label of the progress bar.
    pub(crate) label: String,
}

/// The throughput of each part in each round, per second, summed over the threads:
/// `rates[workload][part][round]`.
pub(crate) type Rates<const PARTS: usize> = Vec<[Vec<f64>; PARTS]>;

/// Creates a progress bar for `rounds` on stderr, if stderr is a terminal.
pub(crate) fn progress(label: String, rounds: usize) -> ProgressBar {
    let bar = ProgressBar::new(rounds as u64).with_message(label);
    // only an invalid template is rejected, and would leave the default
    match ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Measures `work` as `plan` says.
pub(crate) fn interleaved<const PARTS: usize, W: Timed<PARTS>>(
    plan: &Plan,
    work: &Work<'_, W>,
) -> Result<Rates<PARTS>> {
    let barrier = Barrier::new(plan.threads);
    let (batches, rounds) = (AtomicUsize::new(1), AtomicUsize::new(plan.rounds));
    let progress = progress(work.label.clone(), plan.rounds);
    let epoch = Instant::now();
    let of_threads: Vec<Result<Turns<PARTS>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (barrier, batches, rounds) = (&barrier, &batches, &rounds);
                let progress = (index == 0).then_some(&progress);
                scope.spawn(move || {
                    OneThread {
                        plan,
                        work,
                        barrier,
                        batches,
                        rounds,
                        progress,
                        epoch,
                    }
                    .measure()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.unwrap_or_else(|_| Err("a measuring thread panicked".into())))
            .collect()
    });
    progress.finish_and_clear();
    let of_threads = of_threads.into_iter().collect::<Result<Vec<_>>>()?;
    let rates = (0..plan.workloads).map(|workload| {
        let turns = |round: usize| of_threads.iter().map(move |turns| &turns[workload][round]);
        array::from_fn(|part| {
            let rounds = 0..of_threads[0][workload].len();
            rounds.map(|round| summed(turns(round), part)).collect()
        })
    });
    Ok(rates.collect())
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

struct OneThread<'a, W> {
    plan: &'a Plan,
    work: &'a Work<'a, W>,
    /// Starts each turn on all threads together. A thread that has failed keeps waiting here too,
    /// or the others would hang.
    barrier: &'a Barrier,
    /// The number of timed batches in a turn, equal for all workloads and threads.
    batches: &'a AtomicUsize,
    /// The number of rounds: fewer than planned if a batch takes long.
    rounds: &'a AtomicUsize,
    /// `Some` on the one thread that sets both numbers and reports progress.
    progress: Option<&'a ProgressBar>,
    epoch: Instant,
}

impl<W> OneThread<'_, W> {
    fn measure<const PARTS: usize>(&self) -> Result<Turns<PARTS>>
    where
        W: Timed<PARTS>,
    {
        let mut workloads = (self.work.build)();
        let warm_up = match &mut workloads {
            Ok(workloads) => self.warm_up(workloads),
            Err(_) => Ok(()),
        };
        let mut outcome = warm_up.and(workloads);
        let empty = || Vec::with_capacity(self.plan.rounds);
        let mut turns: Turns<PARTS> = (0..self.plan.workloads).map(|_| empty()).collect();
        for round in 0..self.plan.rounds {
            // known since the first turn
            if round >= Plan::FEWEST_ROUNDS as usize && round >= self.rounds.load(Ordering::SeqCst)
            {
                break;
            }
            for place in 0..self.plan.workloads {
                // the order alternates, so that no workload always runs after the same one
                let index = if round.is_multiple_of(2) {
                    place
                } else {
                    self.plan.workloads - 1 - place
                };
                self.barrier.wait();
                let turn = match &mut outcome {
                    Ok(workloads) => self.turn(round, &mut workloads[index]),
                    Err(_) => continue,
                };
                match turn {
                    Ok(turn) => turns[index].push(turn),
                    Err(error) => outcome = Err(error),
                }
            }
            if let Some(progress) = self.progress {
                progress.inc(1);
            }
        }
        outcome.map(|_| turns)
    }

    /// Runs each workload a few times and derives the number of batches in a turn.
    fn warm_up<const PARTS: usize>(&self, workloads: &mut [W]) -> Result<()>
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
        if self.progress.is_some() {
            let mean = start.elapsed().as_secs_f64() / (2 * workloads.len()) as f64;
            let batches = (self.plan.turn.as_secs_f64() / mean).round() as usize;
            // each turn runs one more batch, untimed
            self.batches
                .store(Ord::max(batches, 2) - 1, Ordering::SeqCst);
            let round = 2.0 * mean * workloads.len() as f64;
            let rounds = (self.plan.longest().as_secs_f64() / round) as usize;
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
            let may_repeat = self.plan.threads == 1
                && workload.is_busy()
                && !cpu.is_zero()
                && end < self.plan.longest().as_secs_f64();
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
    struct Sleeps<'a> {
        is_busy: bool,
        batches: &'a AtomicUsize,
    }

    impl Timed<1> for Sleeps<'_> {
        fn batch(&mut self) -> Result<[f64; 1]> {
            thread::sleep(Duration::from_millis(1));
            self.batches.fetch_add(1, Ordering::SeqCst);
            Ok([1.0])
        }

        fn is_busy(&self) -> bool {
            self.is_busy
        }
    }

    #[test]
    fn turns_without_the_processor_are_repeated_for_a_limited_time() {
        let [repeated, once] = [true, false].map(|is_busy| {
            let batches = AtomicUsize::new(0);
            let work = Work {
                build: &|| {
                    Ok(vec![Sleeps {
                        is_busy,
                        batches: &batches,
                    }])
                },
                batch_len: 1,
                label: String::new(),
            };
            let plan = Plan {
                turn: Duration::from_millis(8),
                ..Plan::new(0.001, 1, 1)
            };
            let rates = interleaved(&plan, &work).unwrap();
            assert_eq!(rates[0][0].len(), plan.rounds);
            drop(work);
            batches.into_inner()
        });
        assert!(!cfg!(unix) || repeated > once, "{repeated} {once}");
    }

    fn measure(threads: usize, after: usize) -> Result<Rates<2>> {
        let work = Work {
            build: &|| Ok(vec![Fails { after: usize::MAX }, Fails { after }]),
            batch_len: 1000,
            label: String::new(),
        };
        interleaved(&Plan::new(0.001, 2, threads), &work)
    }

    #[test]
    fn every_part_of_every_workload_has_a_rate_for_every_round() {
        let rates = measure(1, usize::MAX).unwrap();
        let rounds = Plan::FEWEST_ROUNDS as usize;
        assert_eq!(
            rates,
            [
                [vec![2000.0; rounds], vec![4000.0; rounds]],
                [vec![2000.0; rounds], vec![4000.0; rounds]]
            ]
        );
    }

    #[test]
    fn throughputs_of_threads_on_one_processor_do_not_add_up() {
        let turn = |start, end| Turn {
            rates: [1000.0],
            start,
            end,
        };
        let together = [turn(1.0, 2.0), turn(1.0, 2.0)];
        assert_eq!(summed(together.iter(), 0), 2000.0);
        let one_after_the_other = [turn(1.0, 2.0), turn(2.0, 3.0)];
        assert_eq!(summed(one_after_the_other.iter(), 0), 1000.0);
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
    fn a_long_measurement_is_divided_among_layouts() {
        use core::sync::atomic::AtomicUsize;
        let (built, rounds) = (AtomicUsize::new(0), 60);
        let work = Work {
            build: &|| {
                built.fetch_add(1, Ordering::SeqCst);
                Ok(vec![Fails { after: usize::MAX }])
            },
            batch_len: 1000,
            label: String::new(),
        };
        let plan = Plan {
            rounds,
            ..Plan::new(0.001, 1, 1)
        };
        let rates = over_layouts(&plan, &work).unwrap();
        assert_eq!(built.into_inner(), LAYOUTS);
        assert_eq!(rates[0][0].len(), rounds);
    }
}
