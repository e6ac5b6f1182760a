//! The order of events, for handshakes that succeed.

use harness::peers::configs::{ClientAuth, KeyType, Provider, this as configs};
use harness::peers::endpoints::{ThisBuffered, exchange, handshake};

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
