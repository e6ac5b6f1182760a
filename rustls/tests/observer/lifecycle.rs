//! The order of events, for handshakes that succeed.

use std::io::Write;
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, product, this as configs};
use harness::peers::endpoints::{ThisBuffered, exchange, handshake};
use harness::providers::provider_with_limit;
use harness::providers::tickets::this::Tickets;

use super::kit::Lines;

#[test]
fn each_connection_reports_begin_finish_and_close_once() {
    let (of_client, of_server) = (Lines::new(), Lines::new());
    let provider = || configs::provider_of(Provider::AwsLc, 0x1301_u16);
    let mut client = configs::client(provider(), KeyType::EcdsaP256, ClientAuth::None);
    let mut server = configs::server(provider(), KeyType::EcdsaP256, ClientAuth::None);
    client.observer = Some(of_client.clone());
    server.observer = Some(of_server.clone());
    let mut client = ThisBuffered::client(client);
    assert_eq!(
        of_client.take(),
        [r#"begun Client records Some("server.example")"#]
    );
    let mut server = ThisBuffered::server(server);
    assert!(of_server.take().is_empty());
    handshake(&mut client, &mut server);
    exchange(&mut client, &mut server).unwrap();
    drop((client, server));
    let ticket = ["ticket received ", "session stored true"];
    assert_eq!(
        of_client.take(),
        [
            &["finished Full"],
            &ticket[..],
            &ticket[..],
            &["closed dropped"]
        ]
        .concat()
    );
    assert_eq!(
        of_server.take(),
        [
            r#"begun Server records Some("server.example")"#,
            "finished Full",
            "ticket made ",
            "ticket made ",
            "session stored true",
            "session stored true",
            "closed dropped",
        ]
    );
}

/// Half-RTT data or earlier tickets may leave the key no records for tickets.
#[test]
fn only_tickets_that_are_sent_are_reported() {
    let cases = [(0, 100, 8), (0, 10_000, 3), (40_000, 100, 0)];
    for (provider, (half_rtt, ticket_len, expected)) in product(PROVIDERS, cases) {
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let lines = Lines::new();
        let mut server = configs::server(provider_with_limit(provider, 4), key, auth);
        server.send_half_rtt_data = true;
        server.send_tls13_tickets = 8;
        server.ticketer = Arc::new(Tickets::of_len(ticket_len));
        server.observer = Some(lines.clone());
        let mut client = ThisBuffered::client(configs::client(provider.this(), key, auth));
        let mut server = ThisBuffered::server(server);
        server.conn.writer().write_all(&vec![7; half_rtt]).unwrap();
        handshake(&mut client, &mut server);
        exchange(&mut client, &mut server).unwrap();
        let received = client.as_client().tls13_tickets_received();
        let lines = lines.take();
        let made = lines.iter().filter(|line| *line == "ticket made ").count();
        assert_eq!((made, received), (expected, expected as u32));
    }
}
