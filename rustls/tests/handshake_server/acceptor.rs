//! Tests of the acceptor, which reads a ClientHello before a configuration is chosen: its view of
//! the hello, and handshakes that equal those without it.

use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, Versions, product, product3};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, UpstreamBuffered, handshake, talk_and_close,
};
use harness::peers::servers::request_another_share;
use harness::wire::client_hello::*;
use harness::wire::{message, record, u8_vec, u16_vec, u16s};
use harness::{describe_hello, table};
use rustls::server::{Accepted, AcceptedAlert, Acceptor};
use rustls::{AlertDescription, Error, HandshakeKind, ServerConfig, ServerConnection};
use rustls_upstream as theirs;

use crate::handshake_server::servers::{PROVIDERS, Sent, Setup, ours_with, records};

/// Creates a ClientHello with all extensions that the acceptor shows.
fn full_hello() -> ClientHello {
    let authorities = [u16_vec(b"\x30\x00"), u16_vec(b"\x30\x02\x31\x00")].concat();
    ClientHello::new()
        .with(SERVER_NAME, host_name(b"Some.Example"))
        .with(ALPN, protocols(&[b"h2", b"http/1.1"]))
        .with(CLIENT_CERTIFICATE_TYPE, u8_vec(&[2, 0]))
        .with(SERVER_CERTIFICATE_TYPE, u8_vec(&[0, 2]))
        .with(CERTIFICATE_AUTHORITIES, u16_vec(&authorities))
}

/// Passes `pieces` to an acceptor and calls `accept` after each. Returns the first result other
/// than `None`.
macro_rules! accepted {
    ($lib:ident, $pieces:expr) => {{
        let mut acceptor = $lib::server::Acceptor::default();
        let mut answer = acceptor.accept();
        for piece in $pieces {
            let mut piece: &[u8] = &piece[..];
            while matches!(answer, Ok(None)) && !piece.is_empty() {
                acceptor.read_tls(&mut piece).unwrap();
                answer = acceptor.accept();
            }
        }
        answer
    }};
}

fn accept(pieces: &[&[u8]]) -> Accepted {
    accepted!(rustls, pieces)
        .map_err(|(error, _)| error)
        .unwrap()
        .expect("the ClientHello is complete")
}

/// Returns the connection of an accepted hello.
fn connection(accepted: Accepted, config: Arc<ServerConfig>) -> ServerConnection {
    let connection = accepted.into_connection(config);
    connection.map_err(|(error, _)| error).unwrap()
}

/// Returns both crates' answers, with their views as text.
fn both_described(pieces: &[&[u8]]) -> [Result<Option<String>, String>; 2] {
    let ours = accepted!(rustls, pieces);
    let upstream = accepted!(theirs, pieces);
    [
        ours.map(|accepted| accepted.map(|it| describe_hello!(it.client_hello())))
            .map_err(|(error, _)| format!("{error:?}")),
        upstream
            .map(|accepted| accepted.map(|it| describe_hello!(it.client_hello())))
            .map_err(|(error, _)| format!("{error:?}")),
    ]
}

fn written(mut alert: AcceptedAlert) -> Vec<u8> {
    let mut bytes = Vec::new();
    alert.write_all(&mut bytes).unwrap();
    bytes
}

#[test]
fn every_field_of_the_hello_is_shown() {
    let unknown = full_hello()
        .with(
            SIGNATURE_ALGORITHMS,
            u16_vec(&u16s(&[0x0401, 0x0403, 0x0999])),
        )
        .with(SUPPORTED_GROUPS, u16_vec(&u16s(&[X25519, P256, 0x0a0a])));
    let nothing = ClientHello::new().without(SERVER_NAME);
    let mut setup = Setup::new(PROVIDERS[0]);
    setup.resolves_nothing = true;
    for hello in [full_hello(), unknown, nothing].map(|hello| hello.record()) {
        let [ours, upstream] = both_described(&[&hello]);
        assert_eq!(ours, upstream);
        // the resolvers see the same
        for mut server in setup.both() {
            server.receive(&hello).unwrap_err();
            let seen = setup.seen.lock().unwrap().take();
            assert_eq!(ours.as_ref().unwrap(), &seen);
        }
        let is_nameless = ours.unwrap().unwrap().starts_with("None ");
        assert_eq!(is_nameless, !hello.windows(7).any(|it| it == b"Example"));
    }
}

