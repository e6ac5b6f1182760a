//! A hostile peer. As long as its kind is honest, an upstream connection speaks for it; then it
//! makes records under that connection's keys.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, server_name, upstream as configs};
use harness::peers::roles::Role;
use harness::wire::bare_records::Records;
use harness::wire::{self, Record};
use pki_types::CertificateDer;
use rustls_upstream as tls;
use tls::client::Resumption;
use tls::sign::{CertifiedKey, SingleCertAndKey};
use tls::{AlertDescription, ClientConfig, ClientConnection, Connection, ServerConfig};

use crate::Result;
use crate::kinds::{Kind, Until};

/// One hostile peer.
pub(crate) struct Attacker {
    pub(crate) kind: &'static Kind,
    tools: Tools,
    step: usize,
    /// True once the first flight of its handshake was sent.
    has_begun: bool,
}

/// The bytes at the end of a client's handshake that one without a signature does not send: the
/// Finished, and a part of the CertificateVerify, in any version.
const UNSENT_LEN: usize = 75;

/// The means of a hostile peer.
pub(crate) struct Tools {
    /// The honest connection, until its keys are taken.
    connection: Option<Connection>,
    /// The keys for sending and receiving.
    keys: Option<[Records; 2]>,
    /// Bytes that are sent little by little.
    waiting: Vec<u8>,
    alert: Option<AlertDescription>,
}

impl Attacker {
    pub(crate) fn new(kind: &'static Kind) -> Result<Self> {
        Ok(Self {
            kind,
            tools: Tools {
                connection: Some(connection(kind)?),
                keys: None,
                waiting: Vec::new(),
                alert: None,
            },
            step: 0,
            has_begun: false,
        })
    }

    /// The next bytes to send after receiving `incoming`. They are empty while it waits for more,
    /// and `None` if it will never send again.
    pub(crate) fn next(&mut self, incoming: &[u8]) -> Result<Option<Vec<u8>>> {
        self.tools.take_in(incoming);
        if self.kind.until != Until::Nothing {
            let mut sent = self.tools.honest_output()?;
            if self.has_begun && !self.kind.signs {
                sent.truncate(sent.len().saturating_sub(UNSENT_LEN));
            }
            self.has_begun = true;
            if !sent.is_empty() || self.tools.is_handshaking() {
                return Ok(Some(sent));
            }
            if self.kind.until == Until::Keys {
                self.tools.take_keys()?;
            }
        }
        let step = self.step;
        self.step += 1;
        (self.kind.next)(&mut self.tools, step)
    }

    /// The fatal alert that it has received; `incoming` arrived last.
    pub(crate) fn alert(&mut self, incoming: &[u8]) -> Option<String> {
        self.tools.take_in(incoming);
        self.tools.alert.map(|alert| format!("{alert:?}"))
    }

    /// True once its handshake is complete, or if it makes none.
    pub(crate) fn is_connected(&self) -> bool {
        self.kind.until == Until::Nothing || !self.tools.is_handshaking()
    }
}

impl Tools {
    /// Looks for alerts, and feeds the honest connection.
    fn take_in(&mut self, incoming: &[u8]) {
        for record in wire::records(incoming) {
            let alert = match (&mut self.keys, &record) {
                (Some([_, receiving]), _) => receiving
                    .open(&record)
                    .filter(|(typ, _)| *typ == ALERT)
                    .map(|(_, content)| content),
                (None, Record { typ: ALERT, .. }) => Some(record.payload),
                (None, _) => None,
            };
            if let Some([2, description]) = alert.as_deref() {
                self.alert = Some(AlertDescription::from(*description));
            }
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut incoming = incoming;
        while !incoming.is_empty() {
            // errors in the peer's output do not matter here
            let Ok(1..) = connection.read_tls(&mut incoming) else {
                return;
            };
            match connection.process_new_packets() {
                Ok(_) => {}
                Err(tls::Error::AlertReceived(alert)) => {
                    self.alert = Some(alert);
                    return;
                }
                Err(_) => return,
            }
        }
    }

    fn is_handshaking(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|conn| conn.is_handshaking())
    }

    /// The pending output of the honest connection.
    pub(crate) fn honest_output(&mut self) -> Result<Vec<u8>> {
        let mut sent = Vec::new();
        if let Some(connection) = &mut self.connection {
            while connection.wants_write() {
                connection.write_tls(&mut sent)?;
            }
        }
        Ok(sent)
    }

