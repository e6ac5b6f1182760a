//! The modules of `both` for this crate, and what differs from upstream.

use std::io::Read;
use std::sync::Arc;

pub(crate) use rustls as tls;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::crypto::cipher::{EncryptError, MessageEncrypter, OutboundPlainMessage};
use rustls::server::danger::ClientCertVerifier;
use rustls::unbuffered::UnbufferedConnectionCommon;
use rustls::{ContentType, ProtocolVersion};
pub(crate) use rustls_provider_aws_lc::hpke::ALL_SUPPORTED_SUITES as HPKE_SUITES;
pub(crate) use rustls_provider_ring::default_provider as ring;

#[path = "both/both.rs"]
mod both;

pub use both::*;
use transparent::Identity;

use crate::operations::{Slow, finish, plan_of_process, slow_client, slow_server};
use crate::peers::configs::Provider;
use crate::peers::events::events_of_process;
use crate::providers::transparent::TAG;

pub(crate) fn provider(of: Provider) -> CryptoProvider {
    of.this()
}

/// Makes a client's callbacks asynchronous if `HARNESS_OPERATIONS` asks for that, and sets an
/// observer if `HARNESS_OBSERVER` does.
pub(crate) fn prepare_client(config: &mut tls::ClientConfig, roots: Arc<tls::RootCertStore>) {
    config.observer = events_of_process();
    if let Some(plan) = plan_of_process() {
        let provider = config.crypto_provider().clone();
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider);
        slow_client(config, verifier.build().unwrap(), plan);
    }
}

/// Makes a server's callbacks asynchronous if `HARNESS_OPERATIONS` asks for that, and sets an
/// observer if `HARNESS_OBSERVER` does.
pub(crate) fn prepare_server(config: &mut tls::ServerConfig) {
    observe_server(config);
    if let Some(plan) = plan_of_process() {
        slow_server(config, plan);
    }
}

/// Sets a server's observer if `HARNESS_OBSERVER` asks for that.
pub(crate) fn observe_server(config: &mut tls::ServerConfig) {
    config.observer = events_of_process();
}

/// Makes a verifier's methods asynchronous if `HARNESS_OPERATIONS` asks for that.
pub(crate) fn prepare_verifier(
    verifier: Arc<dyn ClientCertVerifier>,
) -> Arc<dyn ClientCertVerifier> {
    match plan_of_process() {
        Some(plan) => Slow::new(verifier, plan),
        None => verifier,
    }
}

/// Lets the connection wait for operations if they are asynchronous.
pub(crate) fn prepare_connection(common: &mut tls::CommonState) {
    common.set_async(plan_of_process().is_some());
}

/// Processes received bytes, and opens plaintext in the application's memory, from which it is
/// appended to `read`. Checks that nothing else is written to that memory.
pub(crate) fn process_into(
    conn: &mut tls::Connection,
    read: &mut Vec<u8>,
) -> Result<tls::IoState, tls::Error> {
    // zeros are padding, or clear what is not authentic; content types end a `TLSInnerPlaintext`
    const UNTOUCHED: u8 = 0xb3;
    let is_harmless = |byte: &u8| matches!(byte, 0 | 20..=24 | &UNTOUCHED);
    // records of maximum length fit, or only shorter ones
    let lens = [1, 40, 16_383, 16_385, 70_000];
    let mut buf = vec![UNTOUCHED; lens[read.len() % lens.len()]];
    let processed = conn.process_new_packets_into(&mut buf);
    match &processed {
        Ok((len, _)) => {
            read.extend_from_slice(&buf[..*len]);
            assert!(buf[*len..].iter().all(is_harmless));
        }
        Err(_) => {
            // what was authentic can still be read
            let start = read.len();
            let _ = conn.reader().read_to_end(read);
            let differs = buf
                .iter()
                .zip(&read[start..])
                .position(|(opened, kept)| opened != kept);
            let same = differs.unwrap_or_else(|| Ord::min(buf.len(), read.len() - start));
            assert!(buf[same..].iter().all(is_harmless));
        }
    }
    processed.map(|(_, state)| state)
}

/// Finishes the operation that the connection is waiting for. Returns false if there is none.
pub(crate) fn finish_operation(conn: &mut tls::Connection) -> Result<bool, tls::Error> {
    let is_waiting = conn.is_waiting();
    finish(|task| conn.poll_operation(task)).map(|()| is_waiting)
}

/// Lets an unbuffered connection wait for operations if they are asynchronous.
pub(crate) fn prepare_unbuffered<D>(conn: &mut UnbufferedConnectionCommon<D>) {
    conn.set_async(plan_of_process().is_some());
}

/// Finishes the operation that an unbuffered connection is waiting for. Returns false if there is
/// none.
pub(crate) fn finish_unbuffered<D>(
    conn: &mut UnbufferedConnectionCommon<D>,
) -> Result<bool, tls::Error> {
    let is_waiting = conn.is_waiting();
    finish(|task| conn.poll_operation(task)).map(|()| is_waiting)
}

/// Finishes the operation that a QUIC connection is waiting for.
pub(crate) fn finish_quic(conn: &mut tls::quic::Connection) -> Result<(), tls::Error> {
    finish(|task| conn.poll_operation(task))
}

/// Returns an unbuffered connection's keying material.
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
