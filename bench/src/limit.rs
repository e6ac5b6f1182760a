//! The limits: the same work as in a connection, done by the provider's library alone.

mod aead;
mod aws_lc_rs;
pub(crate) mod handshake;
pub(crate) mod primitive;
mod ring;

use primitive::Primitive;

use crate::choices::{Api, Cipher, Direction, Hash, Library, Provider};
use crate::measure::Operation;
use crate::workload::{Result, Traffic, Workload};

/// The library whose `primitive` a provider uses. For the fastest one, it is the one that
/// [`rustls::crypto::fastest`] takes on this machine.
pub(crate) fn library_of(provider: Provider, primitive: &Primitive) -> Library {
    let is_ring = match primitive {
        _ if provider != Provider::Fastest => return provider.library(),
        Primitive::Random(_) => true,
        Primitive::Hash(hash, _) | Primitive::Mac(hash, _) => *hash == Hash::Sha384,
        Primitive::AeadKey(cipher)
        | Primitive::Seal(cipher, _)
        | Primitive::SealApart(cipher, _)
        | Primitive::Open(cipher, _) => {
            let random = rustls::crypto::fastest::default_provider().secure_random;
            *cipher == Cipher::Chacha20Poly1305 || format!("{random:?}").contains("aes_gcm: ring")
        }
        _ => false,
    };
    [Library::AwsLc, Library::Ring][usize::from(is_ring)]
}

/// Returns `primitive` in `library`.
pub(crate) fn operation(library: Library, primitive: &Primitive) -> Result<Operation> {
    match library {
        Library::AwsLc => aws_lc_rs::library::operation(primitive),
        Library::Ring => ring::library::operation(primitive),
    }
}

/// Returns the AEAD's part of the work of `api` in `direction`, and with `copies` the copies
/// between the library's buffer and the network.
pub(crate) fn records(
    api: Api,
    direction: Direction,
    traffic: &Traffic,
    copies: bool,
) -> Result<Box<dyn Workload>> {
    let connection = &traffic.connection;
    let key = Primitive::AeadKey(connection.suite.cipher);
    match library_of(connection.provider, &key) {
        Library::AwsLc => aws_lc_rs::library::records::workload(api, direction, traffic, copies),
        Library::Ring => ring::library::records::workload(api, direction, traffic, copies),
    }
}
