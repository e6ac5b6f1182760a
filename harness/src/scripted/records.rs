//! Records of a scripted peer, which are in the clear until it has a key.

use rustls::crypto::cipher::{
    InboundOpaqueMessage, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls::{ContentType, Error, ProtocolVersion};

use super::key_schedule::Secret;
use super::tls12::secrets::DirectionKeys;
use crate::wire::{self, frame};

/// RFC 9846 §5.1: the most bytes that a record carries.
const MAX_FRAGMENT_LEN: usize = 1 << 14;

/// Seals records.
#[derive(Default)]
pub(super) struct Sealing {
    encrypter: Option<Box<dyn MessageEncrypter>>,
    /// RFC 9846 §5.2: in TLS 1.3 the header does not show the content type.
    hides_type: bool,
    seq: u64,
}

impl Sealing {
    pub(super) fn set_key(&mut self, secret: &Secret) {
        let (key, iv) = secret.traffic_key();
        self.encrypter = Some(secret.suite.aead_alg.encrypter(key, iv));
        self.hides_type = true;
        self.seq = 0;
    }

    pub(super) fn set_tls12_keys(&mut self, keys: &DirectionKeys) {
        self.encrypter = Some(keys.encrypter());
        self.seq = 0;
    }

    /// Seals `payload` in as many records as needed; an empty one in one record.
    pub(super) fn seal(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        if payload.is_empty() {
            return self.seal_fragment(typ, payload);
        }
        let fragments = payload.chunks(MAX_FRAGMENT_LEN);
        fragments
            .flat_map(|fragment| self.seal_fragment(typ, fragment))
            .collect()
    }

    fn seal_fragment(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let version = ProtocolVersion::TLSv1_2;
        let Some(encrypter) = &mut self.encrypter else {
            return frame(typ.into(), payload);
        };
        let mut sealed = vec![0; encrypter.encrypted_payload_len(payload.len())];
        let message = OutboundPlainMessage {
            typ,
            version,
            payload: payload.into(),
        };
        let len = encrypter.encrypt(message, self.seq, &mut sealed).unwrap();
        assert_eq!(len, sealed.len());
        self.seq += 1;
        let outer = if self.hides_type {
            ContentType::ApplicationData
        } else {
            typ
        };
        frame(outer.into(), &sealed)
    }
}

/// Opens records.
#[derive(Default)]
pub(super) struct Opening {
    decrypter: Option<Box<dyn MessageDecrypter>>,
    hides_type: bool,
    seq: u64,
}

impl Opening {
    pub(super) fn set_key(&mut self, secret: &Secret) {
        let (key, iv) = secret.traffic_key();
        self.decrypter = Some(secret.suite.aead_alg.decrypter(key, iv));
        self.hides_type = true;
        self.seq = 0;
    }

    pub(super) fn set_tls12_keys(&mut self, keys: &DirectionKeys) {
        self.decrypter = Some(keys.decrypter());
        self.seq = 0;
    }

    /// Opens `record`; returns its content type and content. In TLS 1.3, accepts unprotected
    /// records at any time.
    pub(super) fn open(&mut self, record: &wire::Record) -> Result<(ContentType, Vec<u8>), Error> {
        let typ = ContentType::from(record.typ);
        let mut payload = record.payload.clone();
        match &mut self.decrypter {
            Some(decrypter) if !self.hides_type || typ == ContentType::ApplicationData => {
                let version = ProtocolVersion::from(record.legacy_version);
                let message = InboundOpaqueMessage::new(typ, version, &mut payload);
                let opened = decrypter.decrypt(message, self.seq)?;
                self.seq += 1;
                Ok((opened.typ, opened.payload.to_vec()))
            }
            _ => Ok((typ, payload)),
        }
    }
}

/// Joins handshake messages from records, however they were split.
#[derive(Default)]
pub(super) struct Joiner(Vec<u8>);

impl Joiner {
    pub(super) fn push(&mut self, payload: &[u8]) {
        self.0.extend_from_slice(payload);
    }

    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let [_, high, middle, low, ..] = self.0[..] else {
            return None;
        };
        let len = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
        if self.0.len() < len {
            return None;
        }
        Some(self.0.drain(..len).collect())
    }

    /// True if no bytes are left.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
