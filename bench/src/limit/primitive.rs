//! The cryptographic operations of handshakes and records, by name.

use core::fmt;
use core::hint::black_box;

use harness::peers::pairs::{Error, Result};

use super::library_of;
use crate::choices::{Choice, Cipher, Group, Hash, KeyType, Library, Provider, Role, Version};
use crate::measure::Operation;

/// An operation of a cryptographic library. Lengths are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Primitive {
    Random(usize),
    /// Generating a key pair and encoding its public part.
    Share(Group),
    /// Generating a key pair, and deriving the shared secret with the peer's share.
    Exchange(Group, Role),
    /// Signing a message of this length.
    Sign(KeyType, usize),
    /// Verifying the signature of such a message.
    Verify(KeyType, usize),
    /// Hashing pieces of these lengths, and taking the hash after each.
    Hash(Hash, Vec<usize>),
    /// HMACs of messages of these lengths, with one key that is set up first. HKDF and the PRF of
    /// TLS 1.2 consist of them.
    Mac(Hash, Vec<usize>),
    AeadKey(Cipher),
    /// Sealing in place.
    Seal(Cipher, usize),
    /// Sealing into another buffer, which ring cannot.
    SealApart(Cipher, usize),
    Open(Cipher, usize),
}

impl Primitive {
    /// All operations of handshakes and records, with typical lengths.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Random(32)];
        for &group in Group::ALL {
            all.push(Self::Share(group));
            all.push(Self::Exchange(group, Role::Client));
            if group == Group::X25519MlKem768 {
                all.push(Self::Exchange(group, Role::Server));
            }
        }
        for &key_type in KeyType::ALL {
            all.extend([Self::Sign(key_type, 130), Self::Verify(key_type, 130)]);
        }
        for hash in [Hash::Sha256, Hash::Sha384] {
            all.push(Self::Hash(hash, vec![1024]));
            all.extend([1, 4].map(|count| Self::Mac(hash, vec![54; count])));
        }
        for &cipher in Cipher::ALL {
            all.push(Self::AeadKey(cipher));
            for len in [64, 1024, 1400, 16384] {
                all.extend([Self::Seal(cipher, len), Self::Open(cipher, len)]);
            }
            all.extend([1400, 16384].map(|len| Self::SealApart(cipher, len)));
        }
        all
    }

    pub(crate) fn is_usable_with(&self, provider: Provider) -> bool {
        match self {
            Self::Share(group) | Self::Exchange(group, _) => {
                group.usable_with(provider, Version::Tls13)
            }
            Self::SealApart(..) => library_of(provider, self) == Library::AwsLc,
            _ => true,
        }
    }
}

/// Returns an operation that drops the result of `work`.
pub(super) fn repeated<T>(mut work: impl FnMut() -> Result<T> + 'static) -> Operation {
    Box::new(move || {
        black_box(work()?);
        Ok(())
    })
}

/// Replaces the libraries' errors, which carry no details.
pub(super) fn refused<E>(_: E) -> Error {
    "the provider's library refused".into()
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(len) => write!(f, "random, {len} bytes"),
            Self::Share(group) => write!(f, "{} share", group.name()),
            Self::Exchange(Group::X25519MlKem768, role) => {
                let group = Group::X25519MlKem768.name();
                write!(f, "{group} share and secret, {}", role.name())
            }
            Self::Exchange(group, _) => write!(f, "{} share and secret", group.name()),
            Self::Sign(key_type, len) => write!(f, "{} sign, {len} bytes", key_type.name()),
            Self::Verify(key_type, len) => write!(f, "{} verify, {len} bytes", key_type.name()),
            Self::Hash(hash, pieces) => {
                let len: usize = pieces.iter().sum();
                write!(f, "{}, {len} bytes", hash.name())
            }
            Self::Mac(hash, messages) => {
                let (count, len) = (messages.len(), messages.iter().max().unwrap_or(&0));
                write!(f, "HMAC-{}, key and {count} × {len} bytes", hash.name())
            }
            Self::AeadKey(cipher) => write!(f, "{} key", cipher.name()),
            Self::Seal(cipher, len) => write!(f, "{} seal, {len} bytes", cipher.name()),
            Self::SealApart(cipher, len) => {
                write!(f, "{} seal, {len} bytes, out of place", cipher.name())
            }
            Self::Open(cipher, len) => write!(f, "{} open, {len} bytes", cipher.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::operation;

    #[test]
    fn every_operation_of_every_provider_works() {
        for &provider in Provider::ALL {
            for primitive in Primitive::all() {
                if primitive.is_usable_with(provider) {
                    let library = library_of(provider, &primitive);
                    let mut operation = operation(library, &primitive).unwrap();
                    // operations that change their input must remain repeatable
                    operation().unwrap();
                    operation().unwrap();
                } else {
                    assert!(
                        matches!(primitive, Primitive::SealApart(..))
                            || operation(provider.library(), &primitive).is_err()
                    );
                }
            }
        }
    }
}
