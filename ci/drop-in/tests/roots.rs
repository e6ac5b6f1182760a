//! The platform's trusted roots: rustls-native-certs, rustls-platform-verifier, and reqwest, which
//! uses the latter. On Linux they read the file in `SSL_CERT_FILE`, so each test runs again in a
//! process with that variable.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use drop_in::{Credentials, Program, Server, answer, moved, page, run};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_platform_verifier::BuilderVerifierExt;

/// Runs the test `name` again in a new process, as the client of a server. The platform of that
/// process only trusts the server's authority. Returns the server's port in the new process, and
/// `None` in this one.
fn rerun(name: &str) -> Option<u16> {
    if let Ok(port) = env::var("DROP_IN_PORT") {
        // installs the default provider
        let _ = Credentials::new();
        return Some(port.parse().unwrap());
    }
    let server = Server::start(answer);
    let folder = Program::new(name, "root");
    let trusted = folder.write("trusted.pem", &server.credentials.authority_pem);
    let client = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env("DROP_IN_PORT", server.address.port().to_string())
        .env("SSL_CERT_FILE", trusted)
        .env_remove("SSL_CERT_DIR")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&client.stderr);
    assert!(client.status.success(), "{printed}");
    server.join().unwrap();
    None
}

/// Fetches the page with `config`.
fn fetch(config: ClientConfig, port: u16) {
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut stream = StreamOwned::new(client, socket);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&page()), "wrong page");
}

#[test]
fn roots_of_native_certs_are_trusted() {
    let Some(port) = rerun("roots_of_native_certs_are_trusted") else {
        return;
    };
    let found = rustls_native_certs::load_native_certs();
    assert!(found.errors.is_empty(), "{:?}", found.errors);
    let mut roots = RootCertStore::empty();
    assert_eq!(roots.add_parsable_certificates(found.certs), (1, 0));
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    fetch(config, port);
    moved(
        "rustls-native-certs",
        "roots of a client",
        "HTTP/1.1",
        page().len(),
    );
}

#[test]
fn the_platform_verifier_accepts_the_server() {
    let Some(port) = rerun("the_platform_verifier_accepts_the_server") else {
        return;
    };
    let config = ClientConfig::builder()
        .with_platform_verifier()
        .unwrap()
        .with_no_client_auth();
    fetch(config, port);
    let role = "a client's verifier";
    moved("rustls-platform-verifier", role, "HTTP/1.1", page().len());
}

#[test]
fn reqwest_uses_the_platform_verifier() {
    let Some(port) = rerun("reqwest_uses_the_platform_verifier") else {
        return;
    };
    run(async {
        let url = format!("https://localhost:{port}/");
        let response = reqwest::get(url).await.unwrap();
        assert!(response.bytes().await.unwrap() == page(), "wrong page");
    });
    moved(
        "reqwest",
        "client",
        "HTTP/1.1, platform's roots",
        page().len(),
    );
}

#[test]
fn the_platform_trusts_no_other_authority() {
    let server = Server::start(answer);
    let verifier = rustls_platform_verifier::Verifier::new_with_extra_roots(
        // in addition to the roots of this machine: an authority with the server's name and another
        // key
        [Credentials::new().authority],
        Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
    );
    let config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier.unwrap()))
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(client, TcpStream::connect(server.address).unwrap());
    let error = stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap_err();
    assert!(error.to_string().contains("BadSignature"), "{error}");
    server.join().unwrap_err();
}
