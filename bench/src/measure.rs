//! Measuring several workloads against each other: a little of each in turn, many times over.
//!
//! The machine's speed drifts with other processes, clock frequency and temperature. In rounds of a few
//! milliseconds, in which every workload gets its turn, the drift hits all of them alike; figures are
//! compared within a round before the median over the rounds is taken.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use crate::workload::{Result, Workload};

/// How much to measure.
pub(crate) struct Plan {
    /// How many times every workload has its turn.
    pub(crate) rounds: usize,
    /// How many workloads there are.
    pub(crate) workloads: usize,
    /// About how long a turn takes, its untimed part included.
    pub(crate) turn: Duration,
    /// How many threads do the same at once.
    pub(crate) threads: usize,
}

impl Plan {
    const ROUNDS: f64 = 180.0;
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

/// What all threads do.
pub(crate) struct Work<'a> {
    /// Makes the workloads, [`Plan::workloads`] of them; each thread has its own.
    pub(crate) build: &'a (dyn Fn() -> Result<Vec<Box<dyn Workload>>> + Sync),
    /// How many bytes of plaintext one batch of each workload has.
    pub(crate) batch_len: usize,
    /// Told which part of the rounds is done.
    pub(crate) progress: &'a (dyn Fn(f64) + Sync),
}

/// The throughputs of each workload in each round, in bytes per second, summed over the threads:
/// `rates[workload][round]`.
pub(crate) type Rates = Vec<Vec<f64>>;

/// Measures `work` as `plan` says.
pub(crate) fn interleaved(plan: &Plan, work: &Work<'_>) -> Result<Rates> {
    let barrier = Barrier::new(plan.threads);
    let batches = AtomicUsize::new(1);
    let of_threads: Vec<Result<Rates>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (barrier, batches) = (&barrier, &batches);
                scope.spawn(move || {
                    OneThread {
                        plan,
                        work,
                        barrier,
                        batches,
                        leads: index == 0,
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
    let mut sum: Rates = Vec::new();
    for rates in of_threads {
        let rates = rates?;
        if sum.is_empty() {
            sum = rates;
            continue;
        }
        for (sum, rates) in sum.iter_mut().zip(rates) {
            for (sum, rate) in sum.iter_mut().zip(rates) {
                *sum += rate;
            }
        }
    }
    Ok(sum)
}

struct OneThread<'a> {
    plan: &'a Plan,
    work: &'a Work<'a>,
    /// All threads take each turn together. A thread that has failed keeps waiting here too, or the others
    /// would hang.
    barrier: &'a Barrier,
    /// How many batches of a turn are timed: the same for all workloads and threads.
    batches: &'a AtomicUsize,
    /// True for the one thread that decides on `batches` and reports progress.
    leads: bool,
}

impl OneThread<'_> {
    fn measure(&self) -> Result<Rates> {
        let mut workloads = (self.work.build)();
        let warm_up = match &mut workloads {
            Ok(workloads) => self.warm_up(workloads),
            Err(_) => Ok(()),
        };
        let mut outcome = warm_up.and(workloads);
        let mut rates: Rates = vec![Vec::with_capacity(self.plan.rounds); self.plan.workloads];
        for round in 0..self.plan.rounds {
            for place in 0..self.plan.workloads {
                // the order alternates, so that no workload always runs after the same one
                let index = if round.is_multiple_of(2) {
                    place
                } else {
                    self.plan.workloads - 1 - place
                };
                self.barrier.wait();
                let rate = match &mut outcome {
                    Ok(workloads) => self.turn(&mut *workloads[index]),
                    Err(_) => continue,
                };
                match rate {
                    Ok(rate) => rates[index].push(rate),
                    Err(error) => outcome = Err(error),
                }
            }
            if self.leads {
                (self.work.progress)((round + 1) as f64 / self.plan.rounds as f64);
            }
        }
        outcome.map(|_| rates)
    }

    /// Runs each workload a few times, and finds out how many batches make a turn.
    fn warm_up(&self, workloads: &mut [Box<dyn Workload>]) -> Result<()> {
        for workload in &mut *workloads {
            batch(&mut **workload)?;
        }
        let start = Instant::now();
        for workload in &mut *workloads {
            batch(&mut **workload)?;
            batch(&mut **workload)?;
        }
        if self.leads {
            let mean = start.elapsed().as_secs_f64() / (2 * workloads.len()) as f64;
            let batches = (self.plan.turn.as_secs_f64() / mean).round() as usize;
            // each turn runs one more batch, untimed
            self.batches
                .store(Ord::max(batches, 2) - 1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// One turn of `workload`; returns its throughput.
    fn turn(&self, workload: &mut dyn Workload) -> Result<f64> {
        // untimed: the first batch refills the caches that the previous workload evicted
        batch(workload)?;
        let batches = self.batches.load(Ordering::SeqCst);
        let mut time = Duration::ZERO;
        for _ in 0..batches {
            time += batch(workload)?;
        }
        Ok((batches * self.work.batch_len) as f64 / time.as_secs_f64())
    }
}

/// Runs one batch; returns how long its timed part took.
fn batch(workload: &mut dyn Workload) -> Result<Duration> {
    workload.prepare()?;
    let start = Instant::now();
    workload.run()?;
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails {
        after: usize,
    }

    impl Workload for Fails {
        fn run(&mut self) -> Result<()> {
            match self.after.checked_sub(1) {
                Some(after) => self.after = after,
                None => return Err("it failed".into()),
            }
            Ok(())
        }

        fn records(&self) -> usize {
            1
        }
    }

    fn measure(threads: usize, after: usize) -> Result<Rates> {
        let plan = Plan::new(0.001, 2, threads);
        interleaved(
            &plan,
            &Work {
                build: &|| {
                    let never = Fails { after: usize::MAX };
                    Ok(vec![Box::new(never), Box::new(Fails { after })])
                },
                batch_len: 1000,
                progress: &|_| (),
            },
        )
    }

    #[test]
    fn every_workload_has_a_rate_for_every_round() {
        let rates = measure(2, usize::MAX).unwrap();
        assert_eq!(rates.len(), 2);
        for rates in rates {
            assert_eq!(rates.len(), Plan::FEWEST_ROUNDS as usize);
            assert!(rates.iter().all(|rate| *rate > 0.0));
        }
    }

    #[test]
    fn a_failure_ends_the_measurement_and_no_thread_waits_for_ever() {
        for threads in [1, 2] {
            for after in [0, 1, 4] {
                let error = measure(threads, after).unwrap_err();
                assert_eq!(error.to_string(), "it failed");
            }
        }
    }

    #[test]
    fn the_multiplier_scales_the_plan() {
        let total = |plan: &Plan| plan.turn.as_secs_f64() * (plan.rounds * 3) as f64;
        for multiplier in [0.01, 1.0, 10.0] {
            let plan = Plan::new(multiplier, 3, 1);
            assert!((total(&plan) / (1.6 * multiplier) - 1.0).abs() < 0.01);
            assert!(plan.rounds >= 5);
        }
    }
}
