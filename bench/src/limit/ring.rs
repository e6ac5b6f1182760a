//! The operations whose API differs from that of aws-lc-rs, or that ring lacks.

use core::hint::black_box;

use harness::peers::pairs::Result;
use lib::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use lib::hmac;
use lib::rand::SystemRandom;
use lib::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm};
use ring as lib;

use super::aead::Framing;
use super::primitive::refused;
use crate::choices::{Hash, Role};
use crate::measure::Operation;

#[path = "library.rs"]
pub(super) mod library;

fn ecdsa_key(algorithm: &'static EcdsaSigningAlgorithm, der: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()).map_err(refused)
}

fn agree(private: EphemeralPrivateKey, peer: UnparsedPublicKey<&[u8]>) -> Result<()> {
    let agreed = agreement::agree_ephemeral(private, &peer, |secret| {
        black_box(secret);
    });
    agreed.map_err(refused)
}

/// Seals in place, because ring has no other way. The limit leaves out the copy that TLS needs for
/// it.
fn seal(key: &lib::aead::LessSafeKey, framing: &Framing, _: &[u8], out: &mut [u8]) -> Result<()> {
    library::seal_in_place(key, framing, out)
}

fn hybrid_share() -> Result<Operation> {
    Err("ring has no ML-KEM".into())
}

fn hybrid_exchange(_: Role) -> Result<Operation> {
    hybrid_share()
}

fn mac(hash: Hash, messages: Vec<usize>) -> Operation {
    let algorithm = match hash {
        Hash::Sha256 => hmac::HMAC_SHA256,
        Hash::Sha384 => hmac::HMAC_SHA384,
    };
    let bytes = vec![0x17; messages.iter().copied().max().unwrap_or(0)];
    let secret = vec![0x2a; hash.len()];
    Box::new(move || {
        let key = hmac::Key::new(algorithm, black_box(&secret));
        for message in &messages {
            black_box(hmac::sign(&key, black_box(&bytes[..*message])));
        }
        Ok(())
    })
}
