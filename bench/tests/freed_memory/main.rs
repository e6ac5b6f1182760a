//! No secret of a connection is left in memory that was given back: secrets are zeroized, wherever they were.
//!
//! ```text
//!   heard ─────── what is secret: a key log, a group and a ticketer tell, the rest is computed from that; and the search
//!                 for it in all that was given back
//!   connections ─ connections of every kind, from the first byte to the last, moved about as applications do
//!   handed_over ─ connections whose secrets go elsewhere: halves, extraction, kernel
//!   failing ───── handshakes that end early: dropped, changed on the way, or in a panic, at each step
//!   kept ──────── sessions and tickets that are forgotten, replaced or forged
//!   values ────── private keys, and each public type that holds a secret
//! ```
//!
//! A program of its own, as it has an allocator of its own, in which one test runs at a time. What the cryptographic
//! libraries keep of a key for themselves is their business, and so is what lies on the stack the compiler's.

mod connections;
mod failing;
mod handed_over;
mod heard;
mod kept;
mod values;

use bench_allocator::KeepsFreed;

#[global_allocator]
static ALLOCATOR: KeepsFreed = KeepsFreed;