/// RUSTSEC-2024-0399: a ClientHello in pieces must not make `accept` panic.
#[test]
fn a_hello_that_is_split_anywhere_is_read() {
    let sent_by_us = [Versions::Tls12, Versions::Tls13, Versions::Both].map(|versions| {
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let provider = Provider::Ring.this();
        let config = configs::this::client_of(versions, provider, key_type, auth);
        ThisBuffered::client(config).take_output()
    });
    for hello in sent_by_us.into_iter().chain([full_hello().record()]) {
        let accepted = accept(&[&hello]);
        assert!(accepted.client_hello().server_name().is_some());
        let expected = Ok(Some(describe_hello!(accepted.client_hello())));
        for at in 0..=hello.len() {
            let [ours, upstream] = both_described(&[&hello[..at], &hello[at..]]);
            assert_eq!(ours, expected, "cut at {at}");
            assert_eq!(upstream, expected, "cut at {at}");
            let [ours, _] = both_described(&[&hello[..at]]);
            assert_eq!(ours.map(|it| it.is_some()), Ok(at == hello.len()));
        }
        let bytes: Vec<&[u8]> = hello.chunks(1).collect();
        assert_eq!(both_described(&bytes)[0], expected);
    }
}

#[test]
fn a_hello_over_many_records_is_read() {
    let setup = Setup::new(PROVIDERS[0]);
    let message = full_hello().message();
    let accepted = accept(&[&full_hello().record()]);
    let expected = describe_hello!(accepted.client_hello());
    for len in [1, 2, 3, 4, 5, 7, 64, 100, message.len() - 1] {
        let fragments: Vec<u8> = message
            .chunks(len)
            .flat_map(|fragment| record(22, fragment))
            .collect();
        for cut in [0, 1, 4, 5, 6, fragments.len() - 1] {
            let accepted = accept(&[&fragments[..cut], &fragments[cut..]]);
            let described = describe_hello!(accepted.client_hello());
            assert_eq!(described, expected, "fragments of {len}");
            let connection = accepted.into_connection(Arc::new(setup.our_config()));
            assert!(connection.is_ok_and(|connection| connection.wants_write()));
        }
    }
}

/// Error and alert equal those of a connection with the same configuration.
#[test]
fn an_acceptor_has_the_errors_and_alerts_of_a_connection() {
    let hello = ClientHello::new().record();
    let with = |typ, body| ClientHello::new().with(typ, body).record();
    let edited = |edit: fn(&mut ClientHello)| ClientHello::new().edit(edit).record();
    let message_of_hello = ClientHello::new().message();
    let interrupted = [record(22, &message_of_hello[..9]), record(21, &[1, 0])].concat();
    let no_signatures = ClientHello::new().without(SIGNATURE_ALGORITHMS).record();
    let cases = table! {
        "another protocol": b"GET / HTTP/1.1\r\n\r\n".to_vec();
        "ChangeCipherSpec": record(20, &[1]);
        "fatal alert": record(21, &[2, 40]);
        "half an alert": record(21, &[2]);
        "warnings": record(21, &[1, 112]).repeat(5);
        "application data": record(23, b"data");
        "empty handshake record": record(22, &[]);
        "another message": record(22, &message(2, &[0; 40]));
        "too long a message": record(22, &[1, 1, 0, 0]);
        "alert in the message": interrupted;
        "truncated hello": record(22, &message(1, &[3, 3, 1]));
        "bytes behind the fields": edited(|it| it.trailing.push(0));
        "bytes behind the hello": record(22, &[&message_of_hello[..], &[1, 0, 0]].concat());
        "no signature_algorithms": no_signatures;
        "wrong host name": with(SERVER_NAME, host_name(b"a..b"));
        "no null compression": edited(|it| it.compression[0] = 1);
        "no common suite": edited(|it| it.cipher_suites = vec![0x1399]);
        "too old": with(SUPPORTED_VERSIONS, u8_vec(&u16s(&[0x0301])));
        "no common protocol": with(ALPN, protocols(&[b"x"]));
    };
    for provider in PROVIDERS {
        let mut setup = Setup::new(provider);
        setup.alpn = vec![b"h2".to_vec()];
        for (name, bytes) in &cases {
            same_outcome(&setup, &[bytes], name).unwrap_err();
            let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
            same_outcome(&setup, &pieces, &format!("{name}, in pieces")).unwrap_err();
        }
        // the acceptor ignores a few warnings, as a connection does
        let warned = [record(21, &[1, 112]), hello.clone()].concat();
        let connection = accept(&[&warned]).into_connection(Arc::new(setup.our_config()));
        assert!(connection.is_ok());
    }
}

