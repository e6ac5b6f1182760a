//! Counts allocations: none for a record sent or received by the halves of a split connection,
//! whose records and keys equal those of a whole one.
//!
//! This test has a program of its own because the count is for the whole process.

#[path = "memory/counting.rs"]
mod counting;

use std::io::{BufRead, Read, Write};
use std::sync::Arc;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, product, this};
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::Pair;
use rustls::client::ClientConnectionData;
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};

use crate::counting::{assert_counting, assert_no_allocation};

/// Plaintext sizes on either side of each limit of the record layer.
const SIZES: [usize; 6] = [1, 64, 1400, 16384, 16385, 60_000];

#[test]
fn no_allocation_for_a_record() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        let what = format!("{provider:?} {versions:?}");
        let (mut sender, mut receiver) = from_client_to_server(provider, versions);
        for size in SIZES {
            buffered(&what, size, &mut sender, &mut receiver);
            in_the_callers_buffers(&what, size, &mut sender, &mut receiver);
        }
    }
    assert_counting();
}

/// A client's sending half, and the receiving half of its server.
fn from_client_to_server(
    provider: Provider,
    versions: Versions,
) -> (Sender, Receiver<ServerConnectionData>) {
    let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
    let pair = Pair::connect(&Configs {
        client: Arc::new(this::client_of(versions, provider.this(), key, auth)),
        server: Arc::new(this::server_of(versions, provider.this(), key, auth)),
    })
    .unwrap();
    let (sender, _): (_, Receiver<ClientConnectionData>) = pair.client.into_split().unwrap();
    let (_, receiver) = pair.server.into_split().unwrap();
    (sender, receiver)
}

fn buffered(
    what: &str,
    size: usize,
    sender: &mut Sender,
    receiver: &mut Receiver<ServerConnectionData>,
) {
    let plaintext = vec![7; size];
    let mut received = vec![0; size];
    let mut wire = Vec::with_capacity(2 * size + 1000);
    assert_no_allocation(&format!("{what} buffered {size}"), || {
        wire.clear();
        sender.writer().write_all(&plaintext).unwrap();
        while sender.wants_write() {
            sender.write_tls(&mut wire).unwrap();
        }
        let (mut rest, mut used) = (&wire[..], 0);
        while !rest.is_empty() {
            receiver.read_tls(&mut rest).unwrap();
            let state = receiver.process_new_packets().unwrap();
            let end = used + state.plaintext_bytes_to_read();
            receiver
                .reader()
                .read_exact(&mut received[used..end])
                .unwrap();
            used = end;
        }
        assert_eq!(received, plaintext);
    });
    assert_no_allocation(&format!("{what} vectored {size}"), || {
        wire.clear();
        let (front, back) = plaintext.split_at(size / 2);
        let pieces = [front, back].map(std::io::IoSlice::new);
        assert_eq!(sender.writer().write_vectored(&pieces).unwrap(), size);
        while sender.wants_write() {
            sender.write_tls(&mut wire).unwrap();
        }
        let (mut rest, mut used) = (&wire[..], 0);
        while !rest.is_empty() {
            receiver.read_tls(&mut rest).unwrap();
            receiver.process_new_packets().unwrap();
            let mut reader = receiver.reader();
            while let Ok(chunk) = reader.fill_buf() {
                let len = chunk.len();
                used += len;
                reader.consume(len);
            }
        }
        assert_eq!(used, size);
    });
}

fn in_the_callers_buffers(
    what: &str,
    size: usize,
    sender: &mut Sender,
    receiver: &mut Receiver<ServerConnectionData>,
) {
    let plaintext = vec![7; size];
    let mut wire = vec![0; 2 * size + 1000];
    let open = |receiver: &mut Receiver<ServerConnectionData>, wire: &mut [u8]| {
        let (mut done, mut used) = (0, 0);
        while done < wire.len() {
            let record = receiver.open_in_place(&mut wire[done..]).unwrap();
            done += record.discard;
            used += record.payload.len();
        }
        used
    };
    assert_no_allocation(&format!("{what} encrypt {size}"), || {
        let len = sender.encrypt(&plaintext, &mut wire).unwrap();
        assert_eq!(open(receiver, &mut wire[..len]), size);
    });
    let room = sender.in_place_room();
    let size = Ord::min(size, room.max_payload);
    assert_no_allocation(&format!("{what} in place {size}"), || {
        let payload = room.headroom..room.headroom + size;
        let record = sender.encrypt_in_place(&mut wire, payload).unwrap();
        assert_eq!(open(receiver, &mut wire[record]), size);
    });
}
