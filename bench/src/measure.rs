//! Measures several workloads against each other in turns: a little of each, many times over.
//!
//! The machine's speed drifts with other processes, clock frequency and temperature. In rounds of a
//! few milliseconds every workload has its turn, so the drift affects all of them alike. Figures
//! are compared within a round; then the median over the rounds is taken.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use harness::peers::os::thread_cpu_time;
use harness::peers::pairs::Result;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// Work that can be repeated in batches of equal size. Each batch has `PARTS` parts that are timed
/// separately.
pub(crate) trait Timed<const PARTS: usize> {
    /// Prepares for a round, by using other memory for example.
    fn vary(&mut self, _round: usize) {}

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

/// Work whose batches a closure runs.
pub(crate) struct Batches<F> {
    pub(crate) run: F,
    pub(crate) is_busy: bool,
}

impl<F: FnMut() -> Result<[f64; PARTS]>, const PARTS: usize> Timed<PARTS> for Batches<F> {
    fn batch(&mut self) -> Result<[f64; PARTS]> {
        (self.run)()
    }

    fn is_busy(&self) -> bool {
        self.is_busy
    }
}

/// A workload without further methods.
pub(crate) type Contender<const PARTS: usize> = Box<dyn Timed<PARTS>>;

/// Creates the workloads that are measured against each other.
type Build<'a, const PARTS: usize> = &'a dyn Fn() -> Result<Vec<Contender<PARTS>>>;

/// Work that is measured.
pub(crate) struct Work<'a, const PARTS: usize> {
    build: Build<'a, PARTS>,
    /// The size of one batch, in the unit of the rates.
    batch_len: usize,
    /// The measuring time relative to [`TOTAL`], whatever the speed of the machine.
    multiplier: f64,
    /// The label of the progress bar.
    label: String,
}

const TOTAL: Duration = Duration::from_millis(1600);
/// The number of turns of every workload in this time.
const ROUNDS: f64 = 360.0;
const FEWEST_ROUNDS: usize = 5;

/// The number of heap layouts in a long measurement.
const LAYOUTS: usize = 12;

/// The throughput of each part in each round, per second: `rates[workload][part][round]`.
pub(crate) type Rates<const PARTS: usize> = Vec<[Vec<f64>; PARTS]>;

impl<'a, const PARTS: usize> Work<'a, PARTS> {
    pub(crate) fn new(
        build: Build<'a, PARTS>,
        batch_len: usize,
        multiplier: f64,
        label: impl Into<String>,
    ) -> Self {
        Self {
            build,
            batch_len,
            multiplier,
            label: label.into(),
        }
    }

    /// Measures on several layouts of the heap.
    ///
    /// The layout is an accident of a process, but decides how fast copies between buffers are. So
    /// each part of the rounds has its own workloads, behind memory that is never freed.
    pub(crate) fn over_layouts(&self) -> Result<Rates<PARTS>> {
        let layouts = (rounds(self.multiplier) / FEWEST_ROUNDS).clamp(1, LAYOUTS);
        let part = Work {
            multiplier: self.multiplier / layouts as f64,
            label: String::new(),
            ..*self
        };
        let bar = progress(&self.label, layouts * rounds(part.multiplier));
        let mut all = part.reporting_to(&bar)?;
        for layout in 1..layouts {
            // an odd multiple of 16 bytes, so that all places in a page occur
            core::mem::forget(black_box(vec![0_u8; layout * 16 * 85]));
            let rates = part.reporting_to(&bar)?;
            for (all, rates) in all.iter_mut().flatten().zip(rates.into_iter().flatten()) {
                all.extend(rates);
            }
        }
        Ok(all)
    }

    /// Measures in rounds.
    pub(crate) fn interleaved(&self) -> Result<Rates<PARTS>> {
        self.reporting_to(&progress(&self.label, rounds(self.multiplier)))
    }

