//! Noise that is the same in every run.

/// A small generator of reproducible noise (xorshift64*).
pub struct Noise(u64);

impl Noise {
    /// Creates a generator; the same `seed` gives the same noise.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "an iterator would never end")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 1 to `max`.
    pub fn up_to(&mut self, max: usize) -> usize {
        1 + (self.next() as usize) % max
    }
}
