//! Defaults of configurations and providers, arguments rejected when they are built, and records of
//! all suites match upstream's.

#![cfg(feature = "tls12")]
#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod builders;
mod fields;
mod providers;
mod records;
mod refused;
mod stores;
