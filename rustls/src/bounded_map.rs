//! A map that evicts its oldest entry when it is full, for caches of sessions and certificates.

use alloc::collections::BTreeMap;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash, Hasher};
#[cfg(feature = "std")]
use std::collections::HashMap;
#[cfg(feature = "std")]
use std::hash::RandomState;

#[cfg(not(feature = "std"))]
use hashbrown::{DefaultHashBuilder as RandomState, HashMap};

/// A map of at most `capacity` entries. Inserting into a full map evicts the oldest entry.
///
/// Replacing the value of an entry does not change the entry's age.
pub(crate) struct BoundedMap<K, V, S = Buffering> {
    entries: HashMap<K, Entry<V>, S>,
    /// The keys of `entries`, by their insertion number.
    by_age: BTreeMap<u64, K>,
    next_number: u64,
    /// The insertion number from which the next sweep continues.
    #[cfg(feature = "std")]
    next_swept: u64,
    capacity: usize,
}

struct Entry<V> {
    number: u64,
    value: V,
}

impl<K: Clone + Eq + Hash, V, S: BuildHasher + Default> BoundedMap<K, V, S> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::default(),
            by_age: BTreeMap::new(),
            next_number: 0,
            #[cfg(feature = "std")]
            next_swept: 0,
            capacity,
        }
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Inserts an entry, or replaces the value of the entry with this key. Returns the value that
    /// was evicted to make room, if any. Has no effect if the capacity is 0.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(present) = self.get_mut(&key) {
            *present = value;
            return None;
        }
        if self.capacity == 0 {
            return None;
        }
        let mut evicted = None;
        if self.entries.len() == self.capacity {
            if let Some((_, oldest)) = self.by_age.pop_first() {
                evicted = self.entries.remove(&oldest);
            }
        }

        let number = self.next_number;
        self.next_number += 1;
        self.by_age.insert(number, key.clone());
        self.entries.insert(key, Entry { number, value });
        evicted.map(|entry| entry.value)
    }

    pub(crate) fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let Entry { number, value } = self.entries.remove(key)?;
        self.by_age.remove(&number);
        Some(value)
    }

    /// Checks up to `count` entries in order of age, from where the last sweep stopped, and removes
    /// those for which `is_dead` returns true. A sweep that finds no further entry stops; the next
    /// one starts at the oldest.
    #[cfg(feature = "std")]
    pub(crate) fn sweep(&mut self, count: usize, is_dead: impl Fn(&V) -> bool) {
        for _ in 0..count {
            let Some((number, key)) = self.by_age.range(self.next_swept..).next() else {
                self.next_swept = 0;
                return;
            };
            let number = *number;
            self.next_swept = number + 1;
            if self.get(key).is_some_and(&is_dead) {
                self.entries.remove(key);
                self.by_age.remove(&number);
            }
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|entry| &entry.value)
    }
}

/// The default keyed hasher of maps, with buffered input. Server names are hashed letter by letter,
/// and a call to the inner hasher costs about as much for one byte as for many.
#[derive(Default)]
pub(crate) struct Buffering(RandomState);

impl BuildHasher for Buffering {
    type Hasher = BufferingHasher<<RandomState as BuildHasher>::Hasher>;

    fn build_hasher(&self) -> Self::Hasher {
        BufferingHasher {
            inner: self.0.build_hasher(),
            buffered: [0; 64],
            len: 0,
        }
    }
}

pub(crate) struct BufferingHasher<H> {
    inner: H,
    /// Input that `inner` has not seen yet, in the first `len` bytes.
    buffered: [u8; 64],
    len: usize,
}

