//! Defaults of configurations and providers, and arguments rejected when they are built, match
//! upstream's.

#![cfg(feature = "tls12")]
#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod builders;
mod fields;
mod providers;
mod refused;
mod stores;
