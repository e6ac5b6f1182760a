//! Tests with OpenSSL as the peer over loopback, in either version and role.
//!
//! Needs the `openssl` program, 1.1.1 or later, on the path.

mod tls12;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use harness::peers::configs::{
    CLIENT_AUTHS, ClientAuth, KEY_TYPES, KeyType, PROVIDERS, Provider, SERVER_NAME, Versions,
    server_name, this,
};
use harness::peers::programs::{Files, Program, listen};
use harness::wire::Noise;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, NamedGroup, ServerConfig, ServerConnection,
    Stream,
};

/// The restrictions of a connection, named as in OpenSSL where both names exist.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// A single version.
    version: Versions,
    provider: Provider,
    key_type: KeyType,
    auth: ClientAuth,
    suite: &'static str,
    /// The only group of the server.
    group: &'static str,
}

const SUITES: [&str; 3] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
];

/// Our clients send a share of the first group; the others need a HelloRetryRequest.
const GROUPS: [&str; 3] = ["X25519", "P-256", "P-384"];

/// The suites of TLS 1.2 with ECDSA or EdDSA, then with RSA.
const TLS12_SUITES: [&str; 6] = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// Returns the TLS 1.2 suites for a key of this type.
fn tls12_suites(key_type: KeyType) -> impl Iterator<Item = &'static str> {
    let kind = match key_type {
        KeyType::Rsa2048 => "ECDHE-RSA-",
        _ => "ECDHE-ECDSA-",
    };
    let suites = TLS12_SUITES.into_iter();
    suites.filter(move |suite| suite.starts_with(kind))
}

fn cases() -> Vec<Case> {
    let mut cases = tls13_cases();
    cases.extend(tls12_cases());
    cases
}

fn usable(provider: Provider) -> impl Iterator<Item = KeyType> {
    let key_types = KEY_TYPES.into_iter();
    key_types.filter(move |key| key.usable_with(provider))
}

fn tls12_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for provider in PROVIDERS {
        for key_type in usable(provider) {
            let case = |suite, group, auth| Case {
                version: Versions::Tls12,
                provider,
                key_type,
                auth,
                suite,
                group,
            };
            let suites: Vec<_> = tls12_suites(key_type).collect();
            let first = suites[0];
            cases.extend(CLIENT_AUTHS.map(|auth| case(first, GROUPS[0], auth)));
            if matches!(key_type, KeyType::EcdsaP256 | KeyType::Rsa2048) {
                let others = suites[1..].iter();
                cases.extend(others.map(|suite| case(suite, GROUPS[0], ClientAuth::Required)));
                let others = GROUPS[1..].iter();
                cases.extend(others.map(|group| case(first, group, ClientAuth::None)));
            }
        }
    }
    cases
}

fn tls13_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for provider in PROVIDERS {
        let base = Case {
            version: Versions::Tls13,
            provider,
            key_type: KeyType::EcdsaP256,
            auth: ClientAuth::None,
            suite: SUITES[0],
            group: GROUPS[0],
        };
        for suite in SUITES {
            cases.extend(GROUPS.map(|group| Case {
                suite,
                group,
                ..base
            }));
        }
        for key_type in usable(provider) {
            cases.extend(CLIENT_AUTHS.map(|auth| Case {
                key_type,
                auth,
                ..base
            }));
        }
    }
    cases
}

/// Runs `test` for all cases, several in parallel because OpenSSL's programs sometimes sleep for a
/// second.
fn for_all_cases(test: impl Fn(Case) + Sync) {
    const AT_A_TIME: usize = 8;
    let cases = Mutex::new(cases().into_iter());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let next = cases.lock().unwrap().next();
                    let Some(case) = next else { break };
                    println!("{case:?}");
                    test(case);
                }
            });
        }
    });
}

impl Case {
    /// Returns our provider with a single suite, and the groups X25519, P-256 and P-384 in this
    /// order.
    fn our_provider(&self) -> rustls::crypto::CryptoProvider {
        let mut provider = self.provider.this();
        let name = if self.is_tls12() {
            let name = self.suite.replace('-', "_").replace("AES", "WITH_AES_");
            let name = name.replace("CHACHA20_POLY1305", "WITH_CHACHA20_POLY1305_SHA256");
            format!("TLS_{name}")
        } else {
            self.suite.replacen("TLS_", "TLS13_", 1)
        };
        let suites = &mut provider.cipher_suites;
        suites.retain(|suite| suite.suite().as_str() == Some(&name));
        assert_eq!(provider.cipher_suites.len(), 1);
        let all = self.provider.this_groups();
        let named = |name| *all.iter().find(|it| it.name() == our_name(name)).unwrap();
        provider.kx_groups = GROUPS.map(named).to_vec();
        provider
    }

