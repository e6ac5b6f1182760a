//! Deterministic, insecure stand-ins for cryptography, for unit tests of the code above it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::aead::{Aead, AeadAlgorithm, AeadError, InPlace, OpeningKey, TAG_LEN};
use super::bulk_cipher::BulkCipher;
use super::cipher::{AeadKey, Iv, Nonce};
use super::hash::{Context, Hash, HashAlgorithm, Output};
use super::hmac::{Hmac, Key, Tag};
use super::kx::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use super::quic;
use super::tls12::PrfUsingHmac;
use super::tls13::HkdfUsingHmac;
use crate::enums::{CipherSuite, KeyExchangeAlgorithm, NamedGroup, SignatureScheme};
use crate::error::Error;
use crate::record::framing::{Tls12GcmFraming, Tls13Framing};
use crate::suites::{CipherSuiteCommon, Tls12CipherSuite, Tls13CipherSuite};

/// A keyed checksum instead of HMAC.
pub(crate) struct ToyHmac;

impl ToyHmac {
    pub(crate) const LEN: usize = 16;
}

impl Hmac for ToyHmac {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(ToyKey(key.to_vec()))
    }

    fn hash_output_len(&self) -> usize {
        Self::LEN
    }
}

struct ToyKey(Vec<u8>);

impl Key for ToyKey {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut pieces = alloc::vec![&self.0[..], &[0xff], first];
        pieces.extend(middle);
        pieces.push(last);
        Tag::new(&checksum(&pieces))
    }

    fn tag_len(&self) -> usize {
        ToyHmac::LEN
    }
}

/// An HMAC whose tags are empty, as if its key store had failed.
pub(crate) struct EmptyTags;

impl Hmac for EmptyTags {
    fn with_key(&self, _: &[u8]) -> Box<dyn Key> {
        Box::new(Self)
    }

    fn hash_output_len(&self) -> usize {
        self.tag_len()
    }
}

impl Key for EmptyTags {
    fn sign_concat(&self, _: &[u8], _: &[&[u8]], _: &[u8]) -> Tag {
        Tag::new(&[])
    }

    fn tag_len(&self) -> usize {
        32
    }
}

/// XORs with one byte. The tag is a checksum.
pub(crate) struct ToyAead(pub(crate) u8);

impl ToyAead {
    fn tag(&self, nonce: &Nonce, aad: &[u8], ciphertext: &[u8]) -> [u8; TAG_LEN] {
        checksum(&[&[self.0], &nonce.0, aad, &[0xff], ciphertext])
    }

    fn xor(&self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte ^= self.0);
    }
}

impl Aead for ToyAead {
    fn seal_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<super::aead::Tag, AeadError> {
        self.xor(in_out);
        Ok(self.tag(&nonce, aad, in_out))
    }

    fn open_in_place(
        &self,
        nonce: Nonce,
        aad: &[u8],
        in_out: &mut [u8],
    ) -> Result<usize, AeadError> {
        let (text, tag) = in_out.split_last_chunk_mut::<TAG_LEN>().ok_or(AeadError)?;
        if *tag != self.tag(&nonce, aad, text) {
            return Err(AeadError);
        }
        self.xor(text);
        Ok(text.len())
    }
}

/// [`ToyAead`] under the first byte of the key, posing as AES-256-GCM.
pub(crate) struct ToyAlgorithm;

/// Opens [`ToyAead`]'s records in place or into other memory.
pub(crate) struct ToyOpeningKey(ToyAead);

impl OpeningKey for ToyOpeningKey {
    fn open(&mut self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        self.0.open_in_place(nonce, aad, in_out)
    }

    /// Writes the plaintext even if it is not authentic, as a library may.
    fn open_into(
        &mut self,
        nonce: Nonce,
        aad: &[u8],
        ciphertext: &[u8],
        tag: &super::aead::Tag,
        out: &mut [u8],
    ) -> Option<Result<(), AeadError>> {
        out.copy_from_slice(ciphertext);
        self.0.xor(out);
        let is_authentic = *tag == self.0.tag(&nonce, aad, ciphertext);
        Some(is_authentic.then_some(()).ok_or(AeadError))
    }
}

impl AeadAlgorithm for ToyAlgorithm {
    type SealingKey = InPlace<ToyAead>;
    type OpeningKey = ToyOpeningKey;

    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;

    fn sealing_key(key: &AeadKey) -> InPlace<ToyAead> {
        InPlace(ToyAead(key.as_ref()[0]))
    }

    fn opening_key(key: &AeadKey) -> ToyOpeningKey {
        ToyOpeningKey(ToyAead(key.as_ref()[0]))
    }
}

/// A checksum instead of a hash function.
pub(crate) struct ToyHash(pub(crate) HashAlgorithm);

