//! Output of the library about itself, through the `log` crate and by `Debug`. It logs the same
//! facts as upstream at the same levels, and reveals no secret.
//!
//! This test has a program of its own because the collector of log lines belongs to the process.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod debug;
mod log_lines;
mod reasons;
mod recording;
mod values;
