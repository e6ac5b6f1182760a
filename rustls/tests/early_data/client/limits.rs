//! Early data never exceeds the ticket's limit, not even by a byte.

use std::io::{ErrorKind, Write};
use std::sync::Arc;

use harness::peers::configs::{
    self, ClientAuth, KeyType, PROVIDERS, Provider, product, server_name,
};
use harness::peers::endpoints::{Endpoint, ThisBuffered, Transfer, exchange, send_and_check};
use harness::providers::provider_with_limit;
use rustls::ClientConnection;
use rustls::client::{EarlyDataError, UnbufferedClientConnection};
use rustls::unbuffered::EncryptError;

use super::clients::{LIMIT, encode, prime, primed, read_early, server, server_config};

const LIMITS: [u32; 5] = [1, 100, 16_384, 16_385, LIMIT];

/// A write accepts bytes up to the limit, and a later one none, for which `write_all` fails.
#[test]
fn writes_stop_at_the_early_data_limit() {
    for (provider, limit) in product(PROVIDERS, LIMITS) {
        let (client_config, server_config) = primed(provider, limit);
        let limit = limit as usize;
        let mut conn = ClientConnection::new(client_config, server_name()).unwrap();
        let mut writer = conn.early_data().unwrap();
        assert_eq!(writer.bytes_left(), limit);
        assert_eq!(writer.write(&[1; 1]).unwrap(), 1);
        assert_eq!(writer.bytes_left(), limit - 1);
        let too_much = vec![1; limit];
        assert_eq!(writer.write(&too_much).unwrap(), limit - 1);
        assert_eq!(writer.bytes_left(), 0);
        assert_eq!(writer.write(&[1]).unwrap(), 0);
        let error = writer.write_all(&[1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
        // the writer still exists but accepts nothing
        assert_eq!(conn.early_data().unwrap().bytes_left(), 0);

        let mut server = server(&server_config);
        let mut client = ThisBuffered::new(conn);
        server.receive(&client.take_output()).unwrap();
        assert_eq!(read_early(&mut server).unwrap(), vec![1; limit]);
        exchange(&mut client, &mut server).unwrap();
    }
}

/// The buffer limit applies as well; sending makes room.
#[test]
fn writes_stop_at_the_buffer_limit() {
    let (client_config, server_config) = primed(Provider::AwsLc, LIMIT);
    let mut conn = ClientConnection::new(client_config, server_name()).unwrap();
    conn.set_buffer_limit(Some(4_000));
    let early = vec![3; 10_000];
    let written = conn.early_data().unwrap().write(&early).unwrap();
    assert!((1..4_000).contains(&written), "{written}");
    assert_eq!(conn.early_data().unwrap().write(&early).unwrap(), 0);
    let left = conn.early_data().unwrap().bytes_left();
    assert_eq!(left, LIMIT as usize - written);

    let mut server = server(&server_config);
    let mut received = Vec::new();
    let mut sent = written;
    loop {
        let wire = conn.output();
        if wire.is_empty() {
            break;
        }
        server.receive(&wire).unwrap();
        received.extend(read_early(&mut server).unwrap());
        sent += conn.early_data().unwrap().write(&early[sent..]).unwrap();
    }
    assert_eq!(received, early);
}

/// Early data beyond the limit is rejected as a whole and never truncated.
#[test]
fn unbuffered_clients_refuse_data_beyond_the_limit() {
    for (provider, limit) in product(PROVIDERS, LIMITS) {
        let (client_config, server_config) = primed(provider, limit);
        let limit = limit as usize;
        let mut conn = UnbufferedClientConnection::new(client_config, server_name()).unwrap();
        let (mut wire, mut state) = encode(&mut conn);
        let early = vec![9; limit + 1];
        let mut out = vec![0; 2 * limit + 1000];
        let mut encrypter = state.may_encrypt_early_data().unwrap();
        assert_eq!(encrypter.bytes_left(), limit);
        let exceeds = |result| matches!(result, Err(EarlyDataError::ExceededAllowedEarlyData));
        for _ in 0..2 {
            assert!(exceeds(encrypter.encrypt(&early, &mut out)));
            assert_eq!(encrypter.bytes_left(), limit);
            let mut vec = b"before".to_vec();
            assert!(exceeds(encrypter.encrypt_to_vec(&early, &mut vec, 6)));
            assert_eq!(vec, b"before");
        }
        // an output buffer that is too short does not use up any of the limit
        assert!(matches!(
            encrypter.encrypt(&early[..limit], &mut out[..limit]),
            Err(EarlyDataError::Encrypt(EncryptError::InsufficientSize(_)))
        ));
        let used = encrypter.encrypt(&early[..limit], &mut out).unwrap();
        wire.extend_from_slice(&out[..used]);
        assert_eq!(encrypter.bytes_left(), 0);
        assert!(exceeds(encrypter.encrypt(&[1], &mut out)));
        assert_eq!(encrypter.encrypt(&[], &mut out).unwrap(), 0);
        state.done();

        let mut server = server(&server_config);
        server.receive(&wire).unwrap();
        assert_eq!(read_early(&mut server).unwrap(), &early[..limit]);
    }
}

/// RFC 9846 §5.5: early data ends when its key reaches its limit. EndOfEarlyData is the last
/// message under that key.
#[test]
fn writes_stop_at_the_limit_of_the_key() {
    const RECORDS: usize = 5;
    for provider in PROVIDERS {
        let crypto = provider_with_limit(provider, 6);
        let mut config = configs::this::client(crypto, KeyType::Ed25519, ClientAuth::None);
        config.enable_early_data = true;
        let config = Arc::new(config);
        let server_config = Arc::new(server_config(provider));
        prime(&config, &server_config);
        let mut conn = ClientConnection::new(config.clone(), server_name()).unwrap();
        for written in 0..RECORDS {
            let before = conn.early_data().unwrap().bytes_left();
            assert_eq!(before, LIMIT as usize - written);
            assert_eq!(conn.early_data().unwrap().write(b"x").unwrap(), 1);
        }
        assert_eq!(conn.early_data().unwrap().write(b"x").unwrap(), 0);
        let mut server = server(&server_config);
        let mut client = ThisBuffered::new(conn);
        server.receive(&client.take_output()).unwrap();
        assert_eq!(read_early(&mut server).unwrap(), b"xxxxx");
        exchange(&mut client, &mut server).unwrap();
        send_and_check(&mut client, &mut server, &[3; 100_000]);

        prime(&config, &server_config);
        let mut conn = UnbufferedClientConnection::new(config, server_name()).unwrap();
        let (_, mut state) = encode(&mut conn);
        let mut encrypter = state.may_encrypt_early_data().unwrap();
        let mut out = vec![0; 100];
        for _ in 0..RECORDS {
            encrypter.encrypt(b"x", &mut out).unwrap();
        }
        assert!(matches!(
            encrypter.encrypt(b"x", &mut out),
            Err(EarlyDataError::Encrypt(EncryptError::EncryptExhausted))
        ));
        state.done();
    }
}
