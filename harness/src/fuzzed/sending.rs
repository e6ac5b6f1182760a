//! Sending application data in every way, into buffers of any length.

use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncryptError, InPlaceError, WriteTraffic};

use super::records::total_len;
use crate::configs::{self, ClientAuth, KeyType, server_name};
use crate::endpoints::{self, Endpoint, ThisUnbuffered};
use crate::transparent::this;

/// Every four bytes are one action of a connected client: which, the length of the plaintext (two bytes), and
/// how much room there is for the output. What is sent must arrive; what failed for lack of room must succeed
/// with more.
pub(crate) fn sending(input: &[u8]) {
    let auth = ClientAuth::None;
    let config = configs::this::client(this::provider(), KeyType::Ed25519, auth);
    let client = UnbufferedClientConnection::new(Arc::new(config), server_name()).unwrap();
    let config = configs::this::server(this::provider(), KeyType::Ed25519, auth);
    let server = UnbufferedServerConnection::new(Arc::new(config)).unwrap();
    let (mut client, mut server) = (ThisUnbuffered::new(client), ThisUnbuffered::new(server));
    endpoints::handshake(&mut client, &mut server);

    let (mut sent, mut received) = (Vec::new(), Vec::new());
    for step in input.chunks_exact(4).take(64) {
        let len = usize::from(u16::from_be_bytes([step[1], step[2]]));
        let plaintext = vec![step[3]; len];
        // what waits to be sent goes first: a KeyUpdate, or the answer to one
        let waiting = client.take_output();
        server.receive(&waiting).unwrap();

        let status = client.conn.process_tls_records(&mut []);
        let Ok(ConnectionState::WriteTraffic(traffic)) = status.state else {
            panic!("a connected client can send");
        };
        let room = usize::from(step[3]);
        let records = match step[0] % 3 {
            0 => encrypt(traffic, &plaintext, room),
            1 => encrypt_in_place(traffic, &plaintext, room),
            _ => {
                traffic.refresh_traffic_keys().unwrap();
                continue;
            }
        };
        if let Some(records) = records {
            assert_eq!(total_len(&records), records.len());
            sent.extend_from_slice(&plaintext);
            server.receive(&records).unwrap();
            server.read_into(&mut received);
            assert!(received == sent);
            sent.clear();
            received.clear();
        }
        let answer = server.take_output();
        client.receive(&answer).unwrap();
    }
}

fn encrypt<D>(mut traffic: WriteTraffic<'_, D>, plaintext: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xa5; room];
    let required_size = match traffic.encrypt(plaintext, &mut out) {
        Ok(len) => {
            out.truncate(len);
            return Some(out);
        }
        Err(EncryptError::InsufficientSize(size)) => size.required_size,
        Err(error) => panic!("{error}"),
    };
    assert!(required_size > room && required_size > plaintext.len());
    assert!(out.iter().all(|&byte| byte == 0xa5));
    let mut out = vec![0; required_size];
    assert_eq!(
        traffic.encrypt(plaintext, &mut out).ok(),
        Some(required_size)
    );
    Some(out)
}

/// `room` is how much there is on either side.
fn encrypt_in_place<D>(
    mut traffic: WriteTraffic<'_, D>,
    plaintext: &[u8],
    room: usize,
) -> Option<Vec<u8>> {
    let needed = traffic.in_place_room();
    let payload = room..room + plaintext.len();
    let mut buffer = [&vec![0; room], plaintext, &vec![0; room]].concat();
    let before = buffer.clone();
    match traffic.encrypt_in_place(&mut buffer, payload) {
        Ok(record) if plaintext.is_empty() => {
            assert!(record.is_empty());
            return Some(Vec::new());
        }
        Ok(record) => {
            assert!(room >= needed.headroom && room >= needed.tailroom);
            return Some(buffer[record].to_vec());
        }
        Err(InPlaceError::HeadroomTooShort { required }) => {
            assert!(room < required && required == needed.headroom);
        }
        Err(InPlaceError::TailroomTooShort { required }) => {
            assert!(room < required && required == needed.tailroom);
        }
        Err(InPlaceError::PayloadTooLong { max }) => {
            assert!(plaintext.len() > max && max == needed.max_payload);
        }
        Err(error) => panic!("{error}"),
    }
    assert!(buffer == before);
    None
}
