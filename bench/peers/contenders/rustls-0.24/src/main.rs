//! The newest pre-release of rustls 0.24, on aws-lc-rs. Its connections append records to the
//! application's `Vec`, and decrypt in a buffer that the application fills.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;

use kit::{Contender, Negotiated, RECORD_LEN, Result, Setup, Side, Version, Wire};
use rustls::client::Resumption;
use rustls::crypto::Identity;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::{
    ClientConfig, ClientSide, Connection, HandshakeKind, RootCertStore, ServerConfig, ServerSide,
    SideData, Tcp, VecInput,
};

fn main() -> ExitCode {
    kit::run::<Rustls>()
}

/// The configurations of both sides.
struct Rustls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl Contender for Rustls {
    // a record has 16 KiB with everything around the plaintext
    const LONGEST: usize = RECORD_LEN - 24;

    type Client = End<ClientSide>;
    type Server = End<ServerSide>;

    fn new(setup: &Setup) -> Result<Self> {
        let scenario = &setup.scenario;
        let mut provider = rustls_aws_lc_rs::DEFAULT_PROVIDER;
        let suite = scenario.suite().replace("TLS_AES", "TLS13_AES");
        let other = |name: String| name != suite;
        provider
            .tls12_cipher_suites
            .to_mut()
            .sort_by_key(|known| other(format!("{:?}", known.common.suite)));
        provider
            .tls13_cipher_suites
            .to_mut()
            .sort_by_key(|known| other(format!("{:?}", known.common.suite)));
        match scenario.version {
            Version::Tls12 => provider.tls13_cipher_suites.to_mut().clear(),
            Version::Tls13 => provider.tls12_cipher_suites.to_mut().clear(),
        }
        let group = scenario.group.name();
        let is_chosen = |name: String| name.eq_ignore_ascii_case(group);
        let groups = provider.kx_groups.to_mut();
        groups.retain(|known| is_chosen(format!("{:?}", known.name())));
        let ticketer = provider.ticketer_factory.ticketer()?;
        let provider = Arc::new(provider);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(setup.root())?)?;
        let chain: core::result::Result<_, _> =
            CertificateDer::pem_file_iter(setup.chain())?.collect();
        let key = PrivateKeyDer::from_pem_file(setup.key())?;

        let mut client = ClientConfig::builder(provider.clone())
            .with_root_certificates(roots)
            .with_no_client_auth()?;
        if !setup.resumes {
            client.resumption = Resumption::disabled();
        }
        let mut server = ServerConfig::builder(provider)
            .with_no_client_auth()
            .with_single_cert(Arc::new(Identity::from_cert_chain(chain?)?), key)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.ticketer = Some(ticketer);
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            name: ServerName::try_from("localhost")?,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        let mut wire = Wire::new();
        let builder = self.client.connect(self.name.clone());
        let connection = builder.build(wire.outgoing())?;
        Ok(End::new(connection, wire))
    }

    fn server(&self) -> Result<Self::Server> {
        let connection = Connection::<ServerSide, Tcp>::new(self.server.clone())?;
        Ok(End::new(connection, Wire::new()))
    }
}

/// A connection with its wire.
struct End<S: SideData> {
    connection: Connection<S, Tcp>,
    input: VecInput,
    /// Data that arrived with the end of the handshake.
    early: Vec<u8>,
    wire: Wire,
}

impl<S: SideData> End<S> {
    fn new(connection: Connection<S, Tcp>, wire: Wire) -> Self {
        Self {
            connection,
            input: VecInput::default(),
            early: Vec::new(),
            wire,
        }
    }
}

impl<S: SideData> Side for End<S> {
    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn handshake(&mut self) -> Result<bool> {
        while !self.wire.is_empty() && self.connection.is_handshaking() {
            self.input.read(&mut self.wire)?;
            let outgoing = self.wire.outgoing();
            let handler = self.connection.read_tls(&mut self.input, outgoing);
            handler.handle_all(&mut self.early)?;
        }
        Ok(!self.connection.is_handshaking())
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        Ok(self.connection.write(data.into(), self.wire.outgoing())?)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.early.is_empty() {
            let early = std::mem::take(&mut self.early);
            buffer[..early.len()].copy_from_slice(&early);
            return Ok(early.len());
        }
        loop {
            let outgoing = self.wire.outgoing();
            let mut handler = self.connection.read_tls(&mut self.input, outgoing);
            if let Some(payload) = handler.next_payload().transpose()? {
                let bytes = payload.bytes();
                buffer[..bytes.len()].copy_from_slice(bytes);
                return Ok(bytes.len());
            }
            drop(handler);
            match self.input.read(&mut self.wire) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                result => result?,
            };
        }
    }

    fn negotiated(&self) -> Negotiated {
        let suite = self.connection.negotiated_cipher_suite();
        let suite = suite.map_or_else(String::new, |suite| format!("{:?}", suite.suite()));
        Negotiated {
            suite,
            is_resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
        }
    }
}
