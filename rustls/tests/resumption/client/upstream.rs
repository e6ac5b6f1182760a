//! Our client and the server of rustls 0.23.

use std::sync::Arc;

use harness::configs::{self, ClientAuth, KeyType, PROVIDERS, Provider, server_name};
use harness::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, handshake, talk_and_close,
};
use rustls::ClientConfig;

type ServerConfig = rustls_upstream::ServerConfig;

const KEY_TYPE: KeyType = KeyType::Ed25519;

fn client_config(provider: Provider) -> ClientConfig {
    configs::this::client(provider.this(), KEY_TYPE, ClientAuth::None)
}

fn server_config(provider: Provider) -> ServerConfig {
    configs::upstream::server(provider.upstream(), KEY_TYPE, ClientAuth::None)
}

fn buffered(config: &Arc<ClientConfig>) -> Box<dyn Endpoint> {
    let conn = rustls::ClientConnection::new(config.clone(), server_name());
    Box::new(ThisBuffered::new(conn.unwrap()))
}

fn unbuffered(config: &Arc<ClientConfig>) -> Box<dyn Endpoint> {
    let conn = rustls::client::UnbufferedClientConnection::new(config.clone(), server_name());
    Box::new(ThisUnbuffered::new(conn.unwrap()))
}

type NewClient = fn(&Arc<ClientConfig>) -> Box<dyn Endpoint>;

const APIS: [NewClient; 2] = [buffered, unbuffered];

fn server(config: &Arc<ServerConfig>) -> UpstreamBuffered {
    UpstreamBuffered::new(rustls_upstream::ServerConnection::new(config.clone()).unwrap())
}

#[test]
fn sessions_are_resumed_again_and_again() {
    for provider in PROVIDERS {
        for new in APIS {
            let client_config = Arc::new(client_config(provider));
            let server_config = Arc::new(server_config(provider));
            for kind in ["Full", "Resumed", "Resumed", "Resumed"] {
                let mut client = new(&client_config);
                let mut server = server(&server_config);
                handshake(&mut *client, &mut server);
                assert!(
                    client.negotiated().ends_with(&format!("Some({kind})")),
                    "{}",
                    client.negotiated()
                );
                assert_eq!(client.peer_certificates().len(), 1);
                talk_and_close(&mut *client, &mut server);
            }
        }
    }
}
