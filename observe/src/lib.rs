//! Observers for [`rustls`]: counters, metrics and traces of handshakes and connections, for any
//! framework.
//!
//! Each type in the table below implements [`Observer`](rustls::observer::Observer), which is set
//! in a configuration. So servers and clients that use hyper, axum, tonic or quinn need no change.
//! Patch rustls to the same checkout, because otherwise two copies are built and their types do not
//! match:
//!
//! ```toml
//! [dependencies]
//! rustls-observe = { path = "../rustls-inplace/observe", features = ["metrics"] }
//! ```
//!
//! | to | use | feature |
//! |---|---|---|
//! | count events, and read or print the numbers | [`Counters`] | |
#![cfg_attr(
    feature = "metrics",
    doc = "| report to Prometheus, StatsD and others through the crate [`metrics`] | [`Metrics`] | `metrics` |"
)]
#![cfg_attr(
    feature = "tracing",
    doc = "| get a span for each handshake | [`Tracing`] | `tracing` |"
)]
//! | use several of them | [`Observers`] | |
//!
//! # The metrics
//!
//! `Counters` and `Metrics` have the same metrics, named according to Prometheus' conventions.
//! Apart from labels that the application adds, all label values come from fixed lists: no text
//! that a peer sends becomes a label value. So no label holds the server's name.
//!
#![doc = include_str!("catalog.md")]
//!
//! Values that the table does not list:
//!
//! - `cipher_suite`: IANA's name. `group` and `scheme`: the name in [`NamedGroup`] and
//!   [`SignatureScheme`]. `other` for suites that no built-in provider has, and for unusual groups
//!   and schemes;
//! - `reason`: a label of [`NotResumed`] or [`EarlyDataRejected`];
//! - `stage`: `handshake` or `traffic`. `fault`: a label of [`Fault`]. `label`: a
//!   [label of an error](rustls::Error::label), `dropped` or `end_of_stream`;
//! - `alert`: its name in the RFC, such as `handshake_failure`, or `unknown`, with `direction`
//!   `sent` or `received`.
//!
//! Data is counted when a connection is dropped, so `tls_bytes_total` and `tls_records_total` do
//! not include open connections. Waits are counted for asynchronous operations only.
//!
//! [`EarlyDataRejected`]: rustls::observer::EarlyDataRejected
//! [`Fault`]: rustls::observer::Fault
//! [`NamedGroup`]: rustls::NamedGroup
//! [`NotResumed`]: rustls::observer::NotResumed
//! [`SignatureScheme`]: rustls::SignatureScheme

#![cfg_attr(docsrs, feature(doc_cfg))]

mod catalog;
mod counters;
#[cfg(feature = "metrics")]
mod facade;
mod names;
mod observers;
mod recording;
mod snapshot;
#[cfg(feature = "tracing")]
mod spans;

pub use counters::Counters;
#[cfg(feature = "metrics")]
pub use facade::Metrics;
pub use observers::Observers;
pub use snapshot::{Sample, Snapshot, Value};
#[cfg(feature = "tracing")]
pub use spans::Tracing;
