//! The operations whose API differs from ring's, or that only aws-lc-rs has.

use core::hint::black_box;

use aws_lc_rs as lib;
use harness::peers::pairs::Result;
use lib::agreement::{self, EphemeralPrivateKey, UnparsedPublicKey, X25519};
use lib::digest;
use lib::kem::{self, DecapsulationKey, EncapsulationKey};
use lib::signature::{EcdsaKeyPair, EcdsaSigningAlgorithm};

use super::aead::{Framing, NONCE};
use super::primitive::{refused, repeated};
use crate::choices::{Group, Hash, Role};
use crate::measure::Operation;

#[path = "library.rs"]
pub(super) mod library;

fn ecdsa_key(algorithm: &'static EcdsaSigningAlgorithm, der: &[u8]) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(algorithm, der).map_err(refused)
}

fn agree(private: EphemeralPrivateKey, peer: UnparsedPublicKey<&[u8]>) -> Result<()> {
    let agreed = agreement::agree_ephemeral(private, peer, (), |secret| {
        black_box(secret);
        Ok(())
    });
    agreed.map_err(refused)
}

/// Seals out of place.
fn seal(
    key: &lib::aead::LessSafeKey,
    framing: &Framing,
    plaintext: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let nonce = lib::aead::Nonce::assume_unique_for_key(NONCE);
    let aad = lib::aead::Aad::from(framing.aad());
    let (ciphertext, tail) = out.split_at_mut(plaintext.len());
    key.seal_out_of_place_scatter(nonce, aad, plaintext, ciphertext, framing.trailer, tail)
        .map_err(refused)
}

fn hybrid_share() -> Result<Operation> {
    Ok(repeated(move || {
        black_box(library::key_pair(&X25519)?);
        encapsulation_key(&decapsulation_key()?)
    }))
}

/// The client generates and decapsulates, the server encapsulates.
fn hybrid_exchange(role: Role) -> Result<Operation> {
    let mut classic = library::exchange(Group::X25519, role)?;
    let theirs = encapsulation_key(&decapsulation_key()?)?;
    Ok(Box::new(move || {
        classic()?;
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

/// HMAC over the library's hash functions, as the provider computes it, because it is faster than
/// the library's own HMAC. Only SHA-384 has a prepared key.
fn mac(hash: Hash, messages: Vec<usize>) -> Operation {
    let bytes = vec![0x17; messages.iter().copied().max().unwrap_or(0)];
    match hash {
        Hash::Sha256 => Box::new(move || {
            for len in &messages {
                let mut inner = [0x1c; 64 + 192];
                inner[64..][..*len].copy_from_slice(black_box(&bytes[..*len]));
                let inner = digest::digest(&digest::SHA256, black_box(&inner[..64 + len]));
                let mut outer = [0x76; 64 + 32];
                outer[64..].copy_from_slice(inner.as_ref());
                black_box(digest::digest(&digest::SHA256, &outer));
            }
            Ok(())
        }),
        Hash::Sha384 => Box::new(move || {
            let [inner, outer] = [[0x1c; 128], [0x76; 128]].map(|block| {
                let mut context = digest::Context::new(&digest::SHA384);
                context.update(black_box(&block));
                context
            });
            for len in &messages {
                let mut first = inner.clone();
                first.update(black_box(&bytes[..*len]));
                let mut second = outer.clone();
                second.update(first.finish().as_ref());
                black_box(second.finish());
            }
            Ok(())
        }),
    }
}
