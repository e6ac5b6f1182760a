//! A secret with one wrong byte, at one of two places and with a random value, always in the same
//! memory. Two fixed forgeries would also measure their places in memory, in a hash table or in the
//! branch predictor.

use harness::wire::Noise;

pub(crate) struct Forgery {
    bytes: Vec<u8>,
    /// The place of the wrong byte, for each class.
    places: [usize; 2],
    /// The currently wrong byte: its place and the right value.
    wrong: (usize, u8),
    noise: Noise,
}

impl Forgery {
    /// Creates forgeries of `right`; negative `places` count from its end.
    pub(crate) fn new(right: Vec<u8>, places: [isize; 2]) -> Self {
        let places = places.map(|place| match usize::try_from(place) {
            Ok(place) => place,
            Err(_) => right.len() - place.unsigned_abs(),
        });
        Self {
            wrong: (0, right[0]),
            bytes: right,
            places,
            noise: Noise::new(11),
        }
    }

    /// Returns the bytes with a wrong one for this class.
    pub(crate) fn make(&mut self, class: usize) -> &mut [u8] {
        let (place, right) = self.wrong;
        self.bytes[place] = right;
        let place = self.places[class];
        self.wrong = (place, self.bytes[place]);
        self.bytes[place] ^= self.noise.up_to(255) as u8;
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgery_differs_in_one_byte() {
        let right = vec![0x5e; 32];
        let mut forgery = Forgery::new(right.clone(), [3, -1]);
        for class in [0, 1, 1, 0, 0] {
            let wrong = forgery.make(class).to_vec();
            let differ: Vec<_> = (0..32).filter(|&at| wrong[at] != right[at]).collect();
            assert_eq!(differ, [[3, 31][class]]);
        }
    }
}
