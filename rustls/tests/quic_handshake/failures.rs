//! A failed connection only reports its error.

use rustls::{AlertDescription as Alert, Error, PeerMisbehaved};

use super::*;

#[test]
fn a_failed_connection_keeps_its_error_and_drops_everything_else() {
    for configs in PROVIDERS.map(Configs::new) {
        configs.connected();
        let (mut client, mut server) = (configs.client(), configs.server());
        let hello = write(&mut client).bytes;
        server.read_hs(&hello).unwrap();
        let flight = write_all(&mut server);

        // the client has 0-RTT keys and unclaimed Handshake keys, the server has all keys
        client.read_hs(&flight[0].bytes).unwrap();
        let mut wrong = flight[1].bytes.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let (error, alert) = (Error::DecryptError, Alert::DecryptError);
        let finished = message(20, &[0; 48]);
        for (conn, bytes) in [(&mut client, wrong), (&mut server, finished)] {
            assert_eq!(conn.alert(), None);
            assert!(conn.zero_rtt_keys().is_some());
            for bytes in [&bytes[..], &[], &hello] {
                assert_eq!(conn.read_hs(bytes), Err(error.clone()));
                assert_eq!(conn.alert(), Some(alert));
            }
            assert!(write_all(conn).is_empty());
            assert!(conn.zero_rtt_keys().is_none());
            assert_eq!(
                conn.export_keying_material([0; 8], b"label", None),
                Err(error.clone())
            );
            // closing does not hide the reason
            conn.send_close_notify();
            assert_eq!(conn.alert(), Some(alert));
        }
    }
}

/// A failed server discards the messages that it has prepared.
#[test]
fn a_failure_leaves_no_partial_flight() {
    let configs = Configs::new(Provider::Ring);
    let mut server = configs.server();
    let hello = write(&mut configs.client()).bytes;
    let without_parameters = ClientHello::read(&hello).without(57).message();
    assert_eq!(
        server.read_hs(&without_parameters),
        Err(PeerMisbehaved::MissingQuicTransportParameters.into())
    );
    assert_eq!(server.alert(), Some(Alert::MissingExtension));
    assert!(write_all(&mut server).is_empty());
    assert_eq!(server.quic_transport_parameters(), None);
}

#[test]
fn overlong_parameters_are_an_error() {
    let configs = Configs::new(Provider::Ring);
    for len in [0xffff - 100, 0x1_0000, 0x10_0000] {
        let long = || vec![7; len];
        let client =
            ClientConnection::new(configs.client.clone(), Version::V1, server_name(), long());
        assert!(matches!(client, Err(Error::General(_))), "{len}");

        let server = ServerConnection::new(configs.server.clone(), Version::V1, long());
        let mut server = Connection::from(server.unwrap());
        let hello = write(&mut configs.client()).bytes;
        let result = server.read_hs(&hello);
        if len < 0x1_0000 {
            result.unwrap();
        } else {
            assert!(matches!(result, Err(Error::General(_))), "{len}");
            assert_eq!(server.alert(), Some(Alert::InternalError));
            assert!(write_all(&mut server).is_empty());
        }
    }
}

/// QUIC closes connections itself.
#[test]
fn a_close_notify_is_reported_and_has_no_other_effect() {
    let configs = Configs::new(Provider::Ring);
    let (mut client, mut server) = (configs.client(), configs.server());
    client.send_close_notify();
    assert_eq!(client.alert(), Some(Alert::CloseNotify));
    exchange(&mut client, &mut server);
    assert!(!client.is_handshaking() && !server.is_handshaking());
    assert!(client.wants_read() && !client.wants_write());
}
