//! Output of the library about itself, through the `log` crate and by `Debug`. It logs the same
//! facts as upstream at the same levels, and reveals no secret.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod debug;
mod log_lines;
mod reasons;
mod recording;
mod values;
