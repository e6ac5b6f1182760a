//! Secrets of connections do not stay in freed memory: they are zeroized, wherever they were. Nor
//! do they stay on the stack of a call that has returned: it is overwritten.
//!
//! ```text
//!   secrets ───── the secrets: recorded by a key log, a group and a ticketer, or derived from
//!                 these; and the search for them in memory
//!   connections ─ connections of every kind, from the first byte to the last, moved as
//!                 applications do
//!   handed_over ─ connections whose secrets are handed over: halves, extraction, kernel
//!   failing ───── handshakes that end early: dropped, changed in transit, or by a panic,
//!                 at each step
//!   sessions ──── sessions and tickets that are dropped, replaced or forged
//!   values ────── private keys, and each public type that holds a secret
//!   dead_stack ── the stack of each call of a connection, after the call
//!   derivation ── suites that record all that their key derivation yields, for dead_stack
//! ```
//!
//! A separate package, because it has its own allocator and runs one test at a time. Run it with
//! `--release`: only an optimising compiler copies values where the source does not, and an
//! unoptimised one leaves values of all frames. Copies of keys inside the cryptographic libraries
//! are out of its scope.

#![cfg(test)]

mod connections;
#[cfg(unix)]
mod dead_stack;
#[cfg(unix)]
mod derivation;
mod failing;
mod handed_over;
mod secrets;
mod sessions;
mod values;

use bench_allocator::KeepsFreed;

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;
