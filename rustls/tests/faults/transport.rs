//! The faults of the transport. Each test run has one fault at one call.

use std::io::ErrorKind;

pub(crate) use harness::peers::faulty::{
    Counts, Fault, IoCall, Plan, PlannedPanic, Then, Transport,
};

/// One fault of each kind that connections may handle differently.
pub(crate) const KINDS: [Fault; 7] = [
    Fault::Short,
    Fault::Fails(ErrorKind::WouldBlock),
    Fault::Fails(ErrorKind::Interrupted),
    Fault::Fails(ErrorKind::ConnectionReset),
    Fault::Nothing,
    Fault::Lies,
    Fault::Panics,
];

/// Errors that connections should not handle specially, the most common first.
pub(crate) const ERRORS: [Fault; 4] = [
    Fault::Fails(ErrorKind::TimedOut),
    Fault::Fails(ErrorKind::BrokenPipe),
    Fault::Fails(ErrorKind::Other),
    Fault::Fails(ErrorKind::InvalidData),
];
