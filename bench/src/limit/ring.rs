//! The operations that ring spells otherwise than aws-lc-rs, or that it lacks.

use core::hint::black_box;

use harness::peers::pairs::Result;
use lib::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use lib::rand::SystemRandom;
use lib::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm};
use ring as lib;

use super::aead::Inputs;
use super::primitive::refused;
use crate::choices::Role;
use crate::measure::Operation;

#[path = "library.rs"]
pub(super) mod library;

fn ecdsa_key(algorithm: &'static EcdsaSigningAlgorithm, der: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()).map_err(refused)
}

fn agree(
    private: EphemeralPrivateKey,
    curve: &'static agreement::Algorithm,
    peer: &[u8],
) -> Result<()> {
    let peer = UnparsedPublicKey::new(curve, peer);
    let agreed = agreement::agree_ephemeral(private, &peer, |secret| {
        black_box(secret);
    });
    agreed.map_err(refused)
}

/// Seals in place, because ring cannot do otherwise. The limit omits the copy that TLS has to make
/// for it.
fn seal(key: &lib::aead::LessSafeKey, inputs: &Inputs, _: &[u8], out: &mut [u8]) -> Result<()> {
    library::seal_in_place(key, inputs, out)
}

fn hybrid_share() -> Result<Operation> {
    Err("ring has no ML-KEM".into())
}

fn hybrid_exchange(_: Role) -> Result<Operation> {
    hybrid_share()
}
