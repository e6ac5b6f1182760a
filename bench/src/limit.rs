//! The limits: the same work as in a connection, done by the provider's library alone.

mod aead;
mod aws_lc_rs;
pub(crate) mod handshake;
pub(crate) mod primitive;
mod ring;

use primitive::Primitive;

use crate::choices::{Api, Direction, Provider};
use crate::measure::Operation;
use crate::workload::{Result, Traffic, Workload};

/// A library of cryptography.
#[derive(Clone, Copy)]
enum Library {
    AwsLc,
    Ring,
}

impl Library {
    /// The library whose `primitive` a provider uses.
    fn of(provider: Provider, _: &Primitive) -> Self {
        match provider {
            Provider::AwsLc => Self::AwsLc,
            Provider::Ring => Self::Ring,
        }
    }
}

/// Returns `primitive` in the library that `provider` uses for it.
pub(crate) fn operation(provider: Provider, primitive: &Primitive) -> Result<Operation> {
    match Library::of(provider, primitive) {
        Library::AwsLc => aws_lc_rs::library::operation(primitive),
        Library::Ring => ring::library::operation(primitive),
    }
}

/// Returns the AEAD's part of the work of `api` in `direction`.
pub(crate) fn records(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
) -> Result<Box<dyn Workload>> {
    let connection = &traffic.connection;
    match Library::of(
        connection.provider,
        &Primitive::AeadKey(connection.suite.cipher),
    ) {
        Library::AwsLc => aws_lc_rs::library::records::workload(api, direction, traffic),
        Library::Ring => ring::library::records::workload(api, direction, traffic),
    }
}
