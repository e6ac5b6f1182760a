//! Records of a scripted peer, which are in the clear until it has a key.

use rustls::crypto::cipher::{
    InboundOpaqueMessage, MessageDecrypter, MessageEncrypter, OutboundPlainMessage,
};
use rustls::{ContentType, Error, ProtocolVersion};

use crate::wire::{self, frame};

/// The keys of one direction.
pub(super) struct Keys {
    pub(super) encrypter: Box<dyn MessageEncrypter>,
    pub(super) decrypter: Box<dyn MessageDecrypter>,
    /// RFC 9846 §5.2: in TLS 1.3 the header does not show the content type.
    pub(super) hides_type: bool,
}

/// Seals the records of one direction, or opens them.
#[derive(Default)]
pub(super) struct Records {
    keys: Option<Keys>,
    seq: u64,
}

impl Records {
    /// Protects the following records.
    pub(super) fn set_key(&mut self, keys: impl Into<Keys>) {
        *self = Self::under(keys);
    }

    /// Creates records that are protected from the first one.
    pub(super) fn under(keys: impl Into<Keys>) -> Self {
        Self {
            keys: Some(keys.into()),
            seq: 0,
        }
    }

    /// Seals `payload` in as many records as needed. An empty payload takes one record.
    pub(super) fn seal(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let fragments = wire::fragments(payload);
        fragments
            .flat_map(|fragment| self.seal_fragment(typ, fragment))
            .collect()
    }

    fn seal_fragment(&mut self, typ: ContentType, payload: &[u8]) -> Vec<u8> {
        let Some(keys) = &mut self.keys else {
            return frame(typ.into(), payload);
        };
        let mut sealed = vec![0; keys.encrypter.encrypted_payload_len(payload.len())];
        let message = OutboundPlainMessage {
            typ,
            version: ProtocolVersion::TLSv1_2,
            payload: payload.into(),
        };
        let len = keys.encrypter.encrypt(message, self.seq, &mut sealed);
        assert_eq!(len.unwrap(), sealed.len());
        self.seq += 1;
        let outer = match keys.hides_type {
            true => ContentType::ApplicationData,
            false => typ,
        };
        frame(outer.into(), &sealed)
    }

    /// Opens `record`. Returns its content type and content. In TLS 1.3, accepts unprotected
    /// records at any time.
    pub(super) fn open(&mut self, record: &wire::Record) -> Result<(ContentType, Vec<u8>), Error> {
        let typ = ContentType::from(record.typ);
        let mut payload = record.payload.clone();
        match &mut self.keys {
            Some(keys) if !keys.hides_type || typ == ContentType::ApplicationData => {
                let version = ProtocolVersion::from(record.legacy_version);
                let message = InboundOpaqueMessage::new(typ, version, &mut payload);
                let opened = keys.decrypter.decrypt(message, self.seq)?;
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
