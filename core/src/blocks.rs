//! Building blocks for crypto providers: code that providers share, on top of small traits that a
//! provider implements with its crypto library.
//!
//! A provider that implements one of these traits gets:
//!
//! - [`AeadAlgorithm`], for an AEAD: records of TLS 1.3 and TLS 1.2 ([`Tls13Framing`],
//!   [`Tls12GcmFraming`], [`Tls12Chacha20Framing`]);
//! - [`PacketAlgorithm`], for an AEAD with its cipher for QUIC headers: packet and header
//!   protection ([`QuicPackets`]);
//! - [`HashFunction`], for a hash function with HMAC: transcript hash, HMAC and HKDF ([`Hashing`]),
//!   and the TLS 1.2 PRF;
//! - an AEAD and a hash function together: cipher suites ([`Tls13Suite`], [`Tls12Suite`]), and
//!   their lists ([`cipher_suites!`](crate::cipher_suites));
//! - [`Ecdh`], for Diffie-Hellman on a curve: key exchange ([`EcdhGroup`]);
//! - [`Kem`], for ML-KEM: key exchange alone ([`KemGroup`]), and with a curve ([`HybridGroup`]);
//! - [`HpkeDh`], for Diffie-Hellman with serialisable keys: HPKE, with an AEAD and a hash function
//!   ([`HpkeBase`]);
//! - [`KeyPair`], for private keys: signing keys from PKCS#8, SEC1 and PKCS#1 ([`KeyLoader`],
//!   [`any_supported_type`]);
//! - [`Aead`], for an AEAD key that several threads may use at once: ticket protection
//!   ([`make_ticketer`]), and with HKDF, tickets that any machine in a fleet can open
//!   ([`FleetTicketer`]).
//!
//! [`Choice`] combines the AEADs of two libraries, and chooses between them at run time.
//!
//! A [`CryptoProvider`](crate::provider::CryptoProvider) also needs a source of randomness
//! ([`SecureRandom`](crate::crypto::SecureRandom)), the algorithms that verify signatures, and
//! lists of suites and groups, in order of preference.
//!
//! Every block is optional, and implements traits of the provider interface. Implement these traits
//! directly if your library can do more, for example if it drives a hardware record engine.

pub use choice::Choice;
pub use ecdh::{Curve, Ecdh, EcdhGroup};
pub use hash::{Computation, HashFunction, Hashing};
pub use hpke::{HpkeBase, HpkeDh, HpkeError};
pub use kem::{HybridGroup, Kem, KemGroup, KemParameters};
pub use signing::{
    KeyKind, KeyLoader, KeyPair, KeyRejected, any_ecdsa_type, any_eddsa_type, any_rsa_type,
    any_supported_type,
};
pub use suites::{Tls12Suite, Tls13Suite};

pub use crate::crypto::aead::{
    Aead, AeadAlgorithm, AeadError, InPlace, OpeningKey, SealingKey, TAG_LEN, Tag, split_tag,
};
pub use crate::crypto::bulk_cipher::*;
pub use crate::crypto::quic::{
    AeadPacketKey, HeaderMask, MASK_LEN, MaskHeaderKey, PacketAlgorithm, QuicPackets, SAMPLE_LEN,
};
pub use crate::record::framing::{Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing};
#[cfg(feature = "std")]
pub use crate::ticketer::make_rotating_ticketer;
pub use crate::ticketer::{AeadTicketer, FleetCrypto, FleetTicketer, make_ticketer};

mod choice;
mod ecdh;
mod hash;
mod hpke;
mod kem;
mod signing;
mod suites;
mod ticketer;