/// Asserts that a connection has the same outcome with and without an acceptor. Returns it.
fn same_outcome(setup: &Setup, pieces: &[&[u8]], what: &str) -> Result<(), String> {
    let mut connection = setup.ours();
    let straight = connection.receive(&pieces.concat());
    let output = connection.take_output();
    let through = match accepted!(rustls, pieces) {
        // a length that announces more bytes
        Ok(None) => {
            assert_eq!((&straight, output), (&Ok(()), vec![]), "{what}");
            return straight;
        }
        Ok(Some(accepted)) => accepted.into_connection(Arc::new(setup.our_config())),
        Err(refused) => Err(refused),
    };
    let through = match through {
        Ok(mut connection) => connection.process_new_packets().map(drop),
        Err((error, alert)) => {
            // as in upstream, input that is not a handshake causes no alert
            let is_handshake = !format!("{error:?}").starts_with("InappropriateMessage");
            let expected = if is_handshake { output } else { vec![] };
            assert_eq!(written(alert), expected, "{what}");
            Err(error)
        }
    };
    let through = through.map_err(|error| format!("{error:?}"));
    assert_eq!(through, straight, "{what}");
    straight
}

/// Changes one bit of the hello at a time.
#[test]
fn changed_hellos_have_the_same_outcome_without_an_acceptor() {
    let setup = Setup::new(PROVIDERS[0]);
    let hello = full_hello().record();
    for (at, flip) in product(0..hello.len(), [0x01, 0x80]) {
        let mut bytes = hello.clone();
        bytes[at] ^= flip;
        let _ = same_outcome(&setup, &[&bytes], &format!("{flip:#x} at {at}"));
    }
}

#[test]
fn using_a_finished_acceptor_is_an_error() {
    let polled = |(error, alert)| (error, written(alert));
    let expected = Error::General("Acceptor polled after completion".into());
    for bytes in [ClientHello::new().record(), record(23, b"data")] {
        let mut acceptor = Acceptor::default();
        let mut upstream = theirs::server::Acceptor::default();
        acceptor.read_tls(&mut &bytes[..]).unwrap();
        upstream.read_tls(&mut &bytes[..]).unwrap();
        let (first, upstreams) = (acceptor.accept(), upstream.accept());
        assert_eq!(first.is_ok(), upstreams.is_ok());
        for _ in 0..2 {
            let again = acceptor.accept().map(|_| ()).map_err(polled);
            assert_eq!(again, Err((expected.clone(), vec![])));
            let error = upstream.accept().map(|_| ()).unwrap_err().0;
            assert_eq!(format!("{error:?}"), format!("{expected:?}"));
            let error = acceptor.read_tls(&mut &b"more"[..]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other);
            let error = upstream.read_tls(&mut &b"more"[..]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Other);
        }
    }
}

