//! The streams of tokio-rustls: compared with the published crate, under random schedules, with
//! operations that take time, split, observed, and beside other tasks.

mod budget;
mod comparison;
mod kit;
mod observer;
mod opening_into;
mod operations;
mod relay;
mod schedules;
mod split;
