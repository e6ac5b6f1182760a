//! HTTP clients: ureq, attohttpc.

use std::io::{self, BufRead, Read, Write};

use drop_in::{Server, ServerStream};

/// Bytes that any mistake in their order would show in.
fn page() -> Vec<u8> {
    (0u32..500_000)
        .map(|i| (i.wrapping_mul(i) >> 7) as u8)
        .collect()
}

/// Answers one request with [`page`], and closes.
fn answer(stream: &mut ServerStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    assert!(head.starts_with(b"GET / HTTP/1.1\r\n"));
    let page = page();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    )?;
    stream.write_all(&page)
}

#[test]
fn ureq_fetches_a_page() {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};

    let server = Server::start(answer);
    let authority = Certificate::from_der(&server.authority).to_owned();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::new_with_certs(&[authority]))
                .build(),
        )
        .build()
        .into();
    let mut response = agent.get(server.url("https")).call().unwrap();
    assert_eq!(response.body_mut().read_to_vec().unwrap(), page());
    server.join().unwrap();
}

#[test]
fn ureq_trusts_nobody_else() {
    let server = Server::start(answer);
    let error = ureq::get(server.url("https")).call().unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(server.join().unwrap_err().to_string().contains("UnknownCA"));
}

#[test]
fn attohttpc_fetches_a_page() {
    let server = Server::start(answer);
    let mut response = attohttpc::get(server.url("https"))
        .add_root_certificate(server.authority.clone())
        .send()
        .unwrap();
    let mut body = Vec::new();
    response.read_to_end(&mut body).unwrap();
    assert_eq!(body, page());
    server.join().unwrap();
}
