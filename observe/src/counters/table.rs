//! Counters that are keyed by text: a table of fixed size, by open addressing.
//!
//! The keys come from rustls's lists of errors and alerts, so no peer can invent any, and far fewer
//! occur in practice than there are slots. If the table is full nevertheless, the other keys of a
//! metric are counted together.

use core::iter;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use crate::catalog::{NAMED, Named};
use crate::names::OTHER;
use crate::snapshot::{Sample, Value};

/// The number of slots, a power of two.
const SLOTS: usize = 1024;

pub(super) struct Table {
    slots: Box<[Slot]>,
    /// The counts of keys without a slot, by metric.
    rest: [AtomicU64; NAMED.len()],
}

#[derive(Default)]
struct Slot {
    /// The hash of the key, which identifies it: keys are not compared. 0 if the slot is free.
    hash: AtomicU64,
    /// Set by the thread that has taken the slot.
    key: OnceLock<Key>,
    count: AtomicU64,
}

struct Key {
    named: &'static Named,
    values: [&'static str; 4],
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
            rest: [const { AtomicU64::new(0) }; NAMED.len()],
        }
    }

    /// Adds one to the counter of these values.
    pub(super) fn add(&self, named: &'static Named, values: [&'static str; 4]) {
        let hash = hash(named, values);
        let count = match self.slot(hash, || Key { named, values }) {
            Some(slot) => &slot.count,
            None => {
                let metric = NAMED.iter().position(|it| it.name == named.name);
                &self.rest[metric.unwrap_or(0)]
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the slot of the key with this hash, or a free slot, which then belongs to that key.
    /// Returns `None` if there is neither.
    fn slot(&self, hash: u64, key: impl FnOnce() -> Key) -> Option<&Slot> {
        let start = hash as usize % SLOTS;
        let (before, from) = self.slots.split_at(start);
        for slot in from.iter().chain(before) {
            let found = match slot.hash.load(Ordering::Relaxed) {
                0 => slot
                    .hash
                    .compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed)
                    .unwrap_or_else(|other| other),
                found => found,
            };
            if found == 0 {
                // nobody else sets it
                slot.key.get_or_init(key);
                return Some(slot);
            }
            if found == hash {
                return Some(slot);
            }
        }
        None
    }

    /// Adds the current values to `samples`, in alphabetical order.
    pub(super) fn sample(&self, samples: &mut Vec<Sample>) {
        let first = samples.len();
        for slot in &self.slots {
            // if there is no key yet, a thread is just taking the slot
            let (Some(key), count) = (slot.key.get(), slot.count.load(Ordering::Relaxed)) else {
                continue;
            };
            if count != 0 {
                samples.push(sample(key.named, key.values, count));
            }
        }
        for (named, count) in NAMED.iter().zip(&self.rest) {
            let count = count.load(Ordering::Relaxed);
            if count != 0 {
                samples.push(sample(named, [OTHER; 4], count));
            }
        }
        samples[first..].sort_by(|a, b| (a.name, &a.labels).cmp(&(b.name, &b.labels)));
    }
}

fn sample(named: &'static Named, values: [&'static str; 4], count: u64) -> Sample {
    let labels = named.labels.into_iter().zip(values);
    let labels = labels.filter(|(name, _)| !name.is_empty());
    Sample::new(named.name, labels.collect(), Value::Count(count))
}

/// Returns the FNV-1a hash of the key, never 0.
fn hash(named: &Named, values: [&str; 4]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in iter::once(named.name).chain(values) {
        // each text is followed by a byte that no text contains
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rustls::observer::{Alert, Fault};
    use rustls::{AlertDescription, Side};

    use super::*;
    use crate::catalog::{ALERTS, FAILURES};

    /// Returns `count` different labels. They are leaked, because the table needs labels that live
    /// forever.
    fn labels(count: usize) -> Vec<&'static str> {
        (0..count)
            .map(|i| &*String::leak(format!("label_{i}")))
            .collect()
    }

    fn total(samples: &[Sample]) -> u64 {
        samples.iter().map(|sample| sample.value.count()).sum()
    }

    #[test]
    fn each_metric_and_set_of_labels_has_its_own_count() {
        let table = Table::new();
        for _ in 0..3 {
            table.add(&FAILURES, ["server", "handshake", "peer", "general"]);
        }
        table.add(&FAILURES, ["server", "handshake", "pee", "rgeneral"]);
        table.add(&ALERTS, ["server", "handshake", "peer", "general"]);
        let mut samples = Vec::new();
        table.sample(&mut samples);
        let counts: Vec<_> = samples.iter().map(|it| it.value.count()).collect();
        assert_eq!(counts, [1, 1, 3]);
    }

    #[test]
    fn a_full_table_still_counts_the_rest() {
        let table = Table::new();
        for label in labels(SLOTS + 10) {
            table.add(&FAILURES, ["client", "traffic", "local", label]);
        }
        let mut samples = Vec::new();
        table.sample(&mut samples);
        assert_eq!(samples.len(), SLOTS + 1);
        assert_eq!(total(&samples), SLOTS as u64 + 10);
        let rest = samples.iter().find(|it| it.labels[3].1 == OTHER).unwrap();
        assert_eq!(rest.value.count(), 10);
    }

    #[test]
    fn threads_share_the_slot_of_a_label() {
        let table = Table::new();
        let labels = labels(50);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for label in labels.iter().cycle().take(2000) {
                        table.add(&FAILURES, ["client", "traffic", "peer", label]);
                    }
                });
            }
        });
        let mut samples = Vec::new();
        table.sample(&mut samples);
        assert_eq!(samples.len(), 50);
        assert!(samples.iter().all(|it| it.value.count() == 160));
    }

    #[test]
    fn no_two_keys_have_the_same_hash() {
        let listed = include_str!("../../../docs/error-labels.txt");
        let listed = listed.lines().filter(|line| !line.starts_with('#'));
        let labels: Vec<_> = listed.chain(["dropped", "end_of_stream"]).collect();
        let mut hashes = HashSet::new();
        let mut keys = 0;
        let mut add = |named, values| {
            hashes.insert(hash(named, values));
            keys += 1;
        };
        for side in Side::LABELS {
            for label in &labels {
                for stage in ["handshake", "traffic"] {
                    for fault in Fault::LABELS {
                        add(&FAILURES, [side, stage, fault, label]);
                    }
                }
            }
            for direction in Alert::LABELS {
                for alert in AlertDescription::LABELS {
                    add(&ALERTS, [side, direction, alert, ""]);
                }
            }
        }
        assert_eq!(hashes.len(), keys);
    }
}
