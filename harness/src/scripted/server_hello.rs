//! The contents of a ServerHello.

use rustls::{CipherSuite, HandshakeType};

use crate::wire::{Reader, find_extension};

pub(super) struct ServerHello {
    pub(super) random: [u8; 32],
    pub(super) session_id: Vec<u8>,
    pub(super) suite: CipherSuite,
    pub(super) extensions: Vec<(u16, Vec<u8>)>,
}

impl ServerHello {
    /// Reads the ServerHello at the start of `messages`.
    pub(super) fn read(messages: &mut Reader<'_>) -> Self {
        let typ = HandshakeType::ServerHello.into();
        assert_eq!(messages.bytes(1), [typ]);
        let mut body = Reader(messages.vector(3));
        let _version = body.u16();
        let random = body.bytes(32).try_into().unwrap();
        let session_id = body.vector(1).to_vec();
        let suite = body.u16().into();
        let _compression_method = body.number(1);
        // RFC 5246 §7.4.1.3: the extensions may be absent altogether
        let extensions = if body.is_empty() {
            vec![]
        } else {
            body.extensions()
        };
        Self {
            random,
            session_id,
            suite,
            extensions,
        }
    }

    /// Returns the body of the extension of type `typ`.
    pub(super) fn extension(&self, typ: u16) -> Option<&[u8]> {
        find_extension(&self.extensions, typ)
    }
}