    fn take_keys(&mut self) -> Result<()> {
        if let Some(connection) = self.connection.take() {
            let is_tls13 = connection.protocol_version() == Some(tls::ProtocolVersion::TLSv1_3);
            let secrets = connection.dangerous_extract_secrets()?;
            self.keys = Some([secrets.tx, secrets.rx].map(|keys| Records::new(is_tls13, keys)));
        }
        Ok(())
    }

    /// A record under the connection's keys; `None` if they were not taken.
    pub(crate) fn sealed(&mut self, typ: u8, content: &[u8]) -> Option<Vec<u8>> {
        let [sending, _] = self.keys.as_mut()?;
        Some(sending.seal(typ, content))
    }

    /// A valid ClientHello, in its record.
    pub(crate) fn hello(&mut self) -> Result<Vec<u8>> {
        self.honest_output()
    }

    /// Keeps the ClientHello, without its record header, for [`Self::kept_byte`].
    pub(crate) fn keep_hello(&mut self) -> Result<()> {
        self.waiting = wire::plain_messages(&self.hello()?);
        self.waiting.reverse();
        Ok(())
    }

    /// The next byte of the kept ClientHello.
    pub(crate) fn kept_byte(&mut self) -> Option<u8> {
        self.waiting.pop()
    }

    /// The next byte of an honest client that sends one at a time: its handshake, then endless
    /// data. Empty while it waits.
    pub(crate) fn next_byte(&mut self) -> Result<Vec<u8>> {
        if self.waiting.is_empty() {
            if let Some(connection) = self
                .connection
                .as_mut()
                .filter(|conn| !conn.is_handshaking())
            {
                connection.writer().write_all(&[0; 100])?;
            }
            self.waiting = self.honest_output()?;
            self.waiting.reverse();
        }
        Ok(self.kept_byte().into_iter().collect())
    }

    /// A KeyUpdate that requests another, followed by `data`.
    pub(crate) fn key_update(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        if let Some(connection) = &mut self.connection {
            connection.refresh_traffic_keys()?;
            connection.writer().write_all(data)?;
        }
        self.honest_output()
    }
}

/// Creates the connection for the honest part of a kind.
fn connection(kind: &Kind) -> Result<Connection> {
    let provider = Provider::AwsLc.upstream();
    let key_type = KeyType::EcdsaP256;
    match kind.victim {
        Role::Server => {
            let mut config: ClientConfig =
                configs::client_of(kind.versions, provider, key_type, ClientAuth::None);
            config.enable_secret_extraction = true;
            config.resumption = Resumption::disabled();
            if kind.chain_len != 0 {
                config.client_auth_cert_resolver = Arc::new(chain(kind)?);
            }
            if kind.compresses {
                config.cert_compressors = vec![tls::compress::ZLIB_COMPRESSOR];
            }
            if !kind.signs {
                // the Certificate ends in an earlier record than the CertificateVerify
                config.max_fragment_size = Some(64);
            }
            Ok(ClientConnection::new(Arc::new(config), server_name())?.into())
        }
        Role::Client => {
            let mut config: ServerConfig =
                configs::server_of(kind.versions, provider, key_type, ClientAuth::None);
            config.enable_secret_extraction = true;
            if kind.chain_len != 0 {
                config.cert_resolver = Arc::new(chain(kind)?);
            }
            Ok(tls::ServerConnection::new(Arc::new(config))?.into())
        }
    }
}

/// A certificate followed by as much filling as the kind wants.
fn chain(kind: &Kind) -> Result<SingleCertAndKey> {
    let identities = KeyType::EcdsaP256.identities();
    let identity = match kind.victim {
        Role::Server => &identities.client,
        Role::Client => &identities.server,
    };
    let provider = Provider::AwsLc.upstream();
    let key = provider.key_provider.load_private_key(identity.key())?;
    let mut chain = identity.chain.clone();
    // valid only up to the outermost header
    let mut filling = vec![0x30, 0x82, 0x0f, 0x9c];
    filling.resize(kind.certificate_len, 0);
    let count = kind.chain_len / kind.certificate_len;
    chain.resize(1 + count, CertificateDer::from(filling));
    Ok(SingleCertAndKey::from(CertifiedKey::new(chain, key)))
}

const ALERT: u8 = 21;
