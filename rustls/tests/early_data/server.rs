//! Early data received by our server.

mod accepted;
mod end;
mod limits;
mod peers;
mod rejected;
mod splits;
mod unbuffered;

use harness::peers::configs::Provider;
use harness::peers::endpoints::Endpoint;
use harness::peers::servers::{Server, Settings, hello};
use harness::scripted::ScriptedClient;
use rustls::ContentType;

const MAX: u32 = 1000;

/// Settings that allow early data.
fn settings(provider: Provider) -> Settings {
    Settings {
        max_early_data_size: MAX,
        ..Settings::new(provider)
    }
}

/// A client whose early data is accepted.
fn accepted(settings: &Settings, server: &Server) -> ScriptedClient {
    let offer = server.tickets(settings).remove(0).offer_early(0);
    let client = server.connect(settings, hello(), Some(&offer)).unwrap();
    assert!(client.is_resumed && client.early_data_accepted());
    client
}

/// A client that offers early data but must not send any, under the handshake key.
fn rejected(settings: &Settings, server: &Server) -> ScriptedClient {
    let mut offer = server.tickets(settings).remove(0).offer_early(0);
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

/// Finishes the handshake and checks data in both directions.
fn finish(client: &mut ScriptedClient) {
    client.finish().unwrap();
    assert!(!client.server.is_handshaking());
    client
        .send_raw(ContentType::ApplicationData, b"later")
        .unwrap();
    assert_eq!(client.received_by_server(), b"later");
    client.server.send(b"back");
    client.receive_output();
    assert_eq!(client.plaintext, b"back");
}
