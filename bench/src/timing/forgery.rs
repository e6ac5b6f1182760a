//! Something secret with one wrong byte: at one of two places, another byte each time, and written into the same memory.
//! With two fixed forgeries, what would be measured too is where each lies in memory, in a hash table or in the
//! processor's tables of branches.

use harness::Noise;

pub(crate) struct Forgery {
    bytes: Vec<u8>,
    /// Where the wrong byte is, for each class.
    places: [usize; 2],
    /// What is wrong now: the place and the right byte.
    wrong: (usize, u8),
    noise: Noise,
}

impl Forgery {
    /// Of what is right; `places` below zero count from its end.
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

    /// With a byte of this class wrong.
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
    fn one_byte_is_wrong() {
        let right = vec![0x5e; 32];
        let mut forgery = Forgery::new(right.clone(), [3, -1]);
        for class in [0, 1, 1, 0, 0] {
            let wrong = forgery.make(class).to_vec();
            let differ: Vec<_> = (0..32).filter(|&at| wrong[at] != right[at]).collect();
            assert_eq!(differ, [[3, 31][class]]);
        }
    }
}
