//! Objects that configurations call, for both crates: a clock, a key log, resolvers and a
//! session store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pki_types::UnixTime;

pub use crate::this::callbacks as this;
pub use crate::upstream::callbacks as upstream;

/// A clock that only changes when it is set, and counts how often it is read. At 0, it returns no
/// time.
#[derive(Debug)]
pub struct Clock {
    seconds: AtomicU64,
    reads: AtomicU64,
}

impl Clock {
    pub fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self {
            seconds: AtomicU64::new(seconds),
            reads: AtomicU64::new(0),
        })
    }

    pub fn now() -> Arc<Self> {
        Self::at(UnixTime::now().as_secs())
    }

    pub fn set(&self, seconds: u64) {
        self.seconds.store(seconds, Ordering::SeqCst);
    }

    pub fn advance(&self, seconds: i64) {
        self.set(self.seconds().checked_add_signed(seconds).unwrap());
    }

    pub fn seconds(&self) -> u64 {
        self.seconds.load(Ordering::SeqCst)
    }

    /// Reads the clock as a connection does.
    pub(crate) fn read(&self) -> u64 {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.seconds()
    }

    /// Returns the number of reads since the last call.
    pub fn take_reads(&self) -> u64 {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

/// A label, a client random and a secret.
pub type Line = (String, Vec<u8>, Vec<u8>);

/// A key log that collects its lines.
#[derive(Debug, Default)]
pub struct KeyLines(pub(crate) Mutex<Vec<Line>>);

impl KeyLines {
    pub fn lines(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    pub fn sorted(&self) -> Vec<Line> {
        let mut lines = self.lines();
        lines.sort();
        lines
    }

    /// Returns the lines since the last call.
    pub fn take(&self) -> Vec<Line> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The arguments of a client's resolver: authorities and schemes.
pub type ResolverCalls = Vec<(Vec<Vec<u8>>, Vec<u16>)>;
