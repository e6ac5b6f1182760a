//! Records in one direction, sealed and opened directly with aws-lc-rs and with keys extracted from
//! a connection. This module uses no record protection from either crate.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};

use crate::wire::{self, frame};

const TAG_LEN: usize = 16;

/// The format of the records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// RFC 9846 §5.2, §5.3.
    Tls13,
    /// RFC 5246 §6.2.3.3, RFC 5288 §3: the record carries eight bytes of the nonce.
    Tls12Gcm,
    /// RFC 7905 §2.
    Tls12Chacha,
}

impl Form {
    pub fn new(is_tls13: bool, cipher: Cipher) -> Self {
        match cipher {
            _ if is_tls13 => Self::Tls13,
            Cipher::Chacha20Poly1305 => Self::Tls12Chacha,
            _ => Self::Tls12Gcm,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    Chacha20Poly1305,
}

impl Cipher {
    fn algorithm(self) -> &'static Algorithm {
        match self {
            Self::Aes128Gcm => &AES_128_GCM,
            Self::Aes256Gcm => &AES_256_GCM,
            Self::Chacha20Poly1305 => &CHACHA20_POLY1305,
        }
    }
}

/// The keys that a connection returns for one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys {
    pub seq: u64,
    pub cipher: Cipher,
    pub key: Vec<u8>,
    pub iv: [u8; 12],
}

macro_rules! keys_from {
    ($lib:ident) => {
        impl From<(u64, $lib::ConnectionTrafficSecrets)> for Keys {
            fn from((seq, secrets): (u64, $lib::ConnectionTrafficSecrets)) -> Self {
                use $lib::ConnectionTrafficSecrets::*;
                let (cipher, key, iv) = match secrets {
                    Aes128Gcm { key, iv } => (Cipher::Aes128Gcm, key, iv),
                    Aes256Gcm { key, iv } => (Cipher::Aes256Gcm, key, iv),
                    Chacha20Poly1305 { key, iv } => (Cipher::Chacha20Poly1305, key, iv),
                    _ => panic!("another cipher"),
                };
                Self {
                    seq,
                    cipher,
                    key: key.as_ref().to_vec(),
                    iv: iv.as_ref().try_into().unwrap(),
                }
            }
        }
    };
}

keys_from!(rustls);
keys_from!(rustls_upstream);

/// One direction of records.
pub struct Records {
    form: Form,
    key: LessSafeKey,
    iv: [u8; 12],
    seq: u64,
}

impl Records {
    pub fn new(is_tls13: bool, keys: impl Into<Keys>) -> Self {
        let keys = keys.into();
        let key = UnboundKey::new(keys.cipher.algorithm(), &keys.key).unwrap();
        Self {
            form: Form::new(is_tls13, keys.cipher),
            key: LessSafeKey::new(key),
            iv: keys.iv,
            seq: keys.seq,
        }
    }

    /// Seals one record.
    pub fn seal(&mut self, typ: u8, payload: &[u8]) -> Vec<u8> {
        let mut body = payload.to_vec();
        let (outer, len) = match self.form {
            Form::Tls13 => {
                body.push(typ);
                (23, body.len() + TAG_LEN)
            }
            _ => (typ, body.len()),
        };
        let aad = self.additional_data(outer, len);
        let nonce = self.nonce();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                &mut body,
            )
            .unwrap();
        if self.form == Form::Tls12Gcm {
            body = [&nonce[4..], &body].concat();
        }
        self.seq += 1;
        frame(outer, &body)
    }

    /// Opens a record. Returns its type and content, or `None` if it is not authentic.
    pub fn open(&mut self, record: &wire::Record) -> Option<(u8, Vec<u8>)> {
        let mut nonce = self.nonce();
        let mut body = &record.payload[..];
        if self.form == Form::Tls12Gcm {
            let (explicit, rest) = body.split_at_checked(8)?;
            nonce[4..].copy_from_slice(explicit);
            body = rest;
        }
        let len = match self.form {
            Form::Tls13 => body.len(),
            _ => body.len().checked_sub(TAG_LEN)?,
        };
        let aad = self.additional_data(record.typ, len);
        let mut body = body.to_vec();
        let opened = self
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                &mut body,
            )
            .ok()?;
        self.seq += 1;
        if self.form != Form::Tls13 {
            return Some((record.typ, opened.to_vec()));
        }
        let end = opened.iter().rposition(|byte| *byte != 0)?;
        Some((opened[end], opened[..end].to_vec()))
    }

    /// Returns the sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.seq
    }

    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, seq) in nonce[4..].iter_mut().zip(self.seq.to_be_bytes()) {
            *byte ^= seq;
        }
        nonce
    }

    fn additional_data(&self, outer: u8, len: usize) -> Vec<u8> {
        let header = [&[outer, 3, 3][..], &(len as u16).to_be_bytes()].concat();
        match self.form {
            Form::Tls13 => header,
            _ => [&self.seq.to_be_bytes()[..], &header].concat(),
        }
    }
}
