//! What the tests have in common: certificates, servers to connect to, what is sent, and a line for each that says what moved.

mod credentials;
mod program;
mod server;
mod table;

use std::future::Future;

pub use credentials::Credentials;
pub use program::{Program, find_program};
pub use server::{Server, ServerStream, answer};
pub use table::{moved, skipped};

/// Bytes that any mistake in their order would show in.
pub fn page() -> Vec<u8> {
    (0u32..500_000)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect()
}

/// Runs a test of what is asynchronous, on this thread.
pub fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

/// Compiles the code in README: a program on tokio and hyper.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
