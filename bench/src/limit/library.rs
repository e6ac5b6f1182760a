//! The operations of one library. ring and aws-lc-rs have nearly the same API, so this file is
//! compiled twice, with `lib` naming the library. The parent module has the differences.

use core::hint::black_box;

use harness::peers::pairs::Result;

use super::lib::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use super::lib::rand::{SecureRandom, SystemRandom};
use super::lib::signature::{
    self, Ed25519KeyPair, KeyPair, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use super::lib::{agreement, digest};
use super::{agree, ecdsa_key, hybrid_exchange, hybrid_share, mac};
use crate::choices::{Cipher, Group, Hash, KeyType, Role};
use crate::limit::aead::{Framing, NONCE, TAG_LEN};
use crate::limit::primitive::{Primitive, refused, repeated};
use crate::measure::Operation;

#[path = "records.rs"]
pub(in crate::limit) mod records;

/// Returns the operation of `primitive`, ready to be repeated.
pub(in crate::limit) fn operation(primitive: &Primitive) -> Result<Operation> {
    match *primitive {
        Primitive::Random(len) => Ok(random(len)),
        Primitive::Share(group) => share(group),
        Primitive::Exchange(group, role) => exchange(group, role),
        Primitive::Sign(key_type, len) => sign(key_type, len),
        Primitive::Verify(key_type, len) => verify(key_type, len),
        Primitive::Hash(hash, ref pieces) => Ok(hash_pieces(hash, pieces.clone())),
        Primitive::Mac(hash, ref messages) => Ok(mac(hash, messages.clone())),
        Primitive::AeadKey(cipher) => {
            key(cipher)?;
            Ok(repeated(move || key(cipher)))
        }
        Primitive::Seal(cipher, len) => seal(cipher, len),
        Primitive::SealApart(cipher, len) => seal_apart(cipher, len),
        Primitive::Open(cipher, len) => open(cipher, len),
    }
}

fn random(len: usize) -> Operation {
    let (random, mut bytes) = (SystemRandom::new(), vec![0; len]);
    Box::new(move || random.fill(black_box(&mut bytes)).map_err(refused))
}

fn curve(group: Group) -> Option<&'static agreement::Algorithm> {
    match group {
        Group::X25519 => Some(&agreement::X25519),
        Group::Secp256r1 => Some(&agreement::ECDH_P256),
        Group::Secp384r1 => Some(&agreement::ECDH_P384),
        Group::X25519MlKem768 => None,
    }
}

fn share(group: Group) -> Result<Operation> {
    match curve(group) {
        Some(curve) => Ok(repeated(move || key_pair(curve))),
        None => hybrid_share(),
    }
}

pub(super) fn key_pair(
    curve: &'static agreement::Algorithm,
) -> Result<(agreement::EphemeralPrivateKey, agreement::PublicKey)> {
    let random = SystemRandom::new();
    let private = agreement::EphemeralPrivateKey::generate(curve, &random).map_err(refused)?;
    let public = private.compute_public_key().map_err(refused)?;
    Ok((private, public))
}

/// Key exchange with a share of the peer. On a curve both sides do the same.
pub(super) fn exchange(group: Group, role: Role) -> Result<Operation> {
    let Some(curve) = curve(group) else {
        return hybrid_exchange(role);
    };
    let (_, peer) = key_pair(curve)?;
    Ok(Box::new(move || {
        let (private, public) = key_pair(curve)?;
        black_box(public);
        let peer = agreement::UnparsedPublicKey::new(curve, peer.as_ref());
        agree(private, peer)
    }))
}

/// Signs a message.
type Signer = Box<dyn Fn(&[u8]) -> Result<Vec<u8>>>;

