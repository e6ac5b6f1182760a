//! A small set of cases that covers all triples of values.
//!
//! All combinations of all features would be many millions. Mistakes that need several features
//! usually need only two or three. So each possible triple of values occurs in some case.

use std::collections::HashSet;

use harness::peers::configs::product3;

use crate::matrix::table::{Case, DIMENSIONS, RULES, position};

/// The number of values in a combination.
const STRENGTH: usize = 3;

/// The number of random completions of a case to choose from.
const TRIES: usize = 12;

type Partial = [Option<usize>; DIMENSIONS.len()];

/// Returns the cases, which are the same in all runs.
pub(crate) fn cases() -> Vec<Case> {
    let rules = Rules::new();
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut covered = HashSet::new();
    let mut cases = Vec::new();
    for places in places() {
        for values in values(&places) {
            let tuple = key(&places, &values);
            if covered.contains(&tuple) {
                continue;
            }
            let pinned = pinned(&places, &values);
            let completed = (0..TRIES).filter_map(|_| rules.complete(pinned, &mut random));
            let gain = |case: &Case| {
                let tuples = tuples(case);
                tuples.filter(|tuple| !covered.contains(tuple)).count()
            };
            // empty if the values exclude each other
            if let Some(case) = completed.max_by_key(gain) {
                covered.extend(tuples(&case));
                cases.push(case);
            }
        }
    }
    cases
}

/// Returns all sets of dimensions that are combined.
fn places() -> Vec<[usize; STRENGTH]> {
    let all = || 0..DIMENSIONS.len();
    product3(all(), all(), all())
        .filter(|(first, second, third)| first < second && second < third)
        .map(|(first, second, third)| [first, second, third])
        .collect()
}

/// Returns all combinations of these dimensions' values.
fn values(places: &[usize; STRENGTH]) -> Vec<[usize; STRENGTH]> {
    let [first, second, third] = places.map(|place| 0..DIMENSIONS[place].values.len());
    product3(first, second, third)
        .map(|(a, b, c)| [a, b, c])
        .collect()
}

/// Returns a case in which only these dimensions have values.
fn pinned(places: &[usize; STRENGTH], values: &[usize; STRENGTH]) -> Partial {
    let mut pinned = Partial::default();
    for (place, value) in places.iter().zip(values) {
        pinned[*place] = Some(*value);
    }
    pinned
}

/// Creates a number that identifies these values of these dimensions.
fn key(places: &[usize; STRENGTH], values: &[usize; STRENGTH]) -> u64 {
    let both = places.iter().zip(values);
    both.fold(0, |key, (place, value)| {
        key << 10 | (place << 5 | value) as u64
    })
}

fn tuples(case: &Case) -> impl Iterator<Item = u64> {
    let case = *case;
    let places = places().into_iter();
    places.map(move |places| key(&places, &places.map(|place| case.0[place])))
}

/// [`RULES`] with positions instead of names. Each has a dimension with the values that trigger the
/// rule, and a dimension with the values then allowed.
struct Rules(Vec<[(usize, Vec<bool>); 2]>);

impl Rules {
    fn new() -> Self {
        let resolve = |(name, listed): (&str, &[&str])| {
            let position = position(name);
            let values = DIMENSIONS[position].values;
            assert!(listed.iter().all(|value| values.contains(value)), "{name}");
            let is_listed = values.iter().map(|value| listed.contains(value));
            (position, is_listed.collect())
        };
        let rules = RULES.iter();
        Self(
            rules
                .map(|rule| [resolve(rule.when), resolve(rule.only)])
                .collect(),
        )
    }

    /// True if the chosen values break no rule.
    fn allow(&self, partial: &Partial) -> bool {
        self.0
            .iter()
            .all(|[when, only]| match (partial[when.0], partial[only.0]) {
                (Some(value), Some(other)) => !when.1[value] || only.1[other],
                _ => true,
            })
    }

    /// Chooses the remaining values at random; `None` if that is impossible.
    fn complete(&self, partial: Partial, random: &mut Random) -> Option<Case> {
        if !self.allow(&partial) {
            return None;
        }
        let Some(place) = partial.iter().position(Option::is_none) else {
            return Some(Case(partial.map(Option::unwrap_or_default)));
        };
        let count = DIMENSIONS[place].values.len();
        let start = random.below(count);
        (0..count).find_map(|i| {
            let mut chosen = partial;
            chosen[place] = Some((start + i) % count);
            self.complete(chosen, random)
        })
    }
}

/// xorshift64 (Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn every_allowed_triple_is_in_a_case() {
    let rules = Rules::new();
    let cases = cases();
    let covered: HashSet<u64> = cases.iter().flat_map(tuples).collect();
    let mut random = Random(1);
    let mut impossible = 0;
    for places in places() {
        for values in values(&places) {
            if covered.contains(&key(&places, &values)) {
                continue;
            }
            let pinned = pinned(&places, &values);
            assert!(rules.complete(pinned, &mut random).is_none());
            impossible += 1;
        }
    }
    let all = |case: &Case| rules.allow(&case.0.map(Some));
    assert!(cases.iter().all(all));
    println!(
        "{} cases, {} triples, {impossible} impossible",
        cases.len(),
        covered.len()
    );
}
