//! The operations of ring.

use core::hint::black_box;

use lib::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use lib::rand::SystemRandom;
use lib::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm};
use ring as lib;
use {self as dialect};

use self::library::refused;
use super::Operation;
use crate::choices::Role;
use crate::workload::Result;

#[path = "library.rs"]
pub(crate) mod library;

fn ecdsa_key(algorithm: &'static EcdsaSigningAlgorithm, der: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(algorithm, der, &SystemRandom::new()).map_err(refused)
}

fn agree(
    private: EphemeralPrivateKey,
    curve: &'static agreement::Algorithm,
    peer: &[u8],
) -> Result<()> {
    let peer = UnparsedPublicKey::new(curve, peer);
    agreement::agree_ephemeral(private, &peer, |secret| {
        black_box(secret);
    })
    .map_err(refused)
}

fn hybrid_share() -> Result<Operation> {
    Err("ring has no ML-KEM".into())
}

fn hybrid_exchange(_: Role) -> Result<Operation> {
    hybrid_share()
}