    fn is_tls12(&self) -> bool {
        self.version == Versions::Tls12
    }

    /// Returns OpenSSL's options that restrict it to version, suite and groups.
    fn their_options(&self, groups: String) -> Vec<String> {
        let (version, suites) = if self.is_tls12() {
            ("-tls1_2", "-cipher")
        } else {
            ("-tls1_3", "-ciphersuites")
        };
        let options = [version, suites, self.suite, "-groups", &groups];
        options.map(String::from).to_vec()
    }

    /// Returns the group and the certificate curves. In TLS 1.2, OpenSSL has a single list for
    /// both.
    fn all_groups(&self) -> String {
        let mut groups = vec![self.group];
        let curves = ["P-256", "P-384", "P-521"].into_iter();
        groups.extend(curves.filter(|curve| *curve != self.group));
        groups.join(":")
    }

    /// Returns the kind of a full handshake.
    fn kind(&self) -> HandshakeKind {
        if self.is_tls12() || self.group == GROUPS[0] {
            HandshakeKind::Full
        } else {
            HandshakeKind::FullWithHelloRetryRequest
        }
    }

    fn our_client(&self) -> ClientConfig {
        let mut provider = self.our_provider();
        if self.is_tls12() {
            // the server chooses the first group
            let groups = &mut provider.kx_groups;
            groups.sort_by_key(|group| our_name(self.group) != group.name());
        }
        this::client_of(self.version, provider, self.key_type, self.auth)
    }

    fn our_server(&self) -> ServerConfig {
        let mut provider = self.our_provider();
        let groups = &mut provider.kx_groups;
        groups.retain(|group| our_name(self.group) == group.name());
        this::server_of(self.version, provider, self.key_type, self.auth)
    }
}

/// Returns the files of one key type for one test.
fn files(test: &str, key_type: KeyType) -> Files {
    Files::new(env!("CARGO_TARGET_TMPDIR"), test, key_type)
}

fn openssl(args: &[&str], more: Vec<String>, stderr: Stdio) -> Program {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).chain(more).collect();
    Program::start_with("openssl", &args, stderr).expect("this test needs the openssl program")
}

/// Starts `openssl s_client` with `more` options. Our server can serve it on the returned socket.
fn s_client(
    args: &[&str],
    more: Vec<String>,
    files: &Files,
    stderr: Stdio,
) -> (Program, TcpListener) {
    let (listener, port) = listen();
    let mut all = vec!["-CAfile".into(), files.path("ca.pem")];
    all.extend(["-connect".into(), format!("127.0.0.1:{port}")]);
    all.extend(["-servername".into(), SERVER_NAME.into()]);
    all.extend(more);
    let client = openssl(&[&["s_client"], args].concat(), all, stderr);
    (client, listener)
}

/// Connects a client to the port.
fn connect(config: Arc<ClientConfig>, port: u16) -> (ClientConnection, TcpStream) {
    let sock = TcpStream::connect(("127.0.0.1", port)).unwrap();
    sock.set_nodelay(true).unwrap();
    (ClientConnection::new(config, server_name()).unwrap(), sock)
}

/// Sends a line, which the server sends back reversed.
fn send_a_line(conn: &mut ClientConnection, sock: &mut TcpStream) {
    let mut tls = Stream::new(conn, sock);
    tls.write_all(b"olleh\n").unwrap();
    let mut back = [0; 6];
    tls.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello\n");
}

/// Sends the command on which the server closes cleanly.
fn request_close(conn: &mut ClientConnection, sock: &mut TcpStream) {
    let mut tls = Stream::new(conn, sock);
    tls.write_all(b"CLOSE\n").unwrap();
    tls.read_to_end(&mut Vec::new()).unwrap();
}

/// Returns the options with which OpenSSL's client presents its certificate, if it has one.
fn client_certificate(case: &Case, files: &Files) -> Vec<String> {
    if !case.auth.is_presented() {
        return vec![];
    }
    let (certificate, key) = (files.path("client.pem"), files.path("client.key"));
    vec!["-cert".into(), certificate, "-key".into(), key]
}