    /// Measures in rounds, and advances `bar` by the number of planned ones.
    fn reporting_to(&self, bar: &ProgressBar) -> Result<Rates<PARTS>> {
        let mut workloads = (self.build)()?;
        let (count, planned) = (workloads.len(), rounds(self.multiplier));
        let total = TOTAL.mul_f64(self.multiplier);
        // no turn is repeated after this time, and no round begins if the fewest are done
        let longest = 6 * total;
        let end = Instant::now() + longest;
        for workload in &mut workloads {
            workload.batch()?;
        }
        let start = Instant::now();
        for workload in &mut workloads {
            workload.batch()?;
            workload.batch()?;
        }
        // the seconds of one batch of each workload
        let batch = start.elapsed().as_secs_f64() / 2.0;
        let batches = total.as_secs_f64() / planned as f64 / batch;
        // each turn runs one more batch, untimed
        let batches = (batches.round() as usize).max(2) - 1;
        let possible = (longest.as_secs_f64() / (2.0 * batch)) as usize;
        let possible = possible.clamp(FEWEST_ROUNDS, planned);

        let before = bar.position();
        let mut rates: Rates<PARTS> = vec![[const { Vec::new() }; PARTS]; count];
        for round in 0..possible {
            for place in 0..count {
                // the order alternates, so that no workload always runs after the same one
                let index = [place, count - 1 - place][round % 2];
                workloads[index].vary(round);
                let times = turn(&mut *workloads[index], batches, end)?;
                for (rates, time) in rates[index].iter_mut().zip(times) {
                    rates.push((batches * self.batch_len) as f64 / time);
                }
            }
            bar.set_position(before + (planned * (round + 1) / possible) as u64);
        }
        Ok(rates)
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

/// The share of a processor's time that an undisturbed turn has.
const UNDISTURBED: f64 = 0.97;
const ATTEMPTS: usize = 12;

/// Runs some batches of `workload`; returns the seconds of each part. Repeats them, until `end`, if
/// another program took the processor meanwhile.
fn turn<const PARTS: usize>(
    workload: &mut dyn Timed<PARTS>,
    batches: usize,
    end: Instant,
) -> Result<[f64; PARTS]> {
    // untimed: the first batch refills the caches that the previous workload evicted
    workload.batch()?;
    let mut attempts = 1;
    loop {
        let (start, cpu) = (Instant::now(), thread_cpu_time());
        let mut times = [0.0; PARTS];
        for _ in 0..batches {
            for (sum, time) in times.iter_mut().zip(workload.batch()?) {
                *sum += time;
            }
        }
        let (elapsed, cpu) = (start.elapsed(), thread_cpu_time() - cpu);
        let may_repeat = workload.is_busy() && !cpu.is_zero() && Instant::now() < end;
        let had_processor = cpu > elapsed.mul_f64(UNDISTURBED);
        if had_processor || !may_repeat || attempts == ATTEMPTS {
            return Ok(times);
        }
        attempts += 1;
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// The shortest work of one workload.
    fn one<const PARTS: usize>(build: Build<'_, PARTS>, rounds: usize) -> Work<'_, PARTS> {
        Work::new(build, 1000, rounds as f64 / ROUNDS, "")
    }

    #[test]
    fn turns_that_lose_the_processor_are_repeated_for_a_limited_time() {
        let [repeated, once] = [true, false].map(|is_busy| {
            let batches = Arc::new(AtomicUsize::new(0));
            let build = || {
                let batches = batches.clone();
                let run = move || {
                    thread::sleep(Duration::from_millis(1));
                    batches.fetch_add(1, Ordering::SeqCst);
                    Ok([1.0])
                };
                let sleeps: Contender<1> = Box::new(Batches { run, is_busy });
                Ok(vec![sleeps])
            };
            let rates = one(&build, FEWEST_ROUNDS).interleaved().unwrap();
            assert_eq!(rates[0][0].len(), FEWEST_ROUNDS);
            batches.load(Ordering::SeqCst)
        });
        assert!(!cfg!(unix) || repeated > once, "{repeated} {once}");
    }

    fn fails(mut after: usize) -> Contender<2> {
        let run = move || {
            after = after.checked_sub(1).ok_or("it failed")?;
            Ok([0.5, 0.25])
        };
        let is_busy = true;
        Box::new(Batches { run, is_busy })
    }

    fn measure(after: usize) -> Result<Rates<2>> {
        let build = || Ok(vec![fails(usize::MAX), fails(after)]);
        one(&build, FEWEST_ROUNDS).interleaved()
    }

    #[test]
    fn every_part_of_every_workload_has_a_rate_for_every_round() {
        let rates = measure(usize::MAX).unwrap();
        let of_each = [2000.0, 4000.0].map(|rate| vec![rate; FEWEST_ROUNDS]);
        assert_eq!(rates, [of_each.clone(), of_each]);
    }

    #[test]
    fn a_failure_ends_the_measurement() {
        for after in [0, 1, 4] {
            let error = measure(after).unwrap_err();
            assert_eq!(error.to_string(), "it failed");
        }
    }

    #[test]
    fn a_progress_bar_over_several_measurements_reaches_its_end() {
        // so slow that the planned time has room for few batches
        let run = || {
            thread::sleep(Duration::from_millis(20));
            Ok([1.0])
        };
        let is_busy = false;
        let build = || Ok(vec![Box::new(Batches { run, is_busy }) as Contender<1>]);
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
