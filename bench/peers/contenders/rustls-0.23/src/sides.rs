//! Both sides over the buffered API of rustls 0.23. It is compiled for rustls 0.23 and for this
//! library, which have the same API.

use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::ops::DerefMut;
use std::sync::Arc;

use kit::{Contender, Negotiated, Result, Setup, Side, Version, Wire};
use rustls::client::{ClientConnectionData, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, ProducesTickets, ServerConnectionData};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, RootCertStore, ServerConfig,
    ServerConnection, version,
};

/// The parts of a configuration that differ between the two crates.
pub(crate) struct Parts {
    pub(crate) provider: CryptoProvider,
    pub(crate) ticketer: Arc<dyn ProducesTickets>,
    /// Changes a client's configuration.
    pub(crate) adjust: fn(&mut ClientConfig),
}

/// The configurations of both sides.
pub(crate) struct Rustls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl Contender for Rustls {
    type Client = End<ClientConnection, ClientConnectionData>;
    type Server = End<ServerConnection, ServerConnectionData>;

    fn new(setup: &Setup) -> Result<Self> {
        let Parts {
            mut provider,
            ticketer,
            adjust,
        } = super::parts(&setup.variant)?;
        let scenario = &setup.scenario;
        let suite = scenario.suite().replace("TLS_AES", "TLS13_AES");
        let suites = &mut provider.cipher_suites;
        suites.sort_by_key(|known| format!("{:?}", known.suite()) != suite);
        let group = scenario.group.name();
        let is_chosen = |name: String| name.eq_ignore_ascii_case(group);
        provider
            .kx_groups
            .retain(|known| is_chosen(format!("{:?}", known.name())));
        let provider = Arc::new(provider);
        let versions = [match scenario.version {
            Version::Tls12 => &version::TLS12,
            Version::Tls13 => &version::TLS13,
        }];
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(setup.root())?)?;
        let chain: core::result::Result<_, _> =
            CertificateDer::pem_file_iter(setup.chain())?.collect();
        let key = PrivateKeyDer::from_pem_file(setup.key())?;

        let mut client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        if !setup.resumes {
            client.resumption = Resumption::disabled();
        }
        adjust(&mut client);
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)?
            .with_no_client_auth()
            .with_single_cert(chain?, key)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.ticketer = ticketer;
        Ok(Self {
            client: Arc::new(client),
            server: Arc::new(server),
            name: ServerName::try_from("localhost")?,
        })
    }

    fn client(&self) -> Result<Self::Client> {
        End::new(ClientConnection::new(
            self.client.clone(),
            self.name.clone(),
        )?)
    }

    fn server(&self) -> Result<Self::Server> {
        End::new(ServerConnection::new(self.server.clone())?)
    }
}

/// A connection with its wire.
pub(crate) struct End<C, Data> {
    connection: C,
    wire: Wire,
    data: PhantomData<Data>,
}

impl<C: DerefMut<Target = ConnectionCommon<Data>>, Data> End<C, Data> {
    fn new(connection: C) -> Result<Self> {
        let wire = Wire::new();
        let data = PhantomData;
        Ok(Self {
            connection,
            wire,
            data,
        })
    }

    fn flush(&mut self) -> Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.wire)?;
        }
        Ok(())
    }
}

impl<C: DerefMut<Target = ConnectionCommon<Data>>, Data> Side for End<C, Data> {
    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn handshake(&mut self) -> Result<bool> {
        while !self.wire.is_empty() {
            self.connection.read_tls(&mut self.wire)?;
            self.connection.process_new_packets()?;
        }
        self.flush()?;
        Ok(!self.connection.is_handshaking())
    }

    fn send(&mut self, data: &[u8]) -> Result<()> {
        self.connection.writer().write_all(data)?;
        self.flush()
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return Ok(result?),
            }
            match self.connection.read_tls(&mut self.wire) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                result => result?,
            };
            self.connection.process_new_packets()?;
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
