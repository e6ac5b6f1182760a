//! Building blocks for crypto providers: what all providers would write the same way, over small traits
//! for what a crypto library brings.
//!
//! | the library has | say so by | and get |
//! |---|---|---|
//! | an AEAD | [`AeadAlgorithm`] | records of TLS 1.3 and TLS 1.2: [`Tls13Framing`], [`Tls12GcmFraming`], [`Tls12Chacha20Framing`] |
//! | and a cipher for QUIC's headers | [`PacketAlgorithm`] | packet and header protection: [`QuicPackets`] |
//! | a hash function, with HMAC | [`HashFunction`] | transcript hash, HMAC, HKDF: [`Hashing`]; the PRF of TLS 1.2 |
//! | both | | cipher suites: [`Tls13Suite`], [`Tls12Suite`] |
//! | Diffie-Hellman on a curve | [`Ecdh`] | key exchange: [`EcdhGroup`] |
//! | and keys of it that can be written and read | [`HpkeDh`] | with an AEAD and a hash function, HPKE: [`HpkeBase`] |
//! | private keys | [`KeyPair`] | signing keys out of PKCS#8, SEC1 and PKCS#1: [`KeyLoader`], [`any_supported_type`] |
//! | an AEAD to be shared | [`Aead`] | protection of tickets: [`make_ticketer`]; with HKDF, tickets that any machine of a fleet opens: [`FleetTicketer`] |
//!
//! What remains is the library's spelling, a source of randomness
//! ([`SecureRandom`](crate::crypto::SecureRandom)), the algorithms that verify signatures, and the lists of
//! what is offered in which order, all of which make a
//! [`CryptoProvider`](crate::provider::CryptoProvider).
//!
//! None of it has to be used. Each block implements a trait of the interface, which a provider can
//! implement by itself where its library does more, a record engine in hardware for example.

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
