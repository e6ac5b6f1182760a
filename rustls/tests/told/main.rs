//! What the library tells of itself: through the `log` crate, and by `Debug`. As much as upstream
//! does, at the same levels, and no secret.
//!
//! A program of its own: the collector of log lines is the process's.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod collector;
mod debug;
mod log_lines;
mod recording;
mod values;
