//! Connections of one of the two implementations: configurations and workloads.
//!
//! This library and upstream have the same API, so this module is compiled twice, as
//! `this::connection` and `upstream::connection`. `dialect::tls` names the crate under test. Code
//! for APIs that only this library has is in `this`.

pub(crate) mod bulk;
pub(crate) mod certificates;
pub(crate) mod configs;
pub(crate) mod duplex;
pub(crate) mod handshake;
pub(crate) mod many_pairs;
pub(crate) mod offload;
pub(crate) mod tcp;

use super::dialect;
