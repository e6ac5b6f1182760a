//! Streams over TLS or plain TCP, behind one trait.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::aws_lc_rs::Ticketer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::Result;
use crate::socket::Socket;
use crate::work::Kind;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Divides the stream for two tasks.
    fn halves(self) -> Result<(Reader, Writer)>;

    fn is_resumed(&self) -> bool;
}

/// A transport of a stream.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static {
    type Reader: AsyncRead + Unpin + Send + 'static;
    type Writer: AsyncWrite + Unpin + Send + 'static;

    /// Divides the transport for two tasks.
    fn halves(self) -> (Self::Reader, Self::Writer);
}

pub(crate) type Reader = Box<dyn AsyncRead + Unpin + Send>;
pub(crate) type Writer = Box<dyn AsyncWrite + Unpin + Send>;

pub(crate) trait Wire: Clone + Send + Sync + 'static {
    type Client: Stream;
    type Server: Stream;

    fn connect(&self, socket: Socket) -> impl Future<Output = io::Result<Self::Client>> + Send;
    fn accept(&self, socket: Socket) -> impl Future<Output = io::Result<Self::Server>> + Send;

    /// Copies both directions until both have ended.
    fn relay(
        client: Self::Server,
        server: Self::Client,
    ) -> impl Future<Output = io::Result<()>> + Send;
}

#[derive(Clone)]
pub(crate) struct Plain;

impl Wire for Plain {
    type Client = Socket;
    type Server = Socket;

    async fn connect(&self, socket: Socket) -> io::Result<Socket> {
        Ok(socket)
    }

    async fn accept(&self, socket: Socket) -> io::Result<Socket> {
        Ok(socket)
    }

    async fn relay(mut client: Socket, mut server: Socket) -> io::Result<()> {
        copy_bidirectional(&mut client, &mut server).await.map(drop)
    }
}

impl Stream for Socket {
    fn halves(self) -> Result<(Reader, Writer)> {
        let (reader, writer) = Transport::halves(self);
        Ok((Box::new(reader), Box::new(writer)))
    }

    fn is_resumed(&self) -> bool {
        true
    }
}

#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads the certificates in `folder`. Both sides have the default configuration, a server with
    /// tickets.
    pub(crate) fn new(folder: &Path, kind: Kind) -> Result<Self> {
        let file = |content| folder.join(format!("ECDSA-P256-{content}.pem"));
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file("root"))?)?;
        let mut client = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        if kind == Kind::Churn {
            client.resumption = Resumption::disabled();
        }
        let chain: std::result::Result<_, _> =
            CertificateDer::pem_file_iter(file("chain"))?.collect();
        let key = PrivateKeyDer::from_pem_file(file("key"))?;
        let mut server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain?, key)?;
        server.ticketer = Ticketer::new()?;
        Ok(Self {
            connector: Arc::new(client).into(),
            acceptor: Arc::new(server).into(),
        })
    }

    /// Connects over any transport.
    pub(crate) async fn client_over<IO>(&self, io: IO) -> io::Result<client::TlsStream<IO>>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        self.connector.connect(name, io).await
    }

    /// Creates a server without a stream.
    pub(crate) fn server(&self) -> Result<ServerConnection> {
        Ok(ServerConnection::new(self.acceptor.config().clone())?)
    }
}

impl Wire for Tls {
    type Client = client::TlsStream<Socket>;
    type Server = server::TlsStream<Socket>;

    async fn connect(&self, socket: Socket) -> io::Result<Self::Client> {
        self.client_over(socket).await
    }

    async fn accept(&self, socket: Socket) -> io::Result<Self::Server> {
        self.acceptor.accept(socket).await
    }

    async fn relay(mut client: Self::Server, mut server: Self::Client) -> io::Result<()> {
        #[cfg(feature = "relay")]
        use tokio_rustls::copy_bidirectional;
        copy_bidirectional(&mut client, &mut server).await.map(drop)
    }
}

macro_rules! stream {
    ($side:ident) => {
        impl<IO: Transport> Stream for $side::TlsStream<IO> {
            #[cfg(feature = "in-place")]
            fn halves(self) -> Result<(Reader, Writer)> {
                let (reader, writer) = self.into_split(Transport::halves)?;
                Ok((Box::new(reader), Box::new(writer)))
            }

            #[cfg(not(feature = "in-place"))]
            fn halves(self) -> Result<(Reader, Writer)> {
                let (reader, writer) = tokio::io::split(self);
                Ok((Box::new(reader), Box::new(writer)))
            }

            fn is_resumed(&self) -> bool {
                self.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed)
            }
        }
    };
}

stream!(client);
stream!(server);
