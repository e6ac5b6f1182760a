//! Tests with GnuTLS's and NSS's tools as peers in both roles, with TLS 1.2 and TLS 1.3, full and
//! resumed handshakes. Tests without their tool print a message and do nothing.

mod gnutls;
mod nss;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, product3, server_name,
};
use harness::peers::programs::{Files, Program};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ServerConfig, ServerConnection, Stream,
};

/// The settings of both ends.
#[derive(Clone, Copy, Debug)]
struct Case {
    provider: Provider,
    /// A single version, which the peer enforces. Our end enables both.
    version: Versions,
    key_type: KeyType,
    auth: ClientAuth,
}

impl Case {
    /// Returns all cases with these key types.
    fn all(key_types: &[KeyType]) -> Vec<Self> {
        let versions = [Versions::Tls12, Versions::Tls13];
        let auths = [ClientAuth::None, ClientAuth::Required];
        let all = product(product3(PROVIDERS, versions, key_types), auths);
        all.map(|((provider, version, &key_type), auth)| Self {
            provider,
            version,
            key_type,
            auth,
        })
        .filter(|case| case.key_type.usable_with(case.provider))
        .collect()
    }

    fn client(&self) -> Arc<ClientConfig> {
        let provider = self.provider.this();
        let mut config =
            configs::this::client_of(Versions::Both, provider, self.key_type, self.auth);
        config.alpn_protocols.clear();
        Arc::new(config)
    }

    fn server(&self) -> Arc<ServerConfig> {
        let provider = self.provider.this();
        let mut config =
            configs::this::server_of(Versions::Both, provider, self.key_type, self.auth);
        config.alpn_protocols.clear();
        config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
        Arc::new(config)
    }

    fn check_version(&self, negotiated: Option<rustls::ProtocolVersion>) {
        let expected = match self.version {
            Versions::Tls12 => rustls::ProtocolVersion::TLSv1_2,
            _ => rustls::ProtocolVersion::TLSv1_3,
        };
        assert_eq!(negotiated, Some(expected), "{self:?}");
    }
}

/// Returns the files of one key type for one test.
fn files(test: &str, case: &Case) -> Files {
    let test = format!("other-stacks-{test}");
    Files::new(env!("CARGO_TARGET_TMPDIR"), &test, case.key_type)
}

/// The kinds of successive handshakes: the second resumes the first.
const KINDS: [HandshakeKind; 2] = [HandshakeKind::Full, HandshakeKind::Resumed];

/// The longest time to wait for a peer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends `request` over `first` and then over a second connection, which resumes. Returns the
/// response on the second.
fn request_twice(
    case: &Case,
    request: &[u8],
    answer_len: usize,
    port: u16,
    first: TcpStream,
) -> Vec<u8> {
    let config = case.client();
    let mut answer = vec![0; answer_len];
    let mut first = Some(first);
    for kind in KINDS {
        let again = || TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut socket = first.take().unwrap_or_else(again);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut conn = ClientConnection::new(config.clone(), server_name()).unwrap();
        let mut tls = Stream::new(&mut conn, &mut socket);
        tls.write_all(request).unwrap();
        tls.read_exact(&mut answer).unwrap();
        tls.conn.send_close_notify();
        tls.flush().unwrap();
        assert_eq!(conn.handshake_kind(), Some(kind), "{case:?}");
        case.check_version(conn.protocol_version());
    }
    answer
}

/// Serves two connections, one after the other.
fn answer_twice(case: &Case, listener: &TcpListener, serve: impl Fn(&mut dyn ReadWrite, bool)) {
    let config = case.server();
    for kind in KINDS {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut conn = ServerConnection::new(config.clone()).unwrap();
        while conn.is_handshaking() {
            conn.complete_io(&mut socket)
                .unwrap_or_else(|error| panic!("{case:?} {kind:?}: {error}"));
        }
        assert_eq!(conn.handshake_kind(), Some(kind), "{case:?}");
        case.check_version(conn.protocol_version());
        let authenticated = conn.peer_certificates().is_some();
        assert_eq!(authenticated, case.auth == ClientAuth::Required, "{case:?}");
        let mut tls = Stream::new(&mut conn, &mut socket);
        serve(&mut tls, kind == HandshakeKind::Resumed);
        tls.conn.send_close_notify();
        tls.flush().unwrap();
    }
}

/// Returns everything that a program prints until it ends.
fn output(program: &mut Program) -> String {
    let mut output = String::new();
    let stdout = program.child.stdout.as_mut().unwrap();
    stdout.read_to_string(&mut output).unwrap();
    output
}

trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}
