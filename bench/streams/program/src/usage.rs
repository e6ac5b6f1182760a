//! The resources of this process.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::Result;

/// Calls that read from or write to sockets.
pub(crate) static READS: AtomicU64 = AtomicU64::new(0);
pub(crate) static WRITES: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds of processor time, and of time, that [`aside`] took.
static ASIDE_CPU: AtomicU64 = AtomicU64::new(0);
static ASIDE: AtomicU64 = AtomicU64::new(0);

/// Does what is not measured. What other tasks do meanwhile is not measured either.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let clocks = [
        (&ASIDE_CPU, ClockId::ProcessCPUTime),
        (&ASIDE, ClockId::Monotonic),
    ];
    let before = clocks.map(|(_, clock)| nanoseconds(clock));
    let result = work();
    for ((spent, clock), before) in clocks.into_iter().zip(before) {
        spent.fetch_add(nanoseconds(clock) - before, Ordering::Relaxed);
    }
    result
}

/// Returns nanoseconds since some time, without those that [`aside`] took.
pub(crate) fn clock() -> u64 {
    nanoseconds(ClockId::Monotonic) - ASIDE.load(Ordering::Relaxed)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns nanoseconds of processor time, reads and writes of sockets, and the peak memory in kB.
pub(crate) fn report() -> String {
    let cpu = nanoseconds(ClockId::ProcessCPUTime) - ASIDE_CPU.load(Ordering::Relaxed);
    let [reads, writes] = [&READS, &WRITES].map(|calls| calls.load(Ordering::Relaxed));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    let peak = peak.unwrap_or("0").trim();
    format!("{cpu} {reads} {writes} {peak}")
}

/// Pins this process to `cores`, a list with commas, before it starts threads. Returns their
/// number.
pub(crate) fn pin(cores: &str) -> Result<usize> {
    let mut set = CpuSet::new();
    for core in cores.split(',') {
        set.set(core.parse()?);
    }
    sched_setaffinity(None, &set)?;
    Ok(set.count() as usize)
}
