//! Every kind of record protection over the toy AEAD, for the tests of the record layer.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::framing::{Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing};
use super::receiver::RecordReceiver;
use super::sender::RecordSender;
use crate::crypto::aead::{AeadAlgorithm, AeadError, OpeningKey, SealingKey, TAG_LEN};
use crate::crypto::bulk_cipher::BulkCipher;
use crate::crypto::cipher::{
    AeadKey, Iv, MessageDecrypter, MessageEncrypter, Nonce, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
};
use crate::crypto::toy::ToyAlgorithm;
use crate::enums::{ContentType, ProtocolVersion};

pub(super) const KEY: u8 = 0x5a;
pub(super) const IV: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

/// Seals without writing, and opens nothing.
pub(super) struct IdleKey;

impl SealingKey for IdleKey {
    fn seal(
        &mut self,
        _: Nonce,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &mut [u8],
    ) -> Result<(), AeadError> {
        Ok(())
    }

    fn seal_in_place(
        &mut self,
        _: Nonce,
        _: &[u8],
        _: usize,
        _: &[u8],
        _: &mut [u8],
    ) -> Result<(), AeadError> {
        Ok(())
    }
}

impl OpeningKey for IdleKey {
    fn open(&mut self, _: Nonce, _: &[u8], in_out: &mut [u8]) -> Result<usize, AeadError> {
        assert!(in_out.len() >= TAG_LEN, "there is no tag");
        Err(AeadError)
    }
}

/// An approved algorithm over [`IdleKey`].
pub(super) struct IdleAlgorithm;

impl AeadAlgorithm for IdleAlgorithm {
    type SealingKey = IdleKey;
    type OpeningKey = IdleKey;

    const CIPHER: BulkCipher = BulkCipher::Aes256Gcm;

    fn sealing_key(_: &AeadKey) -> IdleKey {
        IdleKey
    }

    fn opening_key(_: &AeadKey) -> IdleKey {
        IdleKey
    }

    fn fips() -> bool {
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Protection {
    Tls13,
    Tls12Gcm,
    Tls12Chacha20,
}

impl Protection {
    pub(super) const ALL: [Self; 3] = [Self::Tls13, Self::Tls12Gcm, Self::Tls12Chacha20];

    pub(super) fn version(self) -> ProtocolVersion {
        match self {
            Self::Tls13 => ProtocolVersion::TLSv1_3,
            Self::Tls12Gcm | Self::Tls12Chacha20 => ProtocolVersion::TLSv1_2,
        }
    }

    /// Returns the numbers of bytes that a record has before (header included) and after its
    /// payload.
    pub(super) fn overhead(self) -> (usize, usize) {
        match self {
            Self::Tls13 => (5, 17),
            Self::Tls12Gcm => (13, 16),
            Self::Tls12Chacha20 => (5, 16),
        }
    }

    pub(super) fn encrypter(self) -> Box<dyn MessageEncrypter> {
        let (key, (salt, explicit)) = (key(), IV.split_at(4));
        match self {
            Self::Tls13 => Tls13Framing::<ToyAlgorithm>::NEW.encrypter(key, Iv::new(IV)),
            Self::Tls12Gcm => Tls12GcmFraming::<ToyAlgorithm>::NEW.encrypter(key, salt, explicit),
            Self::Tls12Chacha20 => {
                Tls12Chacha20Framing::<ToyAlgorithm>::NEW.encrypter(key, &IV, &[])
            }
        }
    }

    pub(super) fn decrypter(self) -> Box<dyn MessageDecrypter> {
        let (key, (salt, _)) = (key(), IV.split_at(4));
        match self {
            Self::Tls13 => Tls13Framing::<ToyAlgorithm>::NEW.decrypter(key, Iv::new(IV)),
            Self::Tls12Gcm => Tls12GcmFraming::<ToyAlgorithm>::NEW.decrypter(key, salt),
            Self::Tls12Chacha20 => Tls12Chacha20Framing::<ToyAlgorithm>::NEW.decrypter(key, &IV),
        }
    }

    pub(super) fn sender(self) -> RecordSender {
        let mut sender = RecordSender::new();
        sender.set_encrypter(self.encrypter(), self.version(), u64::MAX);
        sender
    }

    pub(super) fn receiver(self) -> RecordReceiver {
        let mut receiver = RecordReceiver::new();
        receiver.set_decrypter(self.decrypter(), self.version());
        receiver
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

fn key() -> AeadKey {
    AeadKey::new(&[KEY; 32])
}

/// Returns `len` bytes, each different from its neighbours.
pub(super) fn plaintext(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

/// Returns the records into which `sender` seals `payload`.
pub(super) fn sealed(sender: &mut RecordSender, typ: ContentType, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0xee; sender.sealed_len(payload.len())];
    let len = sender.seal(typ, payload.into(), &mut out).unwrap();
    assert_eq!(len, out.len());
    out
}
