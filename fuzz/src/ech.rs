//! Bytes from a server or the DNS about Encrypted Client Hello.

use std::sync::{Arc, OnceLock};

use harness::peers::configs::Provider;
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use harness::scripted::ech::{ENCRYPTED_CLIENT_HELLO, Ech, EchKey, read_extension};
use harness::scripted::{Identity, Outcome, Script, bytes};
use harness::wire::client_hello::ClientHello;
use harness::wire::plain_messages;
use rustls::client::{EchConfig, EchConfigPayload, EchMode, EchStatus};
use rustls::{ClientConfig, ClientConnection, Error, PeerIncompatible, RootCertStore};
use rustls_core::codec::Reader;
use rustls_provider_aws_lc::hpke::ALL_SUPPORTED_SUITES;

/// The name in the only certificate.
const NAME: &str = "localhost";

/// The parts shared by all connections.
struct Fixed {
    identity: Identity,
    key: EchKey,
    config: Arc<ClientConfig>,
}

fn fixed() -> &'static Fixed {
    static FIXED: OnceLock<Fixed> = OnceLock::new();
    FIXED.get_or_init(|| {
        let identity = Identity::new(Provider::AwsLc.this());
        let key = EchKey::new(7, NAME, (0x20, 1, 1));
        let ech = EchConfig::new(key.config.list().into(), ALL_SUPPORTED_SUITES).unwrap();
        let config = Arc::new(client_config(&identity, ech));
        Fixed {
            identity,
            key,
            config,
        }
    })
}

fn client_config(identity: &Identity, ech: EchConfig) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(identity.certificate.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(Provider::AwsLc.this()))
        .with_ech(EchMode::Enable(ech))
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    // do not resume: one input must not affect another
    config.resumption = rustls::client::Resumption::disabled();
    config
}

/// The first byte chooses the kind of the rest.
pub fn ech(input: &[u8]) {
    let &[what, ref bytes @ ..] = input else {
        return;
    };
    let key = &fixed().key;
    match what % 8 {
        1 => retry_configs(bytes),
        2 => confirmation(bytes),
        3 => changes(with_retry(), Ech::accepting(key), bytes),
        4 => changes(Script::new(), Ech::accepting(key), bytes),
        5 => changes(with_retry(), Ech::rejecting(key), bytes),
        6 => changes(Script::new(), Ech::rejecting(key), bytes),
        _ => list(bytes),
    }
}

/// Fuzzes an ECHConfigList. A list that can be read is re-encoded unchanged; a usable one makes a
/// ClientHello.
fn list(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let read = EchConfigPayload::read_list(&mut reader);
    let is_all = !reader.any_left();
    if let (Ok(list), true) = (&read, is_all) {
        assert_eq!(encoded(list), bytes);
    }
    let Ok(ech) = EchConfig::new(bytes.to_vec().into(), ALL_SUPPORTED_SUITES) else {
        return;
    };
    assert!(read.is_ok() && is_all);
    let config = Arc::new(client_config(&fixed().identity, ech));
    // some keys are invalid
    let Ok(client) = ClientConnection::new(config, NAME.try_into().unwrap()) else {
        return;
    };
    let output = ThisBuffered::new(client).take_output();
    let hello = ClientHello::read(&plain_messages(&output));
    read_extension(&hello).unwrap();
}

/// Fuzzes the extension in EncryptedExtensions of a server that rejects ECH.
fn retry_configs(body: &[u8]) {
    let mut script = Script::new();
    script.ech = Some(Ech::rejecting(&fixed().key));
    let extension = bytes(ENCRYPTED_CLIENT_HELLO, body);
    script.encrypted_extensions.push(extension);
    let (mut client, outcome) = run(&script);
    assert!(outcome.error.is_some());
    let error = client.conn.process_new_packets().unwrap_err();
    if let Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(configs)) =
        error
    {
        let configs = configs.unwrap();
        assert_eq!(encoded(&configs), body);
        let _ = EchConfig::for_retry(&configs, ALL_SUPPORTED_SUITES);
    }
}

/// Fuzzes the extension in a HelloRetryRequest of a server that accepts. Other lengths are errors,
/// zeros are replaced by the right value, and anything else is a rejection.
fn confirmation(body: &[u8]) {
    let mut script = Script::with_retry();
    let extension = bytes(ENCRYPTED_CLIENT_HELLO, body);
    script.retries[0].extensions.push(extension);
    script.ech = Some(Ech {
        accepts: false,
        ..Ech::accepting(&fixed().key)
    });
    let (_, outcome) = run(&script);
    assert!(outcome.error.is_some());
}

fn with_retry() -> Script {
    let mut script = Script::with_retry();
    let extension = bytes(ENCRYPTED_CLIENT_HELLO, &[0; 8]);
    script.retries[0].extensions.push(extension);
    script
}

/// Changes the server's messages: a message, a position (two bytes) and a value. A client must only
/// continue with a server that accepts.
fn changes(mut script: Script, ech: Ech, changes: &[u8]) {
    let changes = changes.to_vec();
    script.ech = Some(Ech {
        is_tampered_with: true,
        ..ech
    });
    script.corrupt = Arc::new(move |position, message| {
        for change in changes.chunks_exact(4) {
            let &[which, high, low, value] = change else {
                return;
            };
            // other targets cover the type and the length of a message
            let at = 4 + usize::from(u16::from_be_bytes([high, low])) % (message.len() - 4);
            if usize::from(which % 4) == position {
                message[at] ^= value;
            }
        }
    });
    let (mut client, outcome) = run(&script);
    if outcome.error.is_none() && !client.is_handshaking() {
        assert_eq!(client.as_client().ech_status(), EchStatus::Accepted);
    }
}

fn run(script: &Script) -> (ThisBuffered, Outcome) {
    let Fixed {
        identity, config, ..
    } = fixed();
    let mut client = ThisBuffered::client_of(NAME.try_into().unwrap(), config.clone());
    let outcome = identity.run(&mut client, script);
    (client, outcome)
}

fn encoded(list: &[EchConfigPayload]) -> Vec<u8> {
    let mut bytes = Vec::new();
    EchConfigPayload::encode_list(list, &mut bytes);
    bytes
}