impl Hash for ToyHash {
    fn start(&self) -> Box<dyn Context> {
        Box::new(ToyContext(Vec::new()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(&checksum(&[data]))
    }

    fn output_len(&self) -> usize {
        ToyHmac::LEN
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0
    }
}

struct ToyContext(Vec<u8>);

impl Context for ToyContext {
    fn fork_finish(&self) -> Output {
        Output::new(&checksum(&[&self.0]))
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        self.fork_finish()
    }

    fn update(&mut self, data: &[u8]) {
        self.0.extend_from_slice(data);
    }
}

/// A key exchange whose secret is the peer's share.
#[derive(Debug)]
pub(crate) struct ToyGroup(pub(crate) NamedGroup);

impl SupportedKxGroup for ToyGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(ToyExchange(self.0)))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }
}

pub(crate) struct ToyExchange(pub(crate) NamedGroup);

impl ActiveKeyExchange for ToyExchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(peer_pub_key.into())
    }

    fn pub_key(&self) -> &[u8] {
        b"ours"
    }

    fn group(&self) -> NamedGroup {
        self.0
    }
}

/// QUIC keys whose output reveals them: a packet key writes its key and IV over the payload, and a
/// header key masks with the first bytes of its key.
pub(crate) struct ToyQuic;

impl ToyQuic {
    pub(crate) const KEY_LEN: usize = 16;
}

impl quic::Algorithm for ToyQuic {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
        Box::new(quic::AeadPacketKey::new(
            Telltale(key, iv.clone()),
            iv,
            23,
            52,
        ))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
        Box::new(quic::MaskHeaderKey::new(Telltale(key, Iv::default())))
    }

    fn aead_key_len(&self) -> usize {
        Self::KEY_LEN
    }
}

struct Telltale(AeadKey, Iv);

impl Aead for Telltale {
    fn seal_in_place(
        &self,
        _: Nonce,
        _: &[u8],
        in_out: &mut [u8],
    ) -> Result<super::aead::Tag, AeadError> {
        let (key, iv) = in_out.split_at_mut(self.0.as_ref().len());
        key.copy_from_slice(self.0.as_ref());
        iv.copy_from_slice(self.1.as_ref());
        Ok([0; TAG_LEN])
    }

    fn open_in_place(&self, _: Nonce, _: &[u8], _: &mut [u8]) -> Result<usize, AeadError> {
        Err(AeadError)
    }
}

impl quic::HeaderMask for Telltale {
    fn mask(&self, _: &[u8; quic::SAMPLE_LEN]) -> Result<[u8; quic::MASK_LEN], AeadError> {
        self.0.as_ref().first_chunk().copied().ok_or(AeadError)
    }
}

/// A TLS 1.3 suite with QUIC, made of toys.
pub(crate) static TLS13_SUITE: Tls13CipherSuite = tls13_suite(
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    &ToyHash(HashAlgorithm::SHA384),
    Some(&ToyQuic),
);

pub(crate) const fn tls13_suite(
    suite: CipherSuite,
    hash: &'static ToyHash,
    quic: Option<&'static dyn quic::Algorithm>,
) -> Tls13CipherSuite {
    Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite,
            hash_provider: hash,
            confidentiality_limit: 1 << 24,
        },
        hkdf_provider: &HkdfUsingHmac(&ToyHmac),
        aead_alg: &Tls13Framing::<ToyAlgorithm>::NEW,
        quic,
    }
}

/// A TLS 1.2 suite made of toys.
pub(crate) static TLS12_SUITE: Tls12CipherSuite = Tls12CipherSuite {
    common: CipherSuiteCommon {
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        hash_provider: &ToyHash(HashAlgorithm::SHA384),
        confidentiality_limit: 1 << 24,
    },
    kx: KeyExchangeAlgorithm::ECDHE,
    sign: &[
        SignatureScheme::ED25519,
        SignatureScheme::ECDSA_NISTP384_SHA384,
        SignatureScheme::ECDSA_NISTP256_SHA256,
    ],
    aead_alg: &Tls12GcmFraming::<ToyAlgorithm>::NEW,
    prf_provider: &PrfUsingHmac(&ToyHmac),
};

/// Two FNV-1a hashes side by side.
fn checksum(pieces: &[&[u8]]) -> [u8; 16] {
    let mut state = [0xcbf2_9ce4_8422_2325_u64, 0x9e37_79b9_7f4a_7c15];
    for byte in pieces.iter().copied().flatten() {
        for half in &mut state {
            *half = (*half ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let mut out = [0; 16];
    out[..8].copy_from_slice(&state[0].to_be_bytes());
    out[8..].copy_from_slice(&state[1].to_be_bytes());
    out
}
