//! The operations of aws-lc-rs.

use core::hint::black_box;

use aws_lc_rs as lib;
use lib::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey};
use lib::kem::{self, DecapsulationKey, EncapsulationKey};
use lib::rand::SystemRandom;
use lib::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm};
use {self as dialect};

use self::library::{key_pair, refused, repeated};
use super::Operation;
use crate::choices::Role;
use crate::workload::Result;

#[path = "library.rs"]
pub(crate) mod library;

fn ecdsa_key(algorithm: &'static EcdsaSigningAlgorithm, der: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(algorithm, der).map_err(refused)
}

fn agree(
    private: EphemeralPrivateKey,
    curve: &'static agreement::Algorithm,
    peer: &[u8],
) -> Result<()> {
    let peer = UnparsedPublicKey::new(curve, peer);
    agreement::agree_ephemeral(private, peer, (), |secret| {
        black_box(secret);
        Ok(())
    })
    .map_err(refused)
}

fn hybrid_share() -> Result<Operation> {
    let random = SystemRandom::new();
    Ok(repeated(move || {
        black_box(key_pair(&agreement::X25519, &random)?);
        encapsulation_key(&decapsulation_key()?)
    }))
}

/// The client generates and decapsulates, the server encapsulates.
fn hybrid_exchange(role: Role) -> Result<Operation> {
    let random = SystemRandom::new();
    let (_, peer) = key_pair(&agreement::X25519, &random)?;
    let theirs = encapsulation_key(&decapsulation_key()?)?;
    Ok(Box::new(move || {
        let (private, public) = key_pair(&agreement::X25519, &random)?;
        black_box(public);
        agree(private, &agreement::X25519, peer.as_ref())?;
        match role {
            Role::Client => {
                let secret = decapsulation_key()?;
                black_box(encapsulation_key(&secret)?);
                // any bytes of this length decapsulate to some secret, in the same time (FIPS 203)
                let ciphertext = [0x17; ML_KEM_768_CIPHERTEXT_LEN];
                let shared = secret.decapsulate(ciphertext[..].into());
                black_box(shared.map_err(refused)?);
            }
            Role::Server => {
                let key = EncapsulationKey::new(&kem::ML_KEM_768, &theirs).map_err(refused)?;
                black_box(key.encapsulate().map_err(refused)?);
            }
        }
        Ok(())
    }))
}

const ML_KEM_768_CIPHERTEXT_LEN: usize = 1088;

fn decapsulation_key() -> Result<DecapsulationKey> {
    DecapsulationKey::generate(&kem::ML_KEM_768).map_err(refused)
}

fn encapsulation_key(secret: &DecapsulationKey) -> Result<Vec<u8>> {
    let key = secret.encapsulation_key().map_err(refused)?;
    Ok(key.key_bytes().map_err(refused)?.as_ref().to_vec())
}
