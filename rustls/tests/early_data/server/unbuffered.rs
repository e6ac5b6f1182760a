//! What the unbuffered API says of early data.

use std::sync::Arc;

use harness::configs::{PROVIDERS, server_name, this};
use harness::endpoints::{Endpoint, ThisBuffered, handshake};
use harness::servers::{KEY_TYPE, Server};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use super::settings;

#[test]
fn early_data_is_handed_out_where_it_was_received() {
    for provider in PROVIDERS {
        let settings = settings(provider);
        let server_config = Arc::new(settings.ours());
        let server = Server::Unbuffered(server_config.clone());
        let mut config = this::client(provider.this(), KEY_TYPE, settings.auth);
        config.enable_early_data = true;
        let config = Arc::new(config);
        let connect = || rustls::ClientConnection::new(config.clone(), server_name()).unwrap();
        handshake(&mut ThisBuffered::new(connect()), &mut *server.accept());

        let mut client = connect();
        for data in [&b"first"[..], b"second"] {
            std::io::Write::write_all(&mut client.early_data().unwrap(), data).unwrap();
        }
        let mut client = ThisBuffered::new(client);
        let mut incoming = client.take_output();
        let mut conn = UnbufferedServerConnection::new(server_config).unwrap();

        // the flight goes out first
        let (mut states, mut flight) = (Vec::new(), Vec::new());
        loop {
            let UnbufferedStatus { discard, state, .. } = conn.process_tls_records(&mut incoming);
            let state = state.unwrap();
            states.push(format!("{state:?}"));
            match state {
                ConnectionState::EncodeTlsData(mut state) => {
                    let mut out = [0; 10_000];
                    let len = state.encode(&mut out).unwrap();
                    flight.extend_from_slice(&out[..len]);
                }
                ConnectionState::TransmitTlsData(mut state) => {
                    assert!(state.may_encrypt_app_data().is_none());
                    state.done();
                }
                ConnectionState::ReadEarlyData(_) => {}
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
            if states.last().unwrap() == "ReadEarlyData" {
                break;
            }
        }
        assert!(states.starts_with(&["EncodeTlsData".into(), "TransmitTlsData".into()]));

        // a state that was dropped comes again
        let mut status = conn.process_tls_records(&mut incoming);
        let Ok(ConnectionState::ReadEarlyData(state)) = &mut status.state else {
            panic!("{:?}", status.state)
        };
        assert_eq!(state.peek_len().unwrap().get(), 5);
        let first = state.next_record().unwrap().unwrap();
        assert_eq!(first.payload, b"first");
        let mut discard = first.discard;
        assert_eq!(state.peek_len(), None, "the next record is not open yet");
        let second = state.next_record().unwrap().unwrap();
        assert_eq!(second.payload, b"second");
        discard += second.discard;
        assert!(state.next_record().is_none());
        discard += status.discard;
        incoming.drain(..discard);
        assert!(incoming.is_empty());

        let UnbufferedStatus { state, .. } = conn.process_tls_records(&mut incoming);
        assert_eq!(format!("{:?}", state.unwrap()), "BlockedHandshake");
        client.receive(&flight).unwrap();
        assert!(!client.is_handshaking());
        client.send(b"later");
        let mut incoming = client.take_output();

        // EndOfEarlyData and Finished, then tickets, then what came behind them
        let mut read = Vec::new();
        loop {
            let UnbufferedStatus {
                mut discard, state, ..
            } = conn.process_tls_records(&mut incoming);
            match state.unwrap() {
                ConnectionState::EncodeTlsData(mut state) => {
                    state.encode(&mut [0; 10_000]).unwrap();
                }
                ConnectionState::TransmitTlsData(state) => state.done(),
                ConnectionState::ReadTraffic(mut state) => {
                    let record = state.next_record().unwrap().unwrap();
                    read.extend_from_slice(record.payload);
                    discard += record.discard;
                }
                ConnectionState::WriteTraffic(_) => break,
                other => panic!("{other:?}"),
            }
            incoming.drain(..discard);
        }
        assert_eq!(read, b"later");
    }
}
