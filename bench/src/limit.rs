//! The limits: the same work as in a connection, done by the provider's library alone.

mod aead;
mod aws_lc_rs;
pub(crate) mod handshake;
pub(crate) mod primitive;
mod ring;

use primitive::Primitive;

use crate::choices::{Api, Choice, Cipher, Direction, Hash, Provider};
use crate::measure::Operation;
use crate::workload::{Result, Traffic, Workload};

/// A library of cryptography.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Library {
    AwsLc,
    Ring,
}

impl Library {
    /// The library whose `primitive` a provider uses.
    pub(crate) fn of(provider: Provider, primitive: &Primitive) -> Self {
        match provider {
            Provider::AwsLc => Self::AwsLc,
            Provider::Ring => Self::Ring,
            Provider::Fastest => Self::of_fastest(primitive),
        }
    }

    /// The library that [`rustls::crypto::fastest`] takes on this machine.
    fn of_fastest(primitive: &Primitive) -> Self {
        let is_ring = match primitive {
            Primitive::Random(_) => true,
            Primitive::Hash(hash, _) | Primitive::Mac(hash, _) => *hash == Hash::Sha384,
            Primitive::AeadKey(cipher)
            | Primitive::Seal(cipher, _)
            | Primitive::SealApart(cipher, _)
            | Primitive::Open(cipher, _) => match cipher {
                Cipher::Chacha20Poly1305 => true,
                Cipher::Aes128Gcm | Cipher::Aes256Gcm => {
                    let random = rustls::crypto::fastest::default_provider().secure_random;
                    format!("{random:?}").contains("aes_gcm: ring")
                }
            },
            _ => false,
        };
        if is_ring { Self::Ring } else { Self::AwsLc }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AwsLc => Provider::AwsLc.name(),
            Self::Ring => Provider::Ring.name(),
        }
    }

    /// Returns `primitive` in this library.
    pub(crate) fn operation(self, primitive: &Primitive) -> Result<Operation> {
        match self {
            Self::AwsLc => aws_lc_rs::library::operation(primitive),
            Self::Ring => ring::library::operation(primitive),
        }
    }
}

/// Returns `primitive` in the library that `provider` uses for it.
pub(crate) fn operation(provider: Provider, primitive: &Primitive) -> Result<Operation> {
    Library::of(provider, primitive).operation(primitive)
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
