//! Every kind of record protection over the toy AEAD, for the tests of the record layer.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::framing::{Tls12Chacha20Framing, Tls12GcmFraming, Tls13Framing};
use super::receiver::RecordReceiver;
use super::sender::RecordSender;
use crate::crypto::cipher::{
    AeadKey, Iv, MessageDecrypter, MessageEncrypter, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
};
use crate::crypto::toy::ToyAlgorithm;
use crate::enums::{ContentType, ProtocolVersion};

pub(super) const KEY: u8 = 0x5a;
pub(super) const IV: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

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

    /// The bytes before and after the payload, header included.
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