/// Starts `openssl s_server` with `more` options and waits until it listens. Returns its port and
/// its output.
fn s_server(
    case: &Case,
    files: &Files,
    mut more: Vec<String>,
) -> (Program, u16, BufReader<ChildStdout>) {
    more.extend(["-cert".into(), files.path("server.pem")]);
    more.extend(["-key".into(), files.path("server.key")]);
    let groups = if case.is_tls12() {
        case.all_groups()
    } else {
        case.group.to_string()
    };
    more.extend(case.their_options(groups));
    if case.auth != ClientAuth::None {
        let verify = match case.auth {
            ClientAuth::Required => "-Verify",
            _ => "-verify",
        };
        more.extend([verify.into(), "2".into(), "-verify_return_error".into()]);
        more.extend(["-CAfile".into(), files.path("ca.pem")]);
    }
    let args = ["s_server", "-accept", "127.0.0.1:0", "-rev", "-alpn", "h2"];
    let mut server = openssl(&args, more, Stdio::null());
    let mut output = BufReader::new(server.child.stdout.take().unwrap());
    let line = wait_for_line(&mut output, |line| line.starts_with("ACCEPT"));
    let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    (server, port, output)
}

/// Reads lines until `is_it` returns true for one, and returns that line.
fn wait_for_line(output: &mut impl BufRead, is_it: impl Fn(&str) -> bool) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "openssl ended");
        if is_it(&line) {
            return line;
        }
    }
}

#[test]
fn our_client_connects_to_their_server() {
    for_all_cases(|case| {
        // OpenSSL rejects TLS 1.2 clients that do not offer its certificate's curve, and we have no
        // P-521
        if case.is_tls12() && case.key_type == KeyType::EcdsaP521 {
            return;
        }
        let files = files("client", case.key_type);
        let (_server, port, _output) = s_server(&case, &files, vec![]);
        let (mut conn, mut sock) = connect(Arc::new(case.our_client()), port);
        let mut tls = Stream::new(&mut conn, &mut sock);

        // the server returns each line reversed
        for len in [1, 100, 15_000] {
            let mut noise = Noise::new(len as u64);
            let line: Vec<u8> = (0..len).map(|_| b'a' + (noise.next() % 26) as u8).collect();
            tls.write_all(&line).unwrap();
            tls.write_all(b"\n").unwrap();
            let mut back = vec![0; len + 1];
            tls.read_exact(&mut back).unwrap();
            assert_eq!(back.pop(), Some(b'\n'));
            back.reverse();
            assert_eq!(back, line);
        }
        assert_eq!(conn.handshake_kind(), Some(case.kind()));
        assert_eq!(conn.alpn_protocol(), Some(&b"h2"[..]));
        // TLS 1.2 has no KeyUpdate
        assert_eq!(conn.refresh_traffic_keys().is_err(), case.is_tls12());
        send_a_line(&mut conn, &mut sock);
        request_close(&mut conn, &mut sock);
    });
}

