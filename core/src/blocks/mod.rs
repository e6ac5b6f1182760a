//! Building blocks for crypto providers. They contain everything that all providers would write
//! alike, over small traits that a crypto library implements.
//!
//! | if the library has | implement | to get |
//! |---|---|---|
//! | an AEAD | [`AeadAlgorithm`] | records of TLS 1.3 and TLS 1.2: [`Tls13Framing`], [`Tls12GcmFraming`], [`Tls12Chacha20Framing`] |
//! | plus a cipher for QUIC's headers | [`PacketAlgorithm`] | packet and header protection: [`QuicPackets`] |
//! | a hash function, with HMAC | [`HashFunction`] | transcript hash, HMAC, HKDF: [`Hashing`]; the PRF of TLS 1.2 |
//! | both of these | | cipher suites: [`Tls13Suite`], [`Tls12Suite`] |
//! | Diffie-Hellman on a curve | [`Ecdh`] | key exchange: [`EcdhGroup`] |
//! | plus serialisable keys | [`HpkeDh`] | with an AEAD and a hash function, HPKE: [`HpkeBase`] |
//! | private keys | [`KeyPair`] | signing keys from PKCS#8, SEC1 and PKCS#1: [`KeyLoader`], [`any_supported_type`] |
//! | an AEAD with a shared key | [`Aead`] | protection of tickets: [`make_ticketer`]; with HKDF, tickets that any machine of a fleet opens: [`FleetTicketer`] |
//!
//! The provider adds a source of randomness ([`SecureRandom`](crate::crypto::SecureRandom)), the
//! algorithms that verify signatures, and the lists of what it offers, in order of preference. All
//! of them together make a [`CryptoProvider`](crate::provider::CryptoProvider).
//!
//! Every block is optional. Each implements a trait of the provider interface. A provider can
//! implement that trait itself if its library does more, for example with a hardware record engine.

pub use ecdh::{Curve, Ecdh, EcdhGroup};
pub use hash::{Computation, HashFunction, Hashing};
pub use hpke::{HpkeBase, HpkeDh, HpkeError};
pub use signing::{
    KeyKind, KeyLoader, KeyPair, KeyRejected, any_ecdsa_type, any_eddsa_type, any_rsa_type,
    any_supported_type,
};
pub use suites::{Tls12Suite, Tls13Suite};

pub use crate::crypto::aead::{
    Aead, AeadAlgorithm, AeadError, Aes128Gcm, Aes256Gcm, BulkCipher, Chacha20Poly1305, Cipher,
    InPlace, OpeningKey, SealingKey, TAG_LEN, Tag, split_tag,
};
pub use crate::crypto::quic::{
    AeadPacketKey, HeaderMask, MASK_LEN, MaskHeaderKey, PacketAlgorithm, QuicPackets, SAMPLE_LEN,
};
pub use crate::record::framing::{Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing};
#[cfg(feature = "std")]
pub use crate::ticketer::make_rotating_ticketer;
pub use crate::ticketer::{AeadTicketer, FleetCrypto, FleetTicketer, make_ticketer};

mod ecdh;
mod hash;
mod hpke;
mod signing;
mod suites;
mod ticketer;
