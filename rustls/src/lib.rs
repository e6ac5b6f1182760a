//! TLS 1.3 in place of rustls 0.23.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod conn;
mod msgs;
mod tls13;

use rustls_core::{crypto, enums, error, record, suites};
