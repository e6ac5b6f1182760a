//! Blocking HTTP clients: ureq and attohttpc.

use std::io::Read;

use drop_in::{Server, answer, moved, page};

#[test]
fn ureq_fetches_a_page() {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};

    let server = Server::start(answer);
    let authority = Certificate::from_der(&server.credentials.authority).to_owned();
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
    moved("ureq", "client", "HTTP/1.1", page().len());
}

#[test]
fn ureq_trusts_no_other_authority() {
    let server = Server::start(answer);
    let error = ureq::get(server.url("https")).call().unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    let error = server.join().unwrap_err().to_string();
    assert!(error.contains("UnknownCA"), "{error}");
}

#[test]
fn attohttpc_fetches_a_page() {
    let server = Server::start(answer);
    let mut response = attohttpc::get(server.url("https"))
        .add_root_certificate(server.credentials.authority.clone())
        .send()
        .unwrap();
    let mut body = Vec::new();
    response.read_to_end(&mut body).unwrap();
    assert_eq!(body, page());
    server.join().unwrap();
    moved("attohttpc", "client", "HTTP/1.1", page().len());
}
