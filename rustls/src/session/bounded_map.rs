//! A map that forgets its oldest entry when it is full, for what is kept in memory of sessions and peers.

use alloc::collections::BTreeMap;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash, Hasher};
#[cfg(feature = "std")]
use std::collections::HashMap;
#[cfg(feature = "std")]
use std::hash::RandomState;

#[cfg(not(feature = "std"))]
use hashbrown::{DefaultHashBuilder as RandomState, HashMap};

/// A map of at most `capacity` entries. Inserting one more drops the one whose key came first.
///
/// A key that is inserted again keeps its age.
pub(crate) struct BoundedMap<K, V, S = Gathering> {
    entries: HashMap<K, Entry<V>, S>,
    /// The keys of `entries`, by the number they got when they came.
    by_age: BTreeMap<u64, K>,
    next_number: u64,
    /// Where the next sweep goes on.
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

    /// Returns the value that made room, if one had to.
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

    /// Looks at the next `count` entries, by age and from the oldest again after the newest, and removes those that
    /// `is_dead` is true for.
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

/// The usual keyed hash of a map, but over longer pieces: a server's name is hashed letter by letter, and the
/// hash takes as long for one letter as for many.
#[derive(Default)]
pub(crate) struct Gathering(RandomState);

impl BuildHasher for Gathering {
    type Hasher = GatheringHasher<<RandomState as BuildHasher>::Hasher>;

    fn build_hasher(&self) -> Self::Hasher {
        GatheringHasher {
            inner: self.0.build_hasher(),
            gathered: [0; 64],
            len: 0,
        }
    }
}

pub(crate) struct GatheringHasher<H> {
    inner: H,
    /// What comes behind all that `inner` has, in the first `len` bytes.
    gathered: [u8; 64],
    len: usize,
}

impl<H: Hasher + Clone> Hasher for GatheringHasher<H> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if let Some(free) = self.gathered[self.len..].get_mut(..bytes.len()) {
            free.copy_from_slice(bytes);
            self.len += bytes.len();
        } else {
            self.inner.write(&self.gathered[..self.len]);
            self.inner.write(bytes);
            self.len = 0;
        }
    }

    /// The letters of a name come one by one, as four bytes each. Those of ASCII are hashed as one byte; any
    /// other number as five, the first of which no letter is hashed as.
    #[inline]
    fn write_u32(&mut self, number: u32) {
        match u8::try_from(number) {
            Ok(letter @ ..0x80) => match self.gathered.get_mut(self.len) {
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
        inner.write(&self.gathered[..self.len]);
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
    fn the_oldest_makes_room() {
        let mut map = BoundedMap::new(3);
        for key in [7, 3, 5] {
            map.insert(key, 0);
        }
        assert_eq!(keys(&map), [3, 5, 7]);

        map.insert(7, 1); // again, so still the oldest
        assert_eq!(map.get(&7), Some(&1));
        map.insert(1, 0);
        assert_eq!(keys(&map), [1, 3, 5]);
    }

    #[test]
    fn what_was_removed_makes_room_too() {
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
    fn what_made_room_is_returned() {
        let mut map = <BoundedMap<_, _>>::new(2);
        assert_eq!(map.insert(1, 10), None);
        assert_eq!(map.insert(2, 20), None);
        assert_eq!(map.insert(2, 21), None);
        assert_eq!(map.insert(3, 30), Some(10));
    }

    #[test]
    fn a_sweep_goes_round_a_few_entries_at_a_time() {
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
        assert_eq!(keys(&map), [2, 4], "it stops at the newest");
        map.sweep(9, |_| true);
        assert_eq!(keys(&map), []);
        map.sweep(9, |_| true);
    }

    #[test]
    fn gathering_changes_no_hash() {
        let map = Gathering::default();
        let (mut gathering, mut plain) = (map.build_hasher(), map.0.build_hasher());
        let bytes: Vec<_> = (0..=u8::MAX).collect();
        for len in [1, 0, 62, 1, 1, 63, 2, 65, 64, 3, 200] {
            gathering.write(&bytes[..len]);
            plain.write(&bytes[..len]);
            assert_eq!(gathering.finish(), plain.finish(), "{len}");
        }
    }

    #[test]
    fn letters_take_one_byte_and_no_two_numbers_are_the_same() {
        let map = Gathering::default();
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
    fn capacity_zero_holds_nothing() {
        let mut map = BoundedMap::new(0);
        map.insert(1, 1);
        assert_eq!(keys(&map), []);
    }
}
