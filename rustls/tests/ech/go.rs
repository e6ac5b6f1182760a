//! Tests with Go's crypto/tls as an independent ECH server. Without Go 1.26 or later, the tests
//! print a message and do nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::programs::Program;
use harness::scripted::ech::{EchKey, SUITES};
use harness::wire::client_hello::X25519;
use rustls::client::EchStatus;
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, Error, HandshakeKind, PeerIncompatible,
    Stream, quic,
};
use rustls_core::ech_config::EchConfigPayload;

use crate::ech::clients::{Mode, Setup, this};
use crate::ech::kit::{PUBLIC, Peers, SECRET, SUITE};

const P256: u16 = 23;

/// The longest time to wait for a peer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the server program, compiled once; `None`, with a message, if that is impossible.
fn program() -> Option<&'static PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(build).as_ref()
}

fn build() -> Option<PathBuf> {
    let go = || {
        let mut go = Command::new("go");
        // disable downloads
        go.env("GOTOOLCHAIN", "local").env("GO111MODULE", "off");
        go
    };
    let Ok(version) = go().arg("version").output() else {
        println!("skipped: go is not installed");
        return None;
    };
    let version = String::from_utf8(version.stdout).unwrap();
    let minor = version.split("go1.").nth(1).unwrap_or_default();
    let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
    if minor.parse::<u32>().is_ok_and(|minor| minor < 26) {
        println!("skipped: {version} lacks some HPKE suites");
        return None;
    }
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ech/go_server.go");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ech_go_server");
    let built = go()
        .args(["build", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success(), "go build");
    Some(program)
}

/// The settings of a server.
#[derive(Default)]
struct Server<'a> {
    keys: &'a [&'a EchKey],
    /// The enabled curves; all of Go's if empty.
    curves: &'a [u16],
    protocols: &'a [&'a str],
    /// Go's `ClientAuthType`: 0 requests no certificate, 1 an optional one, 2 requires any.
    client_auth: u8,
    is_quic: bool,
}

/// A running server.
struct Running {
    _program: Program,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    /// The TCP port, unused with QUIC.
    port: u16,
}

impl Server<'_> {
    /// Starts the server; `None` without Go.
    fn start(&self, peers: &Peers) -> Option<Running> {
        let path = program()?.to_str().unwrap();
        let mut program = Program::start_with(path, &[""; 0], Stdio::inherit())?;
        let setup = self.json(peers);
        let mut stdin = program.child.stdin.take().unwrap();
        writeln!(stdin, "{setup}").unwrap();
        let stdout = BufReader::new(program.child.stdout.take().unwrap());
        let mut running = Running {
            _program: program,
            stdin,
            stdout,
            port: 0,
        };
        if !self.is_quic {
            running.port = running.line().parse().unwrap();
        }
        Some(running)
    }

    fn json(&self, peers: &Peers) -> String {
        let keys = self.keys.iter().map(|key| {
            let config = hex(&key.config.encoded());
            let private_key = hex(key.private_key());
            format!(r#"{{"Config":"{config}","PrivateKey":"{private_key}","SendAsRetry":true}}"#)
        });
        let certificates = [&peers.public_certificate, &peers.identity.certificate];
        let certificates = certificates.map(|certificate| hex(certificate));
        format!(
            r#"{{"Keys":[{}],"Certificates":{certificates:?},"Key":"{}","Curves":{:?},"Protocols":{:?},"ClientAuth":{},"QUIC":{}}}"#,
            keys.collect::<Vec<_>>().join(","),
            hex(&peers.client.1),
            self.curves,
            self.protocols,
            self.client_auth,
            self.is_quic,
        )
    }
}

impl Running {
    /// Returns the next line of the server's output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn connect(&self, config: &Arc<ClientConfig>, name: &str) -> (ClientConnection, TcpStream) {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        (ClientConnection::new(config.clone(), name).unwrap(), socket)
    }

    /// Sends data, reads it back and closes. Returns the connection and the server's report.
    fn talk(&mut self, config: &Arc<ClientConfig>) -> (ClientConnection, String) {
        let (mut conn, mut socket) = self.connect(config, SECRET);
        let mut tls = Stream::new(&mut conn, &mut socket);
        let sent = [7; 20_000];
        tls.write_all(&sent).unwrap();
        let mut received = [0; 20_000];
        tls.read_exact(&mut received).unwrap();
        assert_eq!(received, sent);
        tls.conn.send_close_notify();
        tls.flush().unwrap();
        // the rest, including tickets
        tls.read_to_end(&mut Vec::new()).unwrap();
        (conn, self.line())
    }

    /// Returns the connection and the client's error. The server's report is in the next line.
    fn fail(&mut self, config: &Arc<ClientConfig>) -> (ClientConnection, Error) {
        let (mut conn, mut socket) = self.connect(config, SECRET);
        let mut tls = Stream::new(&mut conn, &mut socket);
        let error = tls.write_all(b"not for the public server").unwrap_err();
        let error = error.into_inner().unwrap().downcast().unwrap();
        (conn, *error)
    }
}

