//! Compressed certificates: any bytes as one, and any bytes compressed.

use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::compress::{
    BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR, CertCompressor, CertDecompressor, CompressionLevel,
    ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR, default_cert_decompressors,
};
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConfig, ClientConnection, ContentType, ServerConfig, ServerConnection};

use super::records::first_record_len;
use super::scenes::{Scene, Staged};
use super::{INPUT_LIMIT, check};
use crate::configs::{self, ClientAuth, KeyType, server_name};
use crate::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered};
use crate::transparent::{TAG, this};
use crate::wire::{message, record, vector};

/// The first byte chooses who receives it (bit 0) and the algorithm (bit 1), the next two are the length to
/// declare; the rest is what was compressed.
pub(crate) fn compressed(input: &[u8]) {
    let &[choice, high, low, ref bytes @ ..] = input else {
        return;
    };
    let bytes = &bytes[..Ord::min(bytes.len(), INPUT_LIMIT)];
    let (compressor, decompressor) = if choice & 2 == 0 {
        (ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR)
    } else {
        (BROTLI_COMPRESSOR, BROTLI_DECOMPRESSOR)
    };
    let declared = usize::from(u16::from_be_bytes([high, low]));
    let mut output = vec![0; declared];
    if decompressor.decompress(bytes, &mut output).is_ok() {
        round_trip(&output, compressor, decompressor);
    }
    round_trip(bytes, compressor, decompressor);

    let algorithm = u16::from(decompressor.algorithm()).to_be_bytes();
    let body = [&algorithm[..], &[0, high, low], &vector(3, bytes)].concat();
    let compressed = message(25, &body);
    let scene = &SCENES[usize::from(choice & 1)];
    let (_, before) = (scene.buffered)();
    check(scene, &protected(&[before, compressed].concat()), 7);
}

fn round_trip(bytes: &[u8], compressor: &dyn CertCompressor, decompressor: &dyn CertDecompressor) {
    let compressed = compressor.compress(bytes.to_vec(), CompressionLevel::Interactive);
    let mut again = vec![0; bytes.len()];
    decompressor
        .decompress(&compressed.unwrap(), &mut again)
        .unwrap();
    assert!(again == bytes);
}

/// Handshake messages in a record, as the transparent provider protects it.
fn protected(messages: &[u8]) -> Vec<u8> {
    let inner = [messages, &[ContentType::Handshake.into()], &TAG].concat();
    record(ContentType::ApplicationData.into(), &inner)
}

/// Each with the messages that come before.
const SCENES: [Scene; 2] = [
    Scene {
        buffered: || {
            client(|config| {
                let conn = ClientConnection::new(config, server_name()).unwrap();
                Box::new(ThisBuffered::new(conn))
            })
        },
        unbuffered: || {
            client(|config| {
                let conn = UnbufferedClientConnection::new(config, server_name()).unwrap();
                Box::new(ThisUnbuffered::new(conn))
            })
        },
    },
    Scene {
        buffered: || {
            server(|config| Box::new(ThisBuffered::new(ServerConnection::new(config).unwrap())))
        },
        unbuffered: || {
            server(|config| {
                let conn = UnbufferedServerConnection::new(config).unwrap();
                Box::new(ThisUnbuffered::new(conn))
            })
        },
    },
];

fn client_config(auth: ClientAuth) -> Arc<ClientConfig> {
    let mut config = configs::this::client(this::provider(), KeyType::Ed25519, auth);
    config.cert_decompressors = default_cert_decompressors().to_vec();
    Arc::new(config)
}

fn server_config(auth: ClientAuth) -> Arc<ServerConfig> {
    let mut config = configs::this::server(this::provider(), KeyType::Ed25519, auth);
    config.cert_decompressors = default_cert_decompressors().to_vec();
    Arc::new(config)
}

/// A client that waits for EncryptedExtensions, and these.
fn client(new: fn(Arc<ClientConfig>) -> Box<dyn Endpoint>) -> Staged {
    let auth = ClientAuth::None;
    let mut client = new(client_config(auth));
    let mut server = ThisBuffered::new(ServerConnection::new(server_config(auth)).unwrap());
    server.receive(&client.take_output()).unwrap();
    let mut flight = server.take_output();
    let rest = flight.split_off(first_record_len(&flight));
    client.receive(&flight).unwrap();

    // a change_cipher_spec lies between, or does not
    let start = match ContentType::from(rest[0]) {
        ContentType::ChangeCipherSpec => first_record_len(&rest),
        _ => 0,
    };
    let messages = &rest[start + 5..];
    let len = u32::from_be_bytes([0, messages[1], messages[2], messages[3]]);
    (client, messages[..4 + len as usize].to_vec())
}

/// A server that waits for a Certificate.
fn server(new: fn(Arc<ServerConfig>) -> Box<dyn Endpoint>) -> Staged {
    let auth = ClientAuth::Required;
    let mut server = new(server_config(auth));
    let client = ClientConnection::new(client_config(auth), server_name()).unwrap();
    server
        .receive(&ThisBuffered::new(client).take_output())
        .unwrap();
    server.take_output();
    (server, Vec::new())
}