impl<H: Hasher + Clone> Hasher for BufferingHasher<H> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if let Some(free) = self.buffered[self.len..].get_mut(..bytes.len()) {
            free.copy_from_slice(bytes);
            self.len += bytes.len();
        } else {
            self.inner.write(&self.buffered[..self.len]);
            self.inner.write(bytes);
            self.len = 0;
        }
    }

    /// Hashes one letter of a name. Letters arrive one by one, as four bytes each. ASCII letters
    /// are hashed as one byte. Other numbers are hashed as five bytes that start with 0xff, which
    /// is not an ASCII letter.
    #[inline]
    fn write_u32(&mut self, number: u32) {
        match u8::try_from(number) {
            Ok(letter @ ..0x80) => match self.buffered.get_mut(self.len) {
                Some(free) => {
                    *free = letter;
                    self.len += 1;
                }
                None => self.write(&[letter]),
            },
            _ => {
                self.write(&[0xff]);
                self.write(&number.to_ne_bytes());
            }
        }
    }

    fn finish(&self) -> u64 {
        let mut inner = self.inner.clone();
        inner.write(&self.buffered[..self.len]);
        inner.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn keys(map: &BoundedMap<u8, u8>) -> Vec<u8> {
        assert_eq!(map.entries.len(), map.by_age.len());
        (0..=u8::MAX).filter(|key| map.get(key).is_some()).collect()
    }

    #[test]
    fn a_full_map_evicts_the_oldest_entry() {
        let mut map = BoundedMap::new(3);
        for key in [7, 3, 5] {
            map.insert(key, 0);
        }
        assert_eq!(keys(&map), [3, 5, 7]);

        map.insert(7, 1); // inserted again, so still the oldest
        assert_eq!(map.get(&7), Some(&1));
        map.insert(1, 0);
        assert_eq!(keys(&map), [1, 3, 5]);
    }

    #[test]
    fn a_removed_entry_makes_room() {
        let mut map = BoundedMap::new(2);
        map.insert(1, 10);
        map.insert(2, 20);
        assert_eq!(map.remove(&2), Some(20));
        assert_eq!(map.remove(&2), None);

        map.insert(3, 30);
        assert_eq!(keys(&map), [1, 3]);
        map.insert(4, 40);
        assert_eq!(keys(&map), [3, 4]);
    }

    #[test]
    fn the_evicted_value_is_returned() {
        let mut map = <BoundedMap<_, _>>::new(2);
        assert_eq!(map.insert(1, 10), None);
        assert_eq!(map.insert(2, 20), None);
        assert_eq!(map.insert(2, 21), None);
        assert_eq!(map.insert(3, 30), Some(10));
    }

    #[test]
    fn a_sweep_checks_a_few_entries_and_wraps_around() {
        let mut map = BoundedMap::new(6);
        for key in 1..=6 {
            map.insert(key, key);
        }
        let is_odd = |value: &u8| value % 2 == 1;
        map.sweep(1, is_odd);
        assert_eq!(keys(&map), [2, 3, 4, 5, 6]);
        map.sweep(3, is_odd);
        assert_eq!(keys(&map), [2, 4, 5, 6]);
        map.sweep(9, |value| *value != 2);
        assert_eq!(keys(&map), [2, 4], "a sweep stops at the newest entry");
        map.sweep(9, |_| true);
        assert_eq!(keys(&map), []);
        map.sweep(9, |_| true);
    }

    #[test]
    fn buffering_does_not_change_the_hash() {
        let map = Buffering::default();
        let (mut buffering, mut plain) = (map.build_hasher(), map.0.build_hasher());
        let bytes: Vec<_> = (0..=u8::MAX).collect();
        for len in [1, 0, 62, 1, 1, 63, 2, 65, 64, 3, 200] {
            buffering.write(&bytes[..len]);
            plain.write(&bytes[..len]);
            assert_eq!(buffering.finish(), plain.finish(), "{len}");
        }
    }

    #[test]
    fn bytes_are_hashed_without_padding_and_larger_numbers_do_not_collide() {
        let map = Buffering::default();
        let hash = |numbers: &[u32]| {
            let mut hasher = map.build_hasher();
            numbers.iter().for_each(|number| hasher.write_u32(*number));
            hasher.finish()
        };
        let name: Vec<_> = b"a.example".repeat(20);
        for len in [0, 9, 63, 64, 65, 180] {
            let letters: Vec<_> = name[..len].iter().map(|byte| u32::from(*byte)).collect();
            let mut plain = map.0.build_hasher();
            plain.write(&name[..len]);
            assert_eq!(hash(&letters), plain.finish(), "{len}");
        }
        let others: [&[u32]; 6] = [
            &[0x41],
            &[0x141],
            &[0x4100],
            &[0xff],
            &[0x7f, 0x41],
            &[0xe9],
        ];
        for (index, other) in others.iter().enumerate() {
            for one in &others[..index] {
                assert_ne!(hash(one), hash(other), "{one:x?} {other:x?}");
            }
        }
    }

    #[test]
    fn a_map_of_capacity_zero_stays_empty() {
        let mut map = BoundedMap::new(0);
        map.insert(1, 1);
        assert_eq!(keys(&map), []);
    }
}