fn config(setup: &Setup) -> Arc<ClientConfig> {
    Arc::new(this::config(setup).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns settings that cause a HelloRetryRequest from servers that only have P-256.
fn setup(peers: &Peers) -> Setup {
    Setup {
        groups: vec![X25519, P256],
        ..peers.setup()
    }
}

/// Calls `test` with running servers of the usual key, without and with a HelloRetryRequest.
/// `change` modifies their settings.
fn for_each_server(change: fn(&mut Server<'_>), test: impl Fn(&Peers, &Server<'_>, Running)) {
    for (provider, curves) in product(PROVIDERS, [&[][..], &[P256]]) {
        let peers = Peers::new(provider);
        let mut server = Server {
            keys: &[&peers.key],
            curves,
            ..Server::default()
        };
        change(&mut server);
        if let Some(running) = server.start(&peers) {
            test(&peers, &server, running);
        }
    }
}

#[test]
fn go_accepts_ech() {
    for (provider, suite) in product(PROVIDERS, SUITES) {
        let peers = Peers::with_key(provider, EchKey::new(3, PUBLIC, suite));
        let server = Server {
            keys: &[&peers.key],
            protocols: &["h2", "http/1.1"],
            ..Server::default()
        };
        let Some(mut server) = server.start(&peers) else {
            return;
        };
        let mut setup = peers.setup();
        setup.alpn = vec![b"http/1.1".to_vec()];
        let config = config(&setup);
        let (conn, line) = server.talk(&config);
        println!("{suite:?} {line}");
        let expected = format!(
            "ech=true resumed=false name={SECRET} protocol=http/1.1 certificates=0 error=<nil>"
        );
        assert_eq!(line, expected, "{suite:?}");
        assert_eq!(conn.ech_status(), EchStatus::Accepted);
        assert_eq!(conn.alpn_protocol(), Some(&b"http/1.1"[..]));

        let (conn, line) = server.talk(&config);
        assert!(line.starts_with("ech=true resumed=true"), "{line}");
        assert_eq!(conn.handshake_kind(), Some(HandshakeKind::Resumed));
        assert_eq!(conn.ech_status(), EchStatus::Accepted);
    }
}

#[test]
fn go_accepts_ech_after_a_hello_retry_request() {
    for peers in PROVIDERS.map(Peers::new) {
        let server = Server {
            keys: &[&EchKey::new(1, "other.example", SUITE), &peers.key],
            curves: &[P256],
            client_auth: 2,
            ..Server::default()
        };
        let Some(mut server) = server.start(&peers) else {
            return;
        };
        let mut setup = setup(&peers);
        setup.client_auth = Some(peers.client.clone());
        let config = config(&setup);
        let (conn, line) = server.talk(&config);
        assert!(line.starts_with("ech=true resumed=false"), "{line}");
        assert!(line.contains("certificates=1"), "{line}");
        let kind = HandshakeKind::FullWithHelloRetryRequest;
        assert_eq!(conn.handshake_kind(), Some(kind));
        assert_eq!(conn.ech_status(), EchStatus::Accepted);
    }
}

#[test]
fn go_rejects_ech_and_accepts_the_retry() {
    for_each_server(
        |server| server.client_auth = 1,
        |peers, _, mut server| {
            let stale = EchKey::new(7, PUBLIC, SUITE);
            let mut setup = setup(peers);
            setup.mode = Mode::Real(stale.config.list());
            setup.client_auth = Some(peers.client.clone());
            let (conn, error) = server.fail(&config(&setup));
            assert_eq!(conn.ech_status(), EchStatus::Rejected);
            assert_eq!(conn.peer_certificates(), None);
            let configs = retry_configs(error);
            let line = server.line();
            assert!(line.starts_with("ech=false resumed=false"), "{line}");
            assert!(line.contains(&format!("name={PUBLIC} ")), "{line}");
            assert!(line.contains("certificates=0"), "{line}");
            assert!(line.contains("encrypted client hello required"), "{line}");

            setup.mode = Mode::Retry(configs);
            let (conn, line) = server.talk(&config(&setup));
            assert!(line.starts_with("ech=true"), "{line}");
            assert!(line.contains(&format!("name={SECRET} ")), "{line}");
            assert!(line.contains("certificates=1"), "{line}");
            assert_eq!(conn.ech_status(), EchStatus::Accepted);
        },
    );
}

fn retry_configs(error: Error) -> Vec<EchConfigPayload> {
    match error {
        Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(Some(
            configs,
        ))) => configs,
        other => panic!("{other:?}"),
    }
}

#[test]
fn go_without_ech_keys_rejects_ech() {
    for_each_server(
        |server| server.keys = &[],
        |peers, _, mut server| {
            let (conn, error) = server.fail(&config(&setup(peers)));
            let rejected = PeerIncompatible::ServerRejectedEncryptedClientHello(None);
            assert_eq!(error, rejected.into());
            assert_eq!(conn.ech_status(), EchStatus::Rejected);
            assert!(server.line().contains("encrypted client hello required"));
        },
    );
}

#[test]
fn go_ignores_grease() {
    for_each_server(
        |_| (),
        |peers, _, mut server| {
            let config = config(&Setup {
                mode: peers.greasing().mode,
                ..setup(peers)
            });
            for resumed in [false, true] {
                let (conn, line) = server.talk(&config);
                let start = format!("ech=false resumed={resumed}");
                assert!(line.starts_with(&start), "{line}");
                assert_eq!(conn.ech_status(), EchStatus::Grease);
            }
        },
    );
}

/// Runs a handshake over QUIC. Returns the client's result and the server's report.
fn converse(
    server: &mut Running,
    client: &mut quic::ClientConnection,
) -> (Result<(), Error>, String) {
    let mut level = 0;
    let mut status = String::new();
    loop {
        let mut data = Vec::new();
        let change = client.write_hs(&mut data);
        if data.is_empty() && change.is_none() {
            return (Ok(()), status);
        }
        if !data.is_empty() {
            writeln!(server.stdin, "{level} {}", hex(&data)).unwrap();
            // the name appears nowhere, neither raw nor in hex
            assert!(!hex(&data).contains(&hex(SECRET.as_bytes())));
            loop {
                status = server.line();
                let Some((received, data)) = status.split_once(' ') else {
                    panic!("{status:?}");
                };
                let Ok(received) = received.parse::<u8>() else {
                    break;
                };
                assert!([0, 2, 3].contains(&received));
                let data = (0..data.len() / 2).map(|at| &data[2 * at..2 * at + 2]);
                let data = data.map(|byte| u8::from_str_radix(byte, 16).unwrap());
                let data: Vec<_> = data.collect();
                if let Err(error) = client.read_hs(&data) {
                    return (Err(error), status);
                }
            }
        }
        match change {
            Some(quic::KeyChange::Handshake { .. }) => level = 2,
            Some(quic::KeyChange::OneRtt { .. }) => level = 3,
            None => {}
        }
    }
}

#[test]
fn go_accepts_ech_over_quic() {
    let connect = |setup: &Setup| {
        let name = ServerName::try_from(SECRET).unwrap();
        let parameters = b"parameters of the client".to_vec();
        let version = quic::Version::V1;
        quic::ClientConnection::new(config(setup), version, name, parameters).unwrap()
    };
    for_each_server(
        |server| server.is_quic = true,
        |peers, server, mut running| {
            let mut setup = setup(peers);
            let mut client = connect(&setup);
            let (result, line) = converse(&mut running, &mut client);
            assert_eq!(result, Ok(()));
            assert!(line.starts_with("ech=true"), "{line}");
            assert!(line.contains(&format!("name={SECRET} ")), "{line}");
            assert!(!client.is_handshaking());
            let parameters = client.quic_transport_parameters();
            assert_eq!(parameters, Some(&b"parameters of the server"[..]));

            let mut running = server.start(peers).unwrap();
            setup.mode = Mode::Real(EchKey::new(9, PUBLIC, SUITE).config.list());
            let mut client = connect(&setup);
            let (result, _) = converse(&mut running, &mut client);
            let configs = retry_configs(result.unwrap_err());
            let alert = AlertDescription::EncryptedClientHelloRequired;
            assert_eq!(client.alert(), Some(alert));
            assert!(client.is_handshaking());

            let mut running = server.start(peers).unwrap();
            setup.mode = Mode::Retry(configs);
            let (result, line) = converse(&mut running, &mut connect(&setup));
            assert_eq!(result, Ok(()));
            assert!(line.starts_with("ech=true"), "{line}");
        },
    );
}