#[test]
fn an_acceptor_reads_a_limited_amount() {
    let mut acceptor = Acceptor::default();
    let endless = record(22, &[0; 1 << 14]).repeat(4);
    let (mut rest, mut read) = (&endless[..], 0);
    let error = loop {
        match acceptor.read_tls(&mut rest) {
            Ok(len) => read += len,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(read < 1 << 15, "{read} bytes");
}

#[test]
fn an_unusable_configuration_sends_no_alert() {
    let setup = Setup::new(PROVIDERS[0]);
    let mut config = setup.our_config();
    config.max_fragment_size = Some(3);
    let accepted = accept(&[&ClientHello::new().record()]);
    let (error, alert) = accepted.into_connection(Arc::new(config)).unwrap_err();
    assert_eq!(error, Error::BadMaxFragmentSize);
    assert_eq!(written(alert), []);
}

#[test]
fn data_read_after_the_hello_is_kept() {
    let setup = Setup::new(PROVIDERS[0]);
    let hello = ClientHello::new().record();
    for (behind, expected) in [
        (record(20, &[1]), None),
        (
            record(21, &[2, 40]),
            Some("AlertReceived(HandshakeFailure)"),
        ),
        (
            b"garbage".to_vec(),
            Some("InvalidMessage(InvalidContentType)"),
        ),
        (record(23, &[0; 40]), Some("DecryptError")),
    ] {
        let accepted = accept(&[&[&hello[..], &behind].concat()]);
        let connection = connection(accepted, Arc::new(setup.our_config()));
        let mut connection = ThisBuffered::new(connection);
        let first = Sent::Handshake(rustls::HandshakeType::ServerHello);
        assert_eq!(records(&connection.take_output())[0], first);
        assert_eq!(connection.process().err().as_deref(), expected);
    }
}

/// Early data follows the hello in the same pieces. The configuration is chosen after one of them,
/// and the application reads late.
#[test]
fn early_data_of_any_length_may_follow_the_hello() {
    let lens = [1, 10_000, 60_000];
    for (provider, len, piece) in product3(PROVIDERS, lens, [1, 7, 100_000]) {
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let mut server = configs::this::server(provider.this(), key_type, auth);
        server.max_early_data_size = 60_000;
        let server = Arc::new(server);
        let mut client = configs::this::client(provider.this(), key_type, auth);
        client.enable_early_data = true;
        let config = Arc::new(client);
        connect(&mut ThisBuffered::client(config.clone()), &server);

        let mut client = ThisBuffered::client(config);
        client.conn.set_buffer_limit(None);
        let sent: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        assert_eq!(client.send_early(&sent), len);
        let output = client.take_output();
        let (mut pieces, mut rest) = (output.chunks(piece), &[][..]);
        let mut acceptor = Acceptor::default();
        let accepted = loop {
            if rest.is_empty() {
                rest = pieces.next().unwrap();
            }
            acceptor.read_tls(&mut rest).unwrap();
            if let Some(accepted) = acceptor.accept().map_err(|(error, _)| error).unwrap() {
                break accepted;
            }
        };
        let mut connection = ThisBuffered::new(connection(accepted, server));
        connection.process().unwrap();
        for piece in std::iter::once(rest).chain(pieces) {
            connection.receive(piece).unwrap();
        }
        let mut received = Vec::new();
        connection.read_early_into(&mut received);
        assert!(received == sent, "{len} bytes in pieces of {piece}");
        handshake(&mut client, &mut connection);
        talk_and_close(&mut client, &mut connection);
    }
}

#[test]
fn a_handshake_continues_after_the_acceptor() {
    let key_type = KeyType::EcdsaP256;
    let auths = [ClientAuth::None, ClientAuth::Required];
    for (provider, auth, retried) in product3(PROVIDERS, auths, [false, true]) {
        let mut crypto = provider.this();
        if retried {
            request_another_share(&mut crypto);
        }
        let server = Arc::new(configs::this::server(crypto, key_type, auth));
        let ours = configs::this::client(provider.this(), key_type, auth);
        let theirs = configs::upstream::client(provider.upstream(), key_type, auth);
        let clients: [Box<dyn Endpoint>; 2] = [
            Box::new(ThisBuffered::client(ours)),
            Box::new(UpstreamBuffered::client(theirs)),
        ];
        for mut client in clients {
            let kind = connect(&mut *client, &server);
            assert_eq!(kind == HandshakeKind::FullWithHelloRetryRequest, retried);
        }
    }
}

/// Connects `client` through an acceptor and uses the connection. Returns the kind of handshake.
fn connect(client: &mut dyn Endpoint, config: &Arc<ServerConfig>) -> HandshakeKind {
    let hello = client.take_output();
    let accepted = accept(&[&hello]);
    let hello = accepted.client_hello();
    assert_eq!(hello.server_name(), Some(configs::SERVER_NAME));
    let mut server = ThisBuffered::new(connection(accepted, config.clone()));
    handshake(client, &mut server);
    talk_and_close(client, &mut server);
    server.conn.handshake_kind().unwrap()
}

/// A writer that first fails several times, then accepts one byte per call.
struct Reluctant {
    failures: Vec<io::Result<usize>>,
    taken: Vec<u8>,
}

impl Write for Reluctant {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!("only `write_vectored` is called")
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(failures) = self.failures.pop() {
            return failures;
        }
        self.taken.push(bytes[0][0]);
        Ok(1)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_alert_is_not_lost_if_a_writer_fails() {
    let mut acceptor = Acceptor::default();
    let hello_done = record(22, &[14, 0, 0, 0]);
    acceptor.read_tls(&mut &hello_done[..]).unwrap();
    let (_, mut alert) = acceptor.accept().unwrap_err();
    let mut socket = Reluctant {
        failures: vec![
            Err(ErrorKind::Interrupted.into()),
            Err(ErrorKind::WouldBlock.into()),
            Err(ErrorKind::Interrupted.into()),
            Ok(0),
        ],
        taken: vec![],
    };
    let mut write_all = || alert.write_all(&mut socket).map_err(|error| error.kind());
    assert_eq!(write_all(), Err(ErrorKind::WriteZero));
    assert_eq!(write_all(), Err(ErrorKind::WouldBlock));
    assert_eq!(write_all(), Ok(()));
    assert_eq!(alert.write(&mut socket).unwrap(), 0);
    let expected = Sent::Alert(AlertDescription::UnexpectedMessage);
    assert_eq!(records(&socket.taken), [expected]);
}

/// Failures in the client's second flight have the same outcome as without an acceptor.
#[test]
fn a_connection_from_an_acceptor_fails_like_other_connections() {
    let setup = Setup::new(PROVIDERS[0]);
    let hello = ClientHello::new().record();
    let accepted = accept(&[&hello]);
    let mut through = ThisBuffered::new(connection(accepted, Arc::new(setup.our_config())));
    let mut straight = ours_with(setup.our_config());
    straight.receive(&hello).unwrap();
    for bytes in [record(22, &[1, 0, 0, 0]), hello] {
        assert_eq!(through.receive(&bytes), straight.receive(&bytes));
    }
}
