//! Runs the server, connects clients, and scrapes its page over HTTP. The manual shows the page.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, Provider, Versions, server_name, this};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::*;

/// The chapter that shows the page.
const CHAPTER: &str = include_str!("../../../rustls/manual/observers.md");

/// Sends a request for `path`, and returns the response.
fn request(stream: &mut (impl Read + Write), path: &str) -> io::Result<String> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    io::read_to_string(stream)
}

/// Sends a request over HTTPS, and returns the response.
fn get(config: &Arc<ClientConfig>, address: SocketAddr) -> io::Result<String> {
    let conn = ClientConnection::new(config.clone(), server_name()).unwrap();
    let mut stream = StreamOwned::new(conn, TcpStream::connect(address)?);
    let response = request(&mut stream, "/")?;
    // the server's task ends, and reports the end, once the client has closed its side
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(response)
}

/// Scrapes the page, and returns the body.
fn scrape(address: SocketAddr, path: &str) -> String {
    let response = request(&mut TcpStream::connect(address).unwrap(), path).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let is_found = head.starts_with("HTTP/1.1 200");
    assert_eq!(is_found, path == "/metrics", "{head}");
    body.to_owned()
}

/// Returns the series in alphabetical order, without comments, buckets and sums. Traffic, which
/// varies, is masked.
fn masked(page: &str) -> String {
    let has = |line: &str, parts: &[&str]| parts.iter().any(|part| line.contains(part));
    let series = page.lines().filter(|line| !line.is_empty());
    let series = series.filter(|line| !has(line, &["# ", "_bucket{", "_sum{"]));
    let masked = series.map(|line| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let varies = has(series, &["tls_bytes_total{", "tls_records_total{"]);
        format!("{series} {}\n", if varies { "…" } else { value })
    });
    let mut lines: Vec<_> = masked.collect();
    lines.sort_unstable();
    lines.concat()
}

/// If this fails although the numbers are right, copy the printed page to the chapter.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_matches_the_manual() {
    let (versions, key_type) = (Versions::Both, KeyType::EcdsaP256);
    // independent of the enabled features
    let provider = this::with_few_groups(Provider::AwsLc.this());
    let mut server = this::server_of(versions, provider.clone(), key_type, ClientAuth::None);
    server.alpn_protocols.clear();
    server.send_tls13_tickets = 1;
    let pages = observe(&mut server).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let scrapes = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let metrics = scrapes.local_addr().unwrap();
    tokio::spawn(serve_metrics(scrapes, pages));
    tokio::spawn(serve(listener, server));

    let page = tokio::task::block_in_place(|| {
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
    });

    let page = masked(&page);
    let shown = format!("```text\n{page}```\n");
    assert!(CHAPTER.contains(&shown), "\n{page}");
}
