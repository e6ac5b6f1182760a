//! Secrets of connections do not stay in freed memory: they are zeroized, wherever they were.
//!
//! ```text
//!   secrets ───── the secrets: recorded by a key log, a group and a ticketer, or derived from
//!                 these; and the search for them in freed memory
//!   connections ─ connections of every kind, from the first byte to the last, moved as
//!                 applications do
//!   handed_over ─ connections whose secrets are handed over: halves, extraction, kernel
//!   failing ───── handshakes that end early: dropped, changed in transit, or by a panic,
//!                 at each step
//!   sessions ──── sessions and tickets that are dropped, replaced or forged
//!   values ────── private keys, and each public type that holds a secret
//! ```
//!
//! A package of its own, because it has its own allocator and runs one test at a time. Copies of
//! keys inside the cryptographic libraries and values on the stack are out of its scope.

#![cfg(test)]

mod connections;
mod failing;
mod handed_over;
mod secrets;
mod sessions;
mod values;

use bench_allocator::KeepsFreed;

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;
