//! The clients that run against a scripted server: this crate's, and that of rustls 0.23.

use std::boxed::Box;
use std::format;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use pki_types::ServerName;

use super::scripted_server::Identity;
use crate::RootCertStore;
use crate::client::{ClientConfig, ClientConnectionData};
use crate::conn::CommonState;
use crate::conn::core::ConnectionCore;
use crate::conn::machine::Context;
use crate::crypto::CryptoProvider;
use crate::enums::{AlertDescription, ContentType, NamedGroup, Side};

/// A client under test.
pub(super) trait Client {
    /// What it has to send.
    fn output(&mut self) -> Vec<u8>;
    /// Gives it what the server sent; an error as its debug output.
    fn input(&mut self, records: &[u8]) -> Result<(), String>;
}

/// How a connection ended.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    /// The client's error, as its debug output.
    pub(super) error: Option<String>,
    /// The client's alert.
    pub(super) alert: Option<AlertDescription>,
}

/// The groups that clients and servers here know: few, so that a test can name one that is not offered.
const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::secp256r1];

pub(super) fn full_provider() -> CryptoProvider {
    #[cfg(feature = "aws_lc_rs")]
    return crate::crypto::aws_lc_rs::default_provider();
    #[cfg(not(feature = "aws_lc_rs"))]
    crate::crypto::ring::default_provider()
}

pub(super) fn provider() -> CryptoProvider {
    let mut provider = full_provider();
    let groups = &mut provider.kx_groups;
    groups.retain(|group| GROUPS.contains(&group.name()));
    groups.sort_by_key(|group| GROUPS.iter().position(|name| *name == group.name()));
    provider
}

/// A configuration that trusts `identity`.
pub(super) fn config(identity: &Identity, provider: CryptoProvider) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// This crate's client.
pub(super) struct Ours {
    pub(super) core: ConnectionCore<ClientConnectionData>,
    /// The application data that came.
    pub(super) received: Vec<u8>,
}

impl Ours {
    pub(super) fn new(config: impl Into<Arc<ClientConfig>>) -> Self {
        Self::to("localhost", config)
    }

    pub(super) fn to(server: &str, config: impl Into<Arc<ClientConfig>>) -> Self {
        let config = config.into();
        let mut common = CommonState::new(Side::Client);
        let mut data = ClientConnectionData::default();
        let machine = super::super::start(
            config.clone(),
            ServerName::try_from(server).unwrap().to_owned(),
            config.alpn_protocols.clone(),
            &mut Context {
                common: &mut common,
                data: &mut data,
            },
        )
        .unwrap();
        Self {
            core: ConnectionCore::new(Box::new(machine), data, common),
            received: Vec::new(),
        }
    }
}

impl Client for Ours {
    fn output(&mut self) -> Vec<u8> {
        take_output(&mut self.core.common)
    }

    fn input(&mut self, records: &[u8]) -> Result<(), String> {
        let mut rest = records.to_vec();
        while let Some(record) = self
            .core
            .process_record(&mut rest)
            .map_err(|error| format!("{error:?}"))?
        {
            self.received.extend_from_slice(&rest[record.plaintext]);
            rest.drain(..record.record_len);
        }
        assert!(rest.is_empty(), "a record is cut short");
        Ok(())
    }
}

/// The client of rustls 0.23, with TLS 1.3 alone.
pub(super) struct Theirs(rustls_upstream::ClientConnection);

impl Theirs {
    pub(super) fn new(identity: &Identity, alpn_protocols: &[&[u8]]) -> Self {
        let mut provider = rustls_upstream::crypto::ring::default_provider();
        let groups = &mut provider.kx_groups;
        groups.retain(|group| GROUPS.contains(&u16::from(group.name()).into()));
        let mut roots = rustls_upstream::RootCertStore::empty();
        roots.add(identity.certificate.clone()).unwrap();
        let mut config = rustls_upstream::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls_upstream::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn_protocols.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        Self(rustls_upstream::ClientConnection::new(Arc::new(config), name).unwrap())
    }
}

impl Client for Theirs {
    fn output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut output).unwrap();
        }
        output
    }

    fn input(&mut self, records: &[u8]) -> Result<(), String> {
        let mut rest = records;
        while !rest.is_empty() {
            self.0.read_tls(&mut rest).unwrap();
            self.0
                .process_new_packets()
                .map_err(|error| format!("{error:?}"))?;
        }
        Ok(())
    }
}

/// What waits to be sent.
pub(super) fn take_output(common: &mut CommonState) -> Vec<u8> {
    let output = common.outgoing.pending().to_vec();
    common.consume_outgoing(output.len());
    output
}

/// The content types and versions of these records.
pub(super) fn record_headers(records: &[u8]) -> Vec<(ContentType, u16)> {
    let mut headers = Vec::new();
    let mut rest = records;
    while let [typ, major, minor, high, low, after @ ..] = rest {
        headers.push((
            ContentType::from(*typ),
            u16::from_be_bytes([*major, *minor]),
        ));
        rest = &after[usize::from(u16::from_be_bytes([*high, *low]))..];
    }
    headers
}
