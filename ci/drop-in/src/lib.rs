//! What the tests have in common: a certificate, and a server to connect to.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A server's side of a connection.
pub type ServerStream = StreamOwned<ServerConnection, TcpStream>;

/// A certificate for `localhost` and the authority that it comes from.
pub struct Credentials {
    /// The authority.
    pub authority: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Credentials {
    /// Makes them, and aws-lc-rs the default provider.
    #[allow(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        // both providers are compiled in, as happens where dependencies ask for either
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let _ = provider.install_default();

        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap().der().clone();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["localhost".to_owned()])
            .and_then(|params| params.signed_by(&key, &issuer))
            .unwrap();
        Self {
            authority,
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
        }
    }

    /// A server that has the certificate.
    pub fn server_config(&self) -> ServerConfig {
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![self.certificate.clone()],
                PrivateKeyDer::try_from(self.key.clone()).unwrap(),
            )
            .unwrap()
    }
}

/// A server for `localhost`, for one connection.
pub struct Server {
    /// Where it waits.
    pub address: SocketAddr,
    /// The authority of its certificate.
    pub authority: CertificateDer<'static>,
    thread: JoinHandle<io::Result<()>>,
}

impl Server {
    /// Starts it; `serve` gets the connection.
    pub fn start(serve: impl FnOnce(&mut ServerStream) -> io::Result<()> + Send + 'static) -> Self {
        let credentials = Credentials::new();
        let config = credentials.server_config();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let (sock, _) = listener.accept()?;
            let conn = ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(conn, sock);
            serve(&mut stream)?;
            stream.conn.send_close_notify();
            io::Write::flush(&mut stream)
        });
        Self {
            address,
            authority: credentials.authority,
            thread,
        }
    }

    /// Its URL, with `scheme`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}/", self.address.port())
    }

    /// Waits for the connection to end.
    pub fn join(self) -> io::Result<()> {
        self.thread.join().unwrap()
    }
}
