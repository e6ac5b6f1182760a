//! Tests of the server with scripted clients and with upstream's client. It behaves like upstream's
//! server, except where a test states otherwise.

mod hello;
mod order;
pub(crate) mod resumption;
mod tampering;

use harness::peers::configs::{KeyType, PROVIDERS, product};
use harness::peers::servers::Settings;
use harness::scripted::Refused;
use harness::scripted::tls12::client::ScriptedClient;

/// Returns settings with stored sessions and with tickets, for each provider.
pub(crate) fn all_settings() -> impl Iterator<Item = Settings> {
    let of = |(provider, sealed)| Settings::tls12(provider).edit(|it| it.sealed = sealed);
    product(PROVIDERS, [false, true]).map(of)
}

/// Sends the flight of a client with the certificate of `key_type`, signed with `scheme`.
pub(crate) fn authenticate(client: &mut ScriptedClient, key_type: KeyType, scheme: u16) {
    send_flight(client, key_type, scheme, &mut |_, _| ()).unwrap();
}

/// Sends the same flight, with a change to each message; the first argument is the message's index.
pub(crate) fn send_flight(
    client: &mut ScriptedClient,
    key_type: KeyType,
    scheme: u16,
    change: &mut dyn FnMut(usize, &mut Vec<u8>),
) -> Result<(), Refused> {
    let identity = &key_type.identities().client;
    let key = rustls::crypto::ring::sign::any_supported_type(&identity.key()).unwrap();
    let mut send = |client: &mut ScriptedClient, index, mut message: Vec<u8>| {
        change(index, &mut message);
        client.send(&message)
    };
    send(
        client,
        0,
        ScriptedClient::certificate(&[&*identity.chain[0]]),
    )?;
    let message = client.key_exchange();
    send(client, 1, message)?;
    let message = client.certificate_verify(&*key, scheme);
    send(client, 2, message)?;
    client.change_cipher_spec()?;
    let message = client.finished();
    send(client, 3, message)
}
