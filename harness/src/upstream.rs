//! The modules of `both` for upstream, and what differs from this crate.

use std::sync::Arc;

pub(crate) use rustls_upstream as tls;
use rustls_upstream::crypto::CryptoProvider;
pub(crate) use rustls_upstream::crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES as HPKE_SUITES;
use rustls_upstream::crypto::cipher::{
    MessageEncrypter, OutboundOpaqueMessage, OutboundPlainMessage, PrefixedPayload,
};
pub(crate) use rustls_upstream::crypto::ring::default_provider as ring;
use rustls_upstream::server::danger::ClientCertVerifier;
use rustls_upstream::unbuffered::UnbufferedConnectionCommon;
use rustls_upstream::{ContentType, Error, ProtocolVersion};

#[path = "both/both.rs"]
mod both;

pub use both::*;
use transparent::Identity;

use crate::peers::configs::Provider;
use crate::providers::transparent::TAG;

pub(crate) fn provider(of: Provider) -> CryptoProvider {
    of.upstream()
}

// upstream's operations are synchronous

pub(crate) fn prepare_client(_: &mut tls::ClientConfig, _: Arc<tls::RootCertStore>) {}

pub(crate) fn prepare_server(_: &mut tls::ServerConfig) {}

pub(crate) fn observe_server(_: &mut tls::ServerConfig) {}

pub(crate) fn prepare_verifier(
    verifier: Arc<dyn ClientCertVerifier>,
) -> Arc<dyn ClientCertVerifier> {
    verifier
}

pub(crate) fn prepare_connection(_: &mut tls::CommonState) {}

pub(crate) fn process_into(
    conn: &mut tls::Connection,
    _: &mut Vec<u8>,
) -> Result<tls::IoState, Error> {
    conn.process_new_packets()
}

pub(crate) fn finish_operation(_: &mut tls::Connection) -> Result<bool, Error> {
    Ok(false)
}

pub(crate) fn prepare_unbuffered<D>(_: &mut UnbufferedConnectionCommon<D>) {}

pub(crate) fn finish_unbuffered<D>(_: &mut UnbufferedConnectionCommon<D>) -> Result<bool, Error> {
    Ok(false)
}

pub(crate) fn finish_quic(_: &mut tls::quic::Connection) -> Result<(), Error> {
    Ok(())
}

/// Returns `None`, because upstream's unbuffered connections have no exporter.
pub(crate) fn exported<D>(_: &UnbufferedConnectionCommon<D>) -> Option<[u8; 32]> {
    None
}

impl<const INNER_TYPE: usize> MessageEncrypter for Identity<INNER_TYPE> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        _: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let mut payload =
            PrefixedPayload::with_capacity(self.encrypted_payload_len(msg.payload.len()));
        payload.extend_from_chunks(&msg.payload);
        payload.extend_from_slice(&[msg.typ.into(); INNER_TYPE]);
        payload.extend_from_slice(&TAG);
        let typ = match INNER_TYPE {
            0 => msg.typ,
            _ => ContentType::ApplicationData,
        };
        Ok(OutboundOpaqueMessage::new(
            typ,
            ProtocolVersion::TLSv1_2,
            payload,
        ))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + INNER_TYPE + TAG.len()
    }
}
