//! The work to compare: its parameters and inputs, and the traits of work that implementations of
//! TLS and the limits have in common.

mod bulk;
pub(crate) mod certificates;
pub(crate) mod duplex;
pub(crate) mod handshakes;
pub(crate) mod identities;
pub(crate) mod memory;
pub(crate) mod offload;
mod scenario;
pub(crate) mod socket;

pub(crate) use bulk::{
    InPlace, MAX_PAYLOAD, RECORD_HEADER_LEN, SealsInPlace, Stretch, Traffic, Transfers, Workload,
    on_threads, slowest, transfer,
};
pub(crate) use harness::peers::pairs::{Result, check_received};
pub(crate) use identities::Identity;
pub(crate) use scenario::{Scenario, Sessions};
