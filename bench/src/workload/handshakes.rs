//! Repeatable handshakes, and the costs of each side.

use std::time::Instant;

use bench_allocator::so_far;
use harness::peers::pairs::Result;

use crate::measure::Timed;

/// Repeatable handshakes of one implementation, or only their cryptography.
pub(crate) trait Handshakes: Timed<2> {
    /// Makes a handshake; returns the costs of client and server. `sent` receives the flights of
    /// the sides in turns, the client's first.
    fn make(&mut self, sent: &mut dyn FnMut(&[u8])) -> Result<[Spent; 2]>;

    /// Makes one, and keeps the server's connection open.
    fn keep_open(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The costs of one side of a handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// Heap activity, within the work of [`bench_allocator::count`] only.
    pub(crate) allocations: u64,
    /// All requested bytes, however short-lived.
    pub(crate) heap_bytes: u64,
}

impl Spent {
    /// Does `work`, and adds its costs.
    pub(crate) fn by<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, before) = (Instant::now(), so_far());
        let result = work();
        let after = so_far();
        self.seconds += start.elapsed().as_secs_f64();
        self.allocations += after.allocations - before.allocations;
        self.heap_bytes += after.taken - before.taken;
        result
    }

    /// The costs of one of `times` equal pieces of work.
    pub(crate) fn divided(self, times: u32) -> Self {
        Self {
            seconds: self.seconds / f64::from(times),
            allocations: self.allocations / u64::from(times),
            heap_bytes: self.heap_bytes / u64::from(times),
        }
    }
}

impl<H: Handshakes> Timed<2> for H {
    fn batch(&mut self) -> Result<[f64; 2]> {
        Ok(self.make(&mut |_| ())?.map(|spent| spent.seconds))
    }
}

/// Makes one handshake with `handshakes`; returns its flights.
pub(crate) fn flights(handshakes: &mut dyn Handshakes) -> Result<Vec<Vec<u8>>> {
    let mut flights = Vec::new();
    handshakes.make(&mut |flight| flights.push(flight.to_vec()))?;
    Ok(flights)
}
