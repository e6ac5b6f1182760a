//! The modules of `both` for this crate, and what differs from upstream.

pub(crate) use rustls as tls;
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{EncryptError, MessageEncrypter, OutboundPlainMessage};
use rustls::unbuffered::UnbufferedConnectionCommon;
use rustls::{ContentType, ProtocolVersion};
pub(crate) use rustls_provider_aws_lc::hpke::ALL_SUPPORTED_SUITES as HPKE_SUITES;
pub(crate) use rustls_provider_ring::default_provider as ring;

#[path = "both/both.rs"]
mod both;

pub use both::*;
use transparent::Identity;

use crate::peers::configs::Provider;
use crate::providers::transparent::TAG;

pub(crate) fn provider(of: Provider) -> CryptoProvider {
    of.this()
}

/// Keying material of an unbuffered connection.
pub(crate) fn exported<D>(conn: &UnbufferedConnectionCommon<D>) -> Option<[u8; 32]> {
    let exported = conn.export_keying_material([0; 32], b"label", Some(b"context"));
    Some(exported.unwrap())
}

impl<const INNER_TYPE: usize> MessageEncrypter for Identity<INNER_TYPE> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let len = msg.payload.len();
        msg.payload.copy_to_slice(&mut out[..len]);
        self.encrypt_in_place(msg.typ, msg.version, len, seq, out)
    }

    fn encrypt_in_place(
        &mut self,
        typ: ContentType,
        _: ProtocolVersion,
        len: usize,
        _: u64,
        out: &mut [u8],
    ) -> Result<usize, EncryptError> {
        let (inner_type, tag) = out[len..].split_at_mut(INNER_TYPE);
        inner_type.fill(typ.into());
        tag[..TAG.len()].copy_from_slice(&TAG);
        Ok(len + INNER_TYPE + TAG.len())
    }

    fn payload_offset(&self) -> usize {
        0
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + INNER_TYPE + TAG.len()
    }
}
