//! The comparison engine: given the same wrong bytes, this crate must return the same error as
//! upstream.
//!
//! ```text
//!   inputs: a changed flight, a man in the     ends of both crates     Judge
//!   middle, a fuzzer's bytes, a list of    ──► and their Outcomes  ──►   │
//!   values                                                          deviations.txt
//! ```
//!
//! A test makes the inputs. The [`Judge`] compares how both crates react to them, and fails unless
//! a row in its table explains each difference.

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
