//! GnuTLS's tools as peers: raw public keys in both directions, and compressed certificates if
//! GnuTLS supports them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use harness::peers::configs::{KeyType, PROVIDERS, server_name};
use harness::peers::programs::{Files, Program, listen};
use harness::wire::Reader;
use harness::wire::client_hello::{ClientHello, read_u16s};
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR,
};
use rustls::{ClientConnection, ServerConnection, Stream};

use crate::certificates::compression::Counting;
use crate::certificates::kit::{Kind, Setup, this};

fn files(test: &str, key_type: KeyType) -> Files {
    let test = format!("gnutls-{test}");
    Files::new(env!("CARGO_TARGET_TMPDIR"), &test, key_type)
}

/// Returns the arguments that load the identity `name` in this form.
fn identity_args(files: &Files, name: &str, kind: Kind) -> Vec<String> {
    let (key, public, extension) = match kind {
        Kind::X509 => ("--x509keyfile", "--x509certfile", "pem"),
        Kind::Raw => ("--rawpkkeyfile", "--rawpkfile", "pub"),
    };
    vec![
        format!("{key}={}", files.path(&format!("{name}.key"))),
        format!("{public}={}", files.path(&format!("{name}.{extension}"))),
    ]
}

/// Restricts GnuTLS to TLS 1.3 and to the certificate types of `setup`.
fn priority(setup: Setup) -> String {
    let kind = |kind| match kind {
        Kind::X509 => "X509",
        Kind::Raw => "RAWPK",
    };
    format!(
        "--priority=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CTYPE-ALL:+CTYPE-SRV-{}:+CTYPE-CLI-{}",
        kind(setup.server),
        kind(setup.client.unwrap_or(Kind::X509))
    )
}

/// Starts `gnutls-serv` as an echo server and connects to it.
fn serve(setup: Setup, files: &Files, more: &[String]) -> Option<(Program, TcpStream)> {
    let started = Program::serve("gnutls-serv", |port| {
        let mut args = identity_args(files, "server", setup.server);
        let certificates = match setup.client {
            None => "--disable-client-cert",
            Some(_) => "--require-client-cert",
        };
        args.extend(["--echo", certificates].map(str::to_owned));
        args.extend([format!("--port={port}"), priority(setup)]);
        if setup.client == Some(Kind::X509) {
            args.push("--verify-client-cert".to_owned());
            args.push(format!("--x509cafile={}", files.path("ca.pem")));
        }
        args.extend_from_slice(more);
        args
    });
    started.map(|(server, _, socket)| (server, socket))
}

#[test]
fn our_client_connects_to_their_server() {
    for setup in Setup::all() {
        let files = files("client", setup.key_type);
        let Some((_server, sock)) = serve(setup, &files, &[]) else {
            return;
        };
        println!("{setup:?}");
        let config = Arc::new(this::client_config(setup));
        talk(config, sock);
    }
}

/// Sends a line and reads it back.
fn talk(config: Arc<rustls::ClientConfig>, mut sock: TcpStream) {
    let mut conn = ClientConnection::new(config, server_name()).unwrap();
    let mut tls = Stream::new(&mut conn, &mut sock);
    tls.write_all(b"a line\n").unwrap();
    let mut back = [0; 7];
    tls.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"a line\n");
}

#[test]
fn their_client_connects_to_our_server() {
    for setup in Setup::all() {
        let files = files("server", setup.key_type);
        println!("{setup:?}");
        let config = Arc::new(this::server_config(setup));
        if !answer(config, setup, &files, &[]) {
            return;
        }
    }
}

/// Lets `gnutls-cli` connect and send a line. Returns false if it is not installed.
fn answer(config: Arc<rustls::ServerConfig>, setup: Setup, files: &Files, more: &[String]) -> bool {
    let (listener, port) = listen();
    let mut args = vec![format!("--port={port}"), priority(setup)];
    args.push("--sni-hostname=server.example".to_owned());
    match setup.server {
        Kind::X509 => {
            args.push(format!("--x509cafile={}", files.path("ca.pem")));
            args.push("--verify-hostname=server.example".to_owned());
        }
        // gnutls-cli has no option for a trusted raw key
        Kind::Raw => args.push("--insecure".to_owned()),
    }
    if let Some(kind) = setup.client {
        args.extend(identity_args(files, "client", kind));
    }
    args.extend_from_slice(more);
    args.push("127.0.0.1".to_owned());
    let Some(mut client) = Program::start("gnutls-cli", &args) else {
        return false;
    };
    let (mut sock, _) = listener.accept().unwrap();
    let mut conn = ServerConnection::new(config).unwrap();
    let mut tls = Stream::new(&mut conn, &mut sock);
    let stdin = client.child.stdin.as_mut().unwrap();
    stdin.write_all(b"a line\n").unwrap();
    let mut received = [0; 7];
    tls.read_exact(&mut received).unwrap();
    assert_eq!(&received, b"a line\n");
    assert_eq!(conn.peer_certificates().is_some(), setup.client.is_some());
    true
}

/// Debian's GnuTLS lacks compression. If GnuTLS has it, each algorithm works in both directions.
#[test]
fn certificates_are_compressed() {
    for (name, compressor, decompressor) in [
        ("zlib", ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR),
        ("brotli", BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR),
    ] {
        let option = format!("--compress-cert={name}");
        if !offers(compressor, &option) {
            println!("skipped: GnuTLS does not support {name}");
            continue;
        }
        let setup = Setup::new(PROVIDERS[0]).with(Kind::X509, Some(Kind::X509));
        let files = files(name, setup.key_type);
        let (sent, received) = (Counting::new(compressor), Counting::new(decompressor));
        let mut config = this::client_config(setup);
        config.cert_compressors = vec![sent];
        config.cert_decompressors = vec![received];
        let Some((_server, sock)) = serve(setup, &files, std::slice::from_ref(&option)) else {
            return;
        };
        talk(Arc::new(config), sock);
        assert_eq!((sent.count(), received.count()), (1, 1));

        let mut config = this::server_config(setup);
        config.cert_compressors = vec![sent];
        config.cert_decompressors = vec![received];
        answer(Arc::new(config), setup, &files, &[option]);
        assert_eq!((sent.count(), received.count()), (2, 2));
    }
}

/// True if `gnutls-cli` with this option offers the algorithm of `compressor`.
fn offers(compressor: &dyn CertCompressor, option: &str) -> bool {
    let (listener, port) = listen();
    let args = [
        format!("--port={port}"),
        option.to_owned(),
        "127.0.0.1".to_owned(),
    ];
    let Some(_client) = Program::start("gnutls-cli", &args) else {
        return false;
    };
    let (mut sock, _) = listener.accept().unwrap();
    let mut header = [0; 5];
    sock.read_exact(&mut header).unwrap();
    let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
    sock.read_exact(&mut hello).unwrap();
    let hello = ClientHello::read(&hello);
    let offered = hello.extension(27).unwrap_or(&[0]);
    read_u16s(Reader(offered).vector(1)).contains(&compressor.algorithm().into())
}
