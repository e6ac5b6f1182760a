//! Shared by the tests: certificates, servers, test data, and the table of results.

mod credentials;
mod program;
mod server;
mod table;

use std::future::Future;

pub use credentials::Credentials;
pub use program::{Program, find_program};
pub use server::{Server, ServerStream, answer};
pub use table::{moved, skipped};

/// Returns bytes in which any mistake in their order is visible.
pub fn page() -> Vec<u8> {
    (0u32..500_000)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect()
}

/// Runs an asynchronous test on this thread.
pub fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}
