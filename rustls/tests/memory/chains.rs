//! Tests of the memory for a client's certificates: while they wait for the client's signature, and
//! in sessions.
//!
//! A chain in memory takes 24 bytes for each certificate in addition to its content, so the worst
//! case is many short certificates.

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, this, upstream,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, UpstreamBuffered};
use harness::peers::pairs::this::Configs;
use harness::scripted::tls12::client::ScriptedClient as Tls12Client;
use harness::scripted::{Refused, ScriptedClient};
use harness::wire::client_hello::ClientHello;
use harness::wire::{message, vector};
use rustls::compress::{CompressionLevel, ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR};
use rustls::pki_types::CertificateDer;
use rustls::server::ServerSessionMemoryCache;
use rustls::{HandshakeKind, HandshakeType};

use crate::counting::{heap, held_by};

/// The message that carries a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Tls12,
    Tls13,
    Compressed,
}

/// The most memory that [`VerifiedChains`](rustls::certificates::VerifiedChains) uses for a chain,
/// and the number of bytes that it counts for a certificate in addition to its content.
const KNOWN_LEN: usize = 16 * 1024;
const OVERHEAD: usize = 64;

/// Nearly the limit for a list of certificates, including their headers.
const LIST_LEN: usize = 0xff00;

/// A chain that may be known waits in its encoded form. A longer one is verified when it arrives,
/// as in 0.23, and rejected with the same error and alert.
pub(crate) fn waiting() {
    let forms = [Form::Tls12, Form::Tls13, Form::Compressed];
    for (provider, form) in product(PROVIDERS, forms) {
        let (idle, _) = after(ours(provider, form), provider, form, &[]);
        for len in [
            1, 2, 3, 10, 30, 64, 100, 300, 1000, 3000, 10_000, 16_320, 60_000,
        ] {
            let of_entry = 3 + if form == Form::Tls12 { 0 } else { 2 };
            let most = LIST_LEN / (len + of_entry);
            let known = KNOWN_LEN / (len + OVERHEAD);
            for count in [1, known, known + 1, most / 2, most] {
                if !(1..=most).contains(&count) {
                    continue;
                }
                let chain = vec![&[0x30; 60_000][..len]; count];
                let sent = certificate(form, &chain);
                let (held, result) = after(ours(provider, form), provider, form, &sent);
                let besides = held.saturating_sub(idle);
                let case = format!("{provider:?}, {form:?}, {count} of {len}: {besides} bytes");
                if count <= known {
                    assert_eq!(result, Ok(()), "{case}");
                    // TLS 1.2 keeps all messages for the signature
                    let messages = if form == Form::Tls12 { sent.len() } else { 0 };
                    assert!(besides <= count * (3 + len) + 2 * messages + 300, "{case}");
                    continue;
                }
                assert!(besides <= 300, "{case}");
                let (_, theirs) = after(theirs(provider, form), provider, form, &sent);
                assert_eq!(result, theirs, "{case}");
                result.unwrap_err();
            }
        }
    }
}

fn ours(provider: Provider, form: Form) -> Box<dyn Endpoint> {
    let auth = ClientAuth::Required;
    let mut config = this::server_of(form.versions(), provider.this(), KeyType::EcdsaP256, auth);
    config.cert_decompressors = vec![ZLIB_DECOMPRESSOR];
    Box::new(ThisBuffered::server(config))
}

fn theirs(provider: Provider, form: Form) -> Box<dyn Endpoint> {
    let auth = ClientAuth::Required;
    let provider = provider.upstream();
    let mut config = upstream::server_of(form.versions(), provider, KeyType::EcdsaP256, auth);
    config.cert_decompressors = vec![rustls_upstream::compress::ZLIB_DECOMPRESSOR];
    Box::new(UpstreamBuffered::server(config))
}

impl Form {
    fn versions(self) -> Versions {
        match self {
            Self::Tls12 => Versions::Tls12,
            Self::Tls13 | Self::Compressed => Versions::Tls13,
        }
    }
}

/// Encodes the message for `chain`.
fn certificate(form: Form, chain: &[&[u8]]) -> Vec<u8> {
    let plain = match form {
        Form::Tls12 => return Tls12Client::certificate(chain),
        Form::Tls13 | Form::Compressed => ScriptedClient::certificate(&[], chain, &[]),
    };
    if form == Form::Tls13 {
        return plain;
    }
    const ZLIB: [u8; 2] = [0, 1];
    let body = &plain[4..];
    let compressed = ZLIB_COMPRESSOR
        .compress(body.to_vec(), CompressionLevel::Interactive)
        .unwrap();
    let compressed = [&ZLIB[..], &plain[1..4], &vector(3, &compressed)].concat();
    message(HandshakeType::CompressedCertificate.into(), &compressed)
}

/// Returns the heap bytes that `server` holds after it has received `sent` in response to its
/// flight, and the result.
fn after(
    server: Box<dyn Endpoint>,
    provider: Provider,
    form: Form,
    sent: &[u8],
) -> (usize, Result<(), Refused>) {
    let crypto = provider.this();
    macro_rules! answer {
        ($client:expr) => {{
            let mut client = $client;
            let result = match sent {
                [] => Ok(()),
                sent => client.send(sent),
            };
            let before = heap();
            drop(client.server);
            (before - heap(), result)
        }};
    }
    match form {
        Form::Tls12 => {
            answer!(Tls12Client::new(server, &crypto, &ClientHello::tls12(), None).unwrap())
        }
        Form::Tls13 | Form::Compressed => {
            answer!(ScriptedClient::new(server, &crypto, ClientHello::new()))
        }
    }
}

/// A session in memory holds the certificates in the shorter form: shared with others for real
/// chains, encoded for thousands of short entries.
pub(crate) fn stored() {
    const ENTRIES: usize = 9_500;
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        for (len, most) in [(1, 5 * ENTRIES), (20, 24 * 2500)] {
            let junk = CertificateDer::from(vec![0x30; len]);
            let entries = ENTRIES.min(60_000 / (len + 4));
            let auth = ClientAuth::Required;
            let key_type = KeyType::EcdsaP256;
            let mut server = this::server_of(versions, provider.this(), key_type, auth);
            server.send_tls13_tickets = 1;
            server.session_storage = ServerSessionMemoryCache::new(4);
            let identity = &key_type.identities().client;
            let mut chain = identity.chain.clone();
            chain.resize(1 + entries, junk);
            let client = crate::client_with(provider, versions, chain.clone(), identity.key());
            let configs = Configs {
                client: client.into(),
                server: server.into(),
            };
            for is_resumed in [false, true] {
                let (mut client, mut server) = configs.ends().unwrap();
                crate::connect(&mut client, &mut server);
                let resumed = server.handshake_kind() == Some(HandshakeKind::Resumed);
                assert_eq!(resumed, is_resumed);
                assert_eq!(server.peer_certificates().unwrap(), &chain);
            }
            let storage = configs.server.session_storage.clone();
            drop(configs);
            let held = held_by(storage);
            assert!(held <= most, "{provider:?}, {versions:?}, {len}: {held}");
        }
    }
}
