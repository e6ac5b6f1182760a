//! The streams of this crate and of the published one, behind one trait.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite};

use super::transport::Transport;

/// A stream of either crate and side.
pub(crate) trait Tls: AsyncRead + AsyncBufRead + AsyncWrite + Debug + Send + Unpin {
    fn is_handshaking(&self) -> bool;

    /// True if the peer has accepted early data, which only clients send.
    fn is_early_data_accepted(&self) -> bool;
}

pub(crate) type Stream = Box<dyn Tls>;

/// A handshake, which returns the transport if it fails.
pub(crate) type Handshake =
    Pin<Box<dyn Future<Output = Result<Stream, (io::Error, Transport)>> + Send>>;

/// The configurations of one crate. A connection can resume the sessions of an earlier one with the
/// same configurations.
pub(crate) trait Configs {
    fn connect(&self, transport: Transport) -> Handshake;
    fn accept(&self, transport: Transport) -> Handshake;

    /// Reads the ClientHello first, then accepts. If reading fails, the transport is taken back.
    fn accept_lazily(&self, transport: Transport) -> Handshake;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) provider: Provider,
    pub(crate) client: Versions,
    pub(crate) server: Versions,
    /// The server's limit on early data. The client sends early data if the limit is not 0.
    pub(crate) early_data: u32,
    /// Invalid if too small.
    pub(crate) max_fragment_size: Option<usize>,
}

impl Setting {
    pub(crate) fn of(versions: Versions) -> Self {
        Self {
            provider: Provider::Ring,
            client: versions,
            server: versions,
            early_data: 0,
            max_fragment_size: None,
        }
    }
}

macro_rules! configs {
    ($name:ident, $stream:ident, $tls:ident, $configs:ident, $provider:ident) => {
        pub(crate) struct $name {
            client: Arc<$tls::ClientConfig>,
            server: Arc<$tls::ServerConfig>,
            early_data: bool,
        }

        impl $name {
            pub(crate) fn new(setting: Setting) -> Self {
                use harness::peers::configs::$configs as configs;
                let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
                let provider = || setting.provider.$provider();
                let mut client = configs::client_of(setting.client, provider(), key, auth);
                let mut server = configs::server_of(setting.server, provider(), key, auth);
                client.enable_early_data = setting.early_data != 0;
                server.max_early_data_size = setting.early_data;
                client.max_fragment_size = setting.max_fragment_size;
                server.max_fragment_size = setting.max_fragment_size;
                Self {
                    client: Arc::new(client),
                    server: Arc::new(server),
                    early_data: setting.early_data != 0,
                }
            }
        }

        impl Configs for $name {
            fn connect(&self, transport: Transport) -> Handshake {
                let connector = $stream::TlsConnector::from(self.client.clone());
                let connector = connector.early_data(self.early_data);
                let handshake = connector.connect(server_name(), transport).into_fallible();
                Box::pin(async move { Ok(Box::new(handshake.await?) as Stream) })
            }

            fn accept(&self, transport: Transport) -> Handshake {
                let acceptor = $stream::TlsAcceptor::from(self.server.clone());
                let handshake = acceptor.accept(transport).into_fallible();
                Box::pin(async move { Ok(Box::new(handshake.await?) as Stream) })
            }

            fn accept_lazily(&self, transport: Transport) -> Handshake {
                let config = self.server.clone();
                let acceptor = $tls::server::Acceptor::default();
                let mut acceptor = $stream::LazyConfigAcceptor::new(acceptor, transport);
                Box::pin(async move {
                    match (&mut acceptor).await {
                        Ok(start) => {
                            assert!(acceptor.take_io().is_none());
                            let name = start.client_hello().server_name().map(str::to_owned);
                            assert!(name.is_some());
                            let handshake = start.into_stream(config).into_fallible();
                            Ok(Box::new(handshake.await?) as Stream)
                        }
                        Err(error) => Err((error, acceptor.take_io().unwrap())),
                    }
                })
            }
        }

        impl Tls for $stream::client::TlsStream<Transport> {
            fn is_handshaking(&self) -> bool {
                self.get_ref().1.is_handshaking()
            }

            fn is_early_data_accepted(&self) -> bool {
                self.get_ref().1.is_early_data_accepted()
            }
        }

        impl Tls for $stream::server::TlsStream<Transport> {
            fn is_handshaking(&self) -> bool {
                self.get_ref().1.is_handshaking()
            }

            fn is_early_data_accepted(&self) -> bool {
                false
            }
        }
    };
}

configs!(This, tokio_rustls, rustls, this, this);
configs!(
    Published,
    tokio_rustls_upstream,
    rustls_upstream,
    upstream,
    upstream
);

/// The peer of both crates' streams. It uses the published rustls, so that both crates have the
/// same peer.
pub(crate) mod peers {
    use std::sync::Arc;

    use harness::peers::configs::{ClientAuth, KeyType, upstream};
    use harness::peers::endpoints::UpstreamBuffered;
    use rustls_upstream::{ClientConfig, ServerConfig};

    use super::Setting;

    pub(crate) struct Peers {
        client: Arc<ClientConfig>,
        server: Arc<ServerConfig>,
    }

    impl Peers {
        pub(crate) fn new(setting: Setting) -> Self {
            let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
            let provider = || setting.provider.upstream();
            let mut client = upstream::client_of(setting.client, provider(), key, auth);
            let mut server = upstream::server_of(setting.server, provider(), key, auth);
            client.enable_early_data = setting.early_data != 0;
            server.max_early_data_size = setting.early_data;
            Self {
                client: Arc::new(client),
                server: Arc::new(server),
            }
        }

        pub(crate) fn client(&self) -> UpstreamBuffered {
            UpstreamBuffered::client(self.client.clone())
        }

        pub(crate) fn server(&self) -> UpstreamBuffered {
            UpstreamBuffered::server(self.server.clone())
        }
    }
}
