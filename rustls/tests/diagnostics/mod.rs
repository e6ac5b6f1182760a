//! Tests of the output for developers: log lines and `Debug`. The library logs the same facts as
//! upstream at the same levels, and reveals no secret.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod debug;
mod log_lines;
mod reasons;
mod recording;
