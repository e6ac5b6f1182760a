//! The foundation of rustls-inplace: the wire vocabulary, the crypto-provider interface and the
//! record layer.
//!
//! This crate contains no handshake, no I/O and no cryptographic primitives. It is for authors of
//! crypto providers. Applications use the `rustls` crate, which re-exports what rustls 0.23 has
//! under the same paths.
//!
//! ```text
//!   provider-aws-lc ─┐
//!                    ├─► core ◄── rustls
//!   provider-ring ───┘
//! ```
//!
//! - [`enums`], [`codec`]: numbers and structures of the wire format; [`error`]: errors, and the
//!   alerts that report them to the peer.
//! - [`crypto`], [`sign`]: the traits that a provider implements; [`blocks`]: building blocks for
//!   it.
//! - [`suites`], [`quic`], [`provider`]: cipher suites, QUIC keys and whole providers, made of
//!   these.
//! - [`record`]: records, sent and received; [`ticketer`]: session tickets.
//! - [`operation`]: futures of asynchronous operations.
//! - [`versions`], [`ffdhe_groups`], [`ech_config`]: protocol versions, finite-field groups and ECH
//!   configurations.
//! - [`copy`], [`der`]: copies of payloads, and DER encoding.
//! - [`lock`], [`time_provider`]: the locks and the clock, which an application without `std` must
//!   supply.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)
)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod blocks;
pub mod codec;
pub mod copy;
pub mod crypto;
pub mod der;
pub mod ech_config;
pub mod enums;
pub mod error;
pub mod ffdhe_groups;
pub mod lock;
pub mod operation;
pub mod provider;
pub mod quic;
pub mod record;
pub mod sign;
pub mod suites;
pub mod ticketer;
pub mod time_provider;
pub mod versions;
