//! The parts that the drivers of comparisons share: those of `peers` and `streams`. They run before
//! and after the measurement.

pub mod certificates;
pub mod document;
pub mod statistics;