#[test]
fn their_client_connects_to_our_server() {
    let mut noise = Noise::new(3);
    // no ASCII, because s_client interprets a Q or a K at the start of a read as a command
    let much: Vec<u8> = (0..4 << 20).map(|_| 0x80 | noise.next() as u8).collect();
    for_all_cases(|case| {
        // test with much data only once per suite and provider
        let data = if case.key_type == KeyType::EcdsaP256 && case.group == GROUPS[1] {
            &much[..]
        } else {
            &much[..64 << 10]
        };
        let files = files("server", case.key_type);
        let mut more = vec!["-verify_hostname".into(), SERVER_NAME.into()];
        let groups = if case.is_tls12() {
            case.all_groups()
        } else if case.group == GROUPS[0] {
            case.group.to_string()
        } else {
            // the client's first share is of a group that our server lacks
            format!("{}:{}", GROUPS[0], case.group)
        };
        more.extend(case.their_options(groups));
        more.extend(client_certificate(&case, &files));
        let args = [
            "-quiet",
            "-no_ign_eof",
            "-verify_return_error",
            "-alpn",
            "http/1.1",
        ];
        let (mut client, listener) = s_client(&args, more, &files, Stdio::null());

        let mut conn = ServerConnection::new(Arc::new(case.our_server())).unwrap();
        let (mut sock, _) = listener.accept().unwrap();
        // small records follow each other, and none should wait for an acknowledgement
        sock.set_nodelay(true).unwrap();
        let mut stdin = client.child.stdin.take().unwrap();
        let mut stdout = client.child.stdout.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| stdin.write_all(data).unwrap());
            let echoed = scope.spawn(|| {
                let mut echoed = vec![0; data.len()];
                stdout.read_exact(&mut echoed).unwrap();
                echoed
            });
            // echo the data
            let mut tls = Stream::new(&mut conn, &mut sock);
            let mut chunk = vec![0; 20_000];
            let mut left = data.len();
            while left != 0 {
                let len = tls.read(&mut chunk).unwrap();
                assert_ne!(len, 0, "s_client has closed");
                tls.write_all(&chunk[..len]).unwrap();
                left -= len;
            }
            tls.flush().unwrap();
            assert!(echoed.join().unwrap() == data, "changed in transit");
        });
        assert_eq!(conn.server_name(), Some(SERVER_NAME));
        assert_eq!(conn.peer_certificates().is_some(), case.auth.is_presented());
        assert_eq!(conn.handshake_kind(), Some(case.kind()));
        // s_client closes cleanly at the end of its input
        drop(stdin);
        let mut tls = Stream::new(&mut conn, &mut sock);
        assert_eq!(tls.read(&mut [0; 10]).unwrap(), 0);
        conn.send_close_notify();
        while conn.wants_write() {
            conn.write_tls(&mut sock).unwrap();
        }
    });
}

/// The client sends KeyUpdates that request an answer, each in a separate record, then a request. A
/// server that reads through a stream must still answer.
#[test]
fn their_client_updates_keys_and_sends_a_request() {
    const REQUEST: &[u8] = b"a line to send back\n";
    for provider in PROVIDERS {
        let files = files("key-update", KeyType::EcdsaP256);
        let args = ["-tls1_3", "-verify_return_error"];
        let (mut client, listener) = s_client(&args, vec![], &files, Stdio::piped());

        let config = this::server(provider.this(), KeyType::EcdsaP256, ClientAuth::None);
        std::thread::scope(|scope| {
            let stdin = client.child.stdin.take().unwrap();
            let stderr = BufReader::new(client.child.stderr.take().unwrap());
            let stdout = BufReader::new(client.child.stdout.take().unwrap());
            // dropped on failure, which ends s_client and the other thread
            let mut conn = ServerConnection::new(Arc::new(config)).unwrap();
            let (mut sock, _) = listener.accept().unwrap();
            while conn.is_handshaking() {
                conn.complete_io(&mut sock).unwrap();
            }
            // after the handshake, because otherwise the first KeyUpdate could arrive together with
            // Finished
            scope.spawn(move || request_after_key_updates(stdin, stderr, stdout, REQUEST));
            let mut tls = Stream::new(&mut conn, &mut sock);
            // only the request is visible
            let mut request = [0; REQUEST.len()];
            tls.read_exact(&mut request).unwrap();
            assert_eq!(request, REQUEST);
            tls.write_all(REQUEST).unwrap();
            tls.flush().unwrap();
            // wait until s_client closes
            assert_eq!(tls.read(&mut [0; 10]).unwrap(), 0);
        });
    }
}

/// Makes s_client update its keys three times, then send `request` and print the response.
fn request_after_key_updates(
    mut stdin: ChildStdin,
    mut stderr: BufReader<ChildStderr>,
    mut stdout: BufReader<ChildStdout>,
    request: &[u8],
) {
    for _ in 0..3 {
        stdin.write_all(b"K\n").unwrap();
        // s_client interprets everything that it reads at once as one command, so wait until this
        // one is complete
        wait_for_line(&mut stderr, |line| line.starts_with("KEYUPDATE"));
    }
    stdin.write_all(request).unwrap();
    wait_for_line(&mut stdout, |line| line.as_bytes() == request);
    // s_client closes cleanly at the end of its input
    drop(stdin);
}

fn our_name(group: &str) -> NamedGroup {
    match group {
        "X25519" => NamedGroup::X25519,
        "P-256" => NamedGroup::secp256r1,
        _ => NamedGroup::secp384r1,
    }
}
