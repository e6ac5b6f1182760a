//! The engine of comparisons with upstream: the same wrong bytes, the same error.
//!
//! ```text
//!   inputs: a changed flight, a man in the     ends of both crates     Judge
//!   middle, a fuzzer's bytes, a list of    ──► and their Outcomes  ──►   │
//!   values                                                          deviations.txt
//! ```
//!
//! A test makes the inputs. The [`Judge`] compares what both crates make of them, and fails unless
//! a row of its table explains each difference.

mod deviations;
mod judge;
mod noted;
mod outcome;
mod texts;

pub use deviations::Section;
pub use judge::{Judge, REMEDY};
pub use noted::noted;
pub use outcome::{Alert, Outcome, in_step};
pub use texts::agree;