/// Returns a signer with a key of `key_type`, and its public key.
fn signer(key_type: KeyType) -> Result<(Signer, Vec<u8>)> {
    let key = key_type.identities().server.key();
    let der = key.secret_der();
    let ecdsa = |algorithm| -> Result<(Signer, Vec<u8>)> {
        let key = ecdsa_key(algorithm, der)?;
        let public = key.public_key().as_ref().to_vec();
        let sign = move |message: &[u8]| {
            let signature = key.sign(&SystemRandom::new(), message);
            Ok(signature.map_err(refused)?.as_ref().to_vec())
        };
        Ok((Box::new(sign), public))
    };
    match key_type {
        KeyType::EcdsaP256 => ecdsa(&signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        KeyType::EcdsaP384 => ecdsa(&signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        KeyType::EcdsaP521 => Err(refused(())),
        KeyType::Ed25519 => {
            let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(refused)?;
            let public = key.public_key().as_ref().to_vec();
            let sign = move |message: &[u8]| Ok(key.sign(message).as_ref().to_vec());
            Ok((Box::new(sign), public))
        }
        KeyType::Rsa2048 => {
            let key = RsaKeyPair::from_pkcs8(der).map_err(refused)?;
            let public = key.public_key().as_ref().to_vec();
            let sign = move |message: &[u8]| {
                let (random, mut signature) = (SystemRandom::new(), vec![0; RSA_2048_LEN]);
                let signed = key.sign(&signature::RSA_PSS_SHA256, &random, message, &mut signature);
                signed.map(|()| signature).map_err(refused)
            };
            Ok((Box::new(sign), public))
        }
    }
}

/// The length of a signature by a 2048-bit key.
const RSA_2048_LEN: usize = 256;

fn sign(key_type: KeyType, len: usize) -> Result<Operation> {
    let ((sign, _), message) = (signer(key_type)?, vec![0x17; len]);
    Ok(repeated(move || sign(black_box(&message))))
}

fn verify(key_type: KeyType, len: usize) -> Result<Operation> {
    let algorithm: &'static dyn VerificationAlgorithm = match key_type {
        KeyType::EcdsaP256 => &signature::ECDSA_P256_SHA256_ASN1,
        KeyType::EcdsaP384 => &signature::ECDSA_P384_SHA384_ASN1,
        KeyType::Ed25519 => &signature::ED25519,
        KeyType::Rsa2048 => &signature::RSA_PSS_2048_8192_SHA256,
        KeyType::EcdsaP521 => return Err(refused(())),
    };
    let ((sign, public_key), message) = (signer(key_type)?, vec![0x17; len]);
    let signature = sign(&message)?;
    let public_key = UnparsedPublicKey::new(algorithm, public_key);
    Ok(Box::new(move || {
        public_key
            .verify(black_box(&message), &signature)
            .map_err(refused)
    }))
}

fn hash_pieces(hash: Hash, pieces: Vec<usize>) -> Operation {
    let algorithm = match hash {
        Hash::Sha256 => &digest::SHA256,
        Hash::Sha384 => &digest::SHA384,
    };
    let bytes = vec![0x17; pieces.iter().copied().max().unwrap_or(0)];
    Box::new(move || {
        let mut context = digest::Context::new(algorithm);
        for piece in &pieces {
            context.update(black_box(&bytes[..*piece]));
            black_box(context.clone().finish());
        }
        Ok(())
    })
}

fn key(cipher: Cipher) -> Result<LessSafeKey> {
    let algorithm = match cipher {
        Cipher::Aes128Gcm => &aead::AES_128_GCM,
        Cipher::Aes256Gcm => &aead::AES_256_GCM,
        Cipher::Chacha20Poly1305 => &aead::CHACHA20_POLY1305,
    };
    let bytes = [0x2a; 32];
    let key = UnboundKey::new(algorithm, black_box(&bytes[..cipher.key_len()]));
    Ok(LessSafeKey::new(key.map_err(refused)?))
}

/// Seals the plaintext at the front of `record` and the trailer after it; the tag fills the rest.
pub(super) fn seal_in_place(key: &LessSafeKey, framing: &Framing, record: &mut [u8]) -> Result<()> {
    let (inner, tag) = record.split_at_mut(record.len() - TAG_LEN);
    let payload_len = inner.len() - framing.trailer.len();
    inner[payload_len..].copy_from_slice(framing.trailer);
    let nonce = Nonce::assume_unique_for_key(NONCE);
    let sealed = key.seal_in_place_separate_tag(nonce, Aad::from(framing.aad()), inner);
    tag.copy_from_slice(sealed.map_err(refused)?.as_ref());
    Ok(())
}

/// Opens `record`; returns plaintext and trailer.
fn open_in_place<'a>(
    key: &LessSafeKey,
    framing: &Framing,
    record: &'a mut [u8],
) -> Result<&'a [u8]> {
    let nonce = Nonce::assume_unique_for_key(NONCE);
    let opened = key.open_in_place(nonce, Aad::from(framing.aad()), record);
    Ok(opened.map_err(refused)?)
}

/// Seals in place, over the ciphertext of the last time.
fn seal(cipher: Cipher, len: usize) -> Result<Operation> {
    let (key, mut record) = (key(cipher)?, vec![0x17; len + TAG_LEN]);
    Ok(Box::new(move || {
        seal_in_place(&key, &Framing::BARE, black_box(&mut record))
    }))
}

/// Seals into another buffer.
fn seal_apart(cipher: Cipher, len: usize) -> Result<Operation> {
    let (key, plaintext) = (key(cipher)?, vec![0x17; len]);
    let mut record = vec![0; len + TAG_LEN];
    Ok(Box::new(move || {
        let (plaintext, record) = (black_box(&plaintext), black_box(&mut record));
        super::seal(&key, &Framing::BARE, plaintext, record)
    }))
}

/// Opens a fresh copy each time, since opening overwrites the ciphertext.
fn open(cipher: Cipher, len: usize) -> Result<Operation> {
    let (key, mut sealed) = (key(cipher)?, vec![0x17; len + TAG_LEN]);
    seal_in_place(&key, &Framing::BARE, &mut sealed)?;
    let mut record = sealed.clone();
    Ok(Box::new(move || {
        record.copy_from_slice(&sealed);
        black_box(open_in_place(&key, &Framing::BARE, black_box(&mut record))?);
        Ok(())
    }))
}
