//! Our client resumes and sends early data to `openssl s_server`. Skipped if `openssl` is missing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use harness::peers::configs::{self, ClientAuth, KeyType, PROVIDERS, product};
use harness::peers::programs::{Files, Program};
use rustls::ClientConfig;

use super::clients::{APIS, Api, Client};

const SUITES: [&str; 3] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
];

const KEY_TYPE: KeyType = KeyType::EcdsaP256;

/// The time limit for expected output, which a passing test never reaches.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `s_server`.
struct Server {
    _program: Program,
    /// Its printed output, which includes the data it receives.
    output: Receiver<String>,
    printed: String,
    port: u16,
}

impl Server {
    /// Starts the server, or returns `None` without `openssl`.
    fn start(name: &str, more: &[&str]) -> Option<Self> {
        let name = format!("early-{name}");
        let files = Files::new(env!("CARGO_TARGET_TMPDIR"), &name, KEY_TYPE);
        let (certificate, key) = (files.path("server.pem"), files.path("server.key"));
        let args = [
            "s_server",
            "-tls1_3",
            "-accept",
            "127.0.0.1:0",
            "-alpn",
            "h2",
        ];
        let identity = ["-cert", &*certificate, "-key", &*key];
        // the server exits at the end of its input
        let mut program = Program::start("openssl", &[&args[..], &identity, more].concat())?;
        let mut stdout = program.child.stdout.take().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(len @ 1..) = stdout.read(&mut chunk) {
                let printed = String::from_utf8_lossy(&chunk[..len]).into_owned();
                if sender.send(printed).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            _program: program,
            output,
            printed: String::new(),
            port: 0,
        };
        server.wait_for("ACCEPT");
        let line = loop {
            let (_, listening) = server.printed.split_once("ACCEPT").unwrap();
            match listening.split_once('\n') {
                Some((line, _)) => break line,
                None => server.read_more(),
            }
        };
        server.port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Some(server)
    }

    /// Reads until the server has printed all of `expected`, in any order, because the server
    /// buffers only a part of its output.
    fn wait_for(&mut self, expected: &str) {
        while !self.printed.contains(expected) {
            self.read_more();
        }
    }

    fn read_more(&mut self) {
        match self.output.recv_timeout(PATIENCE) {
            Ok(more) => self.printed += &more,
            Err(error) => panic!("s_server: {error} after {:?}", self.printed),
        }
    }
}

/// Connects and waits for the server's two tickets.
fn connect(
    api: Api,
    config: &Arc<ClientConfig>,
    server: &Server,
    early: &[&[u8]],
) -> (Client, TcpStream) {
    let (mut client, first) = Client::start(api, config, early);
    let mut sock = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    sock.set_nodelay(true).unwrap();
    sock.set_read_timeout(Some(PATIENCE)).unwrap();
    sock.write_all(&first).unwrap();
    let mut buf = [0; 20_000];
    while client.endpoint().is_handshaking() || client.tickets_received() == 0 {
        let len = sock.read(&mut buf).unwrap();
        assert_ne!(len, 0, "s_server has closed");
        client.endpoint().receive(&buf[..len]).unwrap();
        sock.write_all(&client.endpoint().take_output()).unwrap();
    }
    (client, sock)
}

fn close(mut client: Client, mut sock: TcpStream) {
    client.endpoint().close();
    sock.write_all(&client.endpoint().take_output()).unwrap();
}

#[test]
fn openssl_resumes_with_and_without_early_data() {
    for (suite, early_data) in product(SUITES, [true, false]) {
        let mut args = vec!["-ciphersuites", suite];
        if early_data {
            args.extend(["-early_data", "-max_early_data", "1000"]);
        }
        let Some(mut server) = Server::start(&format!("{suite}-{early_data}"), &args) else {
            return;
        };
        for (provider, api) in product(PROVIDERS, APIS) {
            let auth = ClientAuth::None;
            let mut config = configs::this::client(provider.this(), KEY_TYPE, auth);
            config.enable_early_data = true;
            let config = Arc::new(config);
            let (mut client, sock) = connect(api, &config, &server, &[]);
            assert!(client.endpoint().negotiated().contains("Full"));
            close(client, sock);

            for round in ["first", "second"] {
                let line = format!("{round} of {provider:?} {api:?}");
                let early = format!("early {line}\n");
                let pieces: &[&[u8]] = if early_data { &[early.as_bytes()] } else { &[] };
                let (mut client, mut sock) = connect(api, &config, &server, pieces);
                assert!(client.endpoint().negotiated().contains("Resumed"), "{line}");
                assert_eq!(client.is_early_data_accepted(), early_data, "{line}");
                if early_data {
                    server.wait_for(&early);
                }
                let late = format!("late {line}\n");
                client.endpoint().send(late.as_bytes());
                sock.write_all(&client.endpoint().take_output()).unwrap();
                server.wait_for(&late);
                close(client, sock);
            }
        }
    }
}
