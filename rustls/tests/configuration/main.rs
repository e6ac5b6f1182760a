//! What configurations, providers and what they are made of are by default, and what is refused
//! when they are made: as upstream's.

#![cfg(feature = "tls12")]
#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod builders;
mod fields;
mod providers;
mod refused;
mod stores;
