//! Tests of early data received by our server.

mod accepted;
mod end;
mod limits;
mod rejected;
mod splits;
mod unbuffered;

use std::sync::Arc;

use harness::peers::configs::{self, Provider};
use harness::peers::endpoints::Endpoint;
use harness::peers::servers::{KEY_TYPE, Server, Settings, hello};
use harness::scripted::{OfferedPsk, ScriptedClient};
use rustls::ContentType;

const MAX: u32 = 1000;

/// Returns settings that allow early data.
fn settings(provider: Provider) -> Settings {
    Settings::new(provider).edit(|it| it.max_early_data_size = MAX)
}

/// Creates a client of this crate, which sends early data if it can.
fn this_client(settings: &Settings) -> Arc<rustls::ClientConfig> {
    let provider = settings.provider.this();
    let mut config = configs::this::client(provider, KEY_TYPE, settings.auth);
    config.enable_early_data = true;
    Arc::new(config)
}

/// Creates a client of upstream, which sends early data if it can.
fn upstream_client(settings: &Settings) -> Arc<rustls_upstream::ClientConfig> {
    let provider = settings.provider.upstream();
    let mut config = configs::upstream::client(provider, KEY_TYPE, settings.auth);
    config.enable_early_data = true;
    Arc::new(config)
}

/// Creates an offer of early data with a session of `server`.
fn offer(settings: &Settings, server: &Server) -> OfferedPsk {
    server.tickets(settings).remove(0).offer_early(0)
}

/// Sends `data` under the current key.
#[track_caller]
fn send(client: &mut ScriptedClient, data: &[u8]) {
    let sent = client.send_raw(ContentType::ApplicationData, data);
    sent.unwrap_or_else(|refused| panic!("{refused:?}"));
}

/// Creates a client whose early data is accepted.
fn accepted(settings: &Settings, server: &Server) -> ScriptedClient {
    let offer = offer(settings, server);
    let client = server.connect(settings, hello(), Some(&offer)).unwrap();
    assert!(client.is_resumed && client.early_data_accepted());
    client
}

/// Creates a client whose session is resumed, but whose early data is rejected.
fn rejected(settings: &Settings, server: &Server) -> ScriptedClient {
    let mut offer = offer(settings, server);
    // RFC 9846 §4.3.10: only the first session counts
    offer.identities.insert(0, (b"another".to_vec(), 0));
    let client = server.connect(settings, hello(), Some(&offer)).unwrap();
    assert!(client.is_resumed && !client.early_data_accepted());
    client
}

fn early_data(server: &mut dyn Endpoint) -> Vec<u8> {
    let mut plaintext = Vec::new();
    server.read_early_into(&mut plaintext);
    plaintext
}

/// Sends an EndOfEarlyData if early data was accepted.
fn end_or_start(client: &mut ScriptedClient, is_accepted: bool) {
    match is_accepted {
        true => client.end_early_data().unwrap(),
        false => client.start_handshake(),
    }
}

/// Finishes the handshake and checks data in both directions.
fn finish(client: &mut ScriptedClient) {
    client.finish().unwrap();
    assert!(!client.server.is_handshaking());
    send(client, b"later");
    assert_eq!(client.received_by_server(), b"later");
    client.server.send(b"back");
    client.receive_output();
    assert_eq!(client.plaintext, b"back");
}
