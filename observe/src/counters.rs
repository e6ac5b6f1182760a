//! Counters without a dependency.
//!
//! Each thread adds to one of several stripes, so that cores rarely compete for the same memory. A
//! [`Snapshot`](crate::Snapshot) has the sums over all stripes. Failures and alerts, which are
//! rarer, are counted in one table.

mod table;

use core::cell::Cell;
use core::fmt;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::thread;

use self::table::Table;
use crate::catalog::{CELLS, Kind, Named, labels_of_cell};
use crate::recording::{Sink, observes};
use crate::snapshot::{Sample, Snapshot, Value};

/// The maximum number of stripes.
const MOST_STRIPES: usize = 16;

/// Counts the events of connections.
///
/// Counting takes no lock and allocates nothing. The memory is allocated once: about 100 kB, plus 7
/// kB per stripe. The number of stripes is the number of processors, rounded up to a power of two,
/// but at most 16. Configurations may share one object.
///
/// ```
/// use std::sync::Arc;
///
/// use rustls_observe::Counters;
///
/// # fn serve(mut config: rustls::ServerConfig) {
/// let counters = Arc::new(Counters::new());
/// config.observer = Some(counters.clone());
/// // ... serve, and later:
/// let snapshot = counters.snapshot();
/// let finished = snapshot.count("tls_handshakes_total", &[("outcome", "finished")]);
/// println!("{finished} handshakes\n\n{snapshot}");
/// # }
/// ```
pub struct Counters {
    stripes: Box<[Stripe]>,
    named: Table,
}

/// The cells of some threads, in separate cache lines.
#[repr(align(128))]
struct Stripe {
    /// The counts, by cell. If a gauge rises in one stripe and falls in another, the latter wraps
    /// around below zero, and the sum of all stripes is still correct.
    counts: [AtomicU64; CELLS],
    /// The sums of durations in nanoseconds, by cell.
    nanos: [AtomicU64; CELLS],
}

impl Counters {
    /// Creates counters with the value zero.
    pub fn new() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let stripes = threads.next_power_of_two().min(MOST_STRIPES);
        Self {
            stripes: (0..stripes).map(|_| Stripe::new()).collect(),
            named: Table::new(),
        }
    }

    /// Returns the current values. Values that are still zero are left out, except gauges.
    ///
    /// Connections continue to count in the meantime, so the values may be from slightly different
    /// moments.
    pub fn snapshot(&self) -> Snapshot {
        let mut samples = Vec::new();
        for cell in 0..CELLS {
            let (metric, labels) = labels_of_cell(cell);
            let sum = |cells: fn(&Stripe) -> &[AtomicU64; CELLS]| {
                let loads = self.stripes.iter();
                let loads = loads.map(|stripe| cells(stripe)[cell].load(Ordering::Relaxed));
                loads.fold(0, u64::wrapping_add)
            };
            let count = sum(|stripe| &stripe.counts);
            if count == 0 && metric.kind != Kind::Gauge {
                continue;
            }
            let value = match metric.kind {
                Kind::Counter | Kind::Bytes => Value::Count(count),
                // below zero if a fall was read without its rise
                Kind::Gauge => Value::Gauge(if count <= u64::MAX / 2 { count } else { 0 }),
                Kind::Time => Value::Time {
                    count,
                    sum: Duration::from_nanos(sum(|stripe| &stripe.nanos)),
                },
            };
            samples.push(Sample::new(metric.name, labels, value));
        }
        self.named.sample(&mut samples);
        Snapshot::new(samples)
    }

    /// Returns the counters that this thread adds to.
    fn sink(&self) -> Counting<'_> {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
        }
        let thread = THREAD.get().unwrap_or_else(|| {
            let thread = THREADS.fetch_add(1, Ordering::Relaxed);
            THREAD.set(Some(thread));
            thread
        });
        Counting {
            // the number of stripes is a power of two
            stripe: &self.stripes[thread & (self.stripes.len() - 1)],
            named: &self.named,
        }
    }
}

impl Stripe {
    fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; CELLS],
            nanos: [const { AtomicU64::new(0) }; CELLS],
        }
    }
}

/// The counters that the current thread adds to: its stripe, which it may share with other threads,
/// and the table of [`Named`] metrics, which all threads share.
struct Counting<'a> {
    stripe: &'a Stripe,
    named: &'a Table,
}

impl Sink for Counting<'_> {
    fn add(&self, cell: usize, amount: u64) {
        self.stripe.counts[cell].fetch_add(amount, Ordering::Relaxed);
    }

    fn shift(&self, cell: usize, rises: bool) {
        let count = &self.stripe.counts[cell];
        match rises {
            true => count.fetch_add(1, Ordering::Relaxed),
            false => count.fetch_sub(1, Ordering::Relaxed),
        };
    }

    fn time(&self, cell: usize, took: Duration) {
        let stripe = self.stripe;
        // 2^64 nanoseconds are 584 years
        let nanos = took
            .as_secs()
            .wrapping_mul(1_000_000_000)
            .wrapping_add(took.subsec_nanos().into());
        stripe.counts[cell].fetch_add(1, Ordering::Relaxed);
        stripe.nanos[cell].fetch_add(nanos, Ordering::Relaxed);
    }

    fn add_named(&self, named: &'static Named, values: [&'static str; 4]) {
        self.named.add(named, values);
    }
}

observes!(Counters);

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").finish_non_exhaustive()
    }
}
