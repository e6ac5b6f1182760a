//! Runs the server, connects clients, and scrapes its page over HTTP. The manual shows the page.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name, this};
use rustls::{ClientConfig, ClientConnection, NamedGroup, StreamOwned};

use super::*;

/// The chapter that shows the page.
const CHAPTER: &str = include_str!("../../../rustls/manual/observers.md");

/// Sends a request over HTTPS, and returns the response.
fn get(config: &Arc<ClientConfig>, address: SocketAddr) -> std::io::Result<String> {
    let conn = ClientConnection::new(config.clone(), server_name()).unwrap();
    let mut stream = StreamOwned::new(conn, TcpStream::connect(address)?);
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    // the server's task ends, and reports the end, once the client has closed its side
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(response)
}

/// Scrapes the page, and returns the body.
fn scrape(address: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(
        socket,
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert_eq!(
        head.starts_with("HTTP/1.1 200"),
        path == "/metrics",
        "{head}"
    );
    body.to_owned()
}

/// Returns the series in alphabetical order, without comments, buckets and sums. Traffic, which
/// varies, is masked.
fn masked(page: &str) -> String {
    let lines = page.lines();
    let is_left_out = |line: &str| {
        line.is_empty()
            || line.starts_with('#')
            || line.contains("_bucket{")
            || line.contains("_sum{")
    };
    let mut lines: Vec<_> = lines
        .filter(|line| !is_left_out(line))
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let traffic = ["tls_bytes_total{", "tls_records_total{"];
            let varies = traffic.iter().any(|name| series.starts_with(name));
            format!("{series} {}\n", if varies { "…" } else { value })
        })
        .collect();
    lines.sort_unstable();
    lines.concat()
}

/// If this fails although the numbers are right, copy the printed page to the chapter.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_matches_the_manual() {
    let (mut provider, key_type) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
    // independent of the enabled features
    provider
        .kx_groups
        .retain(|group| group.name() == NamedGroup::X25519);
    let versions = Versions::Both;
    let mut server = this::server_of(versions, provider.clone(), key_type, ClientAuth::None);
    server.alpn_protocols.clear();
    server.send_tls13_tickets = 1;
    let pages = observe(&mut server).unwrap();
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = listen(local).await.unwrap();
    let address = listener.local_addr().unwrap();
    let scrapes = listen(local).await.unwrap();
    let metrics = scrapes.local_addr().unwrap();
    tokio::spawn(serve_metrics(scrapes, pages));
    tokio::spawn(serve(listener, server));

    let page = tokio::task::spawn_blocking(move || {
        let client = |key_type| {
            let auth = ClientAuth::None;
            let mut client = this::client_of(versions, provider.clone(), key_type, auth);
            client.alpn_protocols.clear();
            Arc::new(client)
        };
        // a full handshake, and one that resumes its session
        let trusting = client(key_type);
        for _ in 0..2 {
            assert!(get(&trusting, address).unwrap().ends_with("hello\n"));
        }
        // a client that does not trust the server
        get(&client(KeyType::EcdsaP384), address).unwrap_err();

        scrape(metrics, "/");
        // connections are dropped soon after their clients have left
        loop {
            let page = scrape(metrics, "/metrics");
            if page.contains("tls_connections_open{side=\"server\"} 0\n") {
                break page;
            }
            std::thread::yield_now();
        }
    })
    .await
    .unwrap();

    let page = masked(&page);
    assert!(
        CHAPTER.contains(&format!("```text\n{page}```\n")),
        "\n{page}"
    );
}
