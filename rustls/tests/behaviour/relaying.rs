//! Plaintext that is passed on to another connection or a socket, and records that are sent from
//! the application's memory.

use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};
use std::mem::take;

use harness::peers::configs::{KeyType, PROVIDERS, Provider, Versions, product, product3};
use harness::peers::endpoints::Transfer;
use harness::peers::pairs::this::Configs;
use harness::wire::Noise;
use rustls::{ClientConnection, InPlaceError, ServerConnection};

use crate::behaviour::forwarding::{DATA, opened, pair};

fn ends(provider: Provider, versions: Versions) -> (ClientConnection, ServerConnection) {
    let pair = pair(provider, versions);
    (*pair.client, *pair.server)
}

fn one_of(noise: &mut Noise, values: &[usize]) -> usize {
    values[noise.up_to(values.len()) - 1]
}

/// A socket that accepts or has a few bytes at a time, and then would block once.
struct Slow<'a, T> {
    inner: T,
    noise: &'a mut Noise,
    is_ready: bool,
}

impl<'a, T> Slow<'a, T> {
    fn new(inner: T, noise: &'a mut Noise) -> Self {
        let is_ready = noise.up_to(3) != 1;
        Self {
            inner,
            noise,
            is_ready,
        }
    }

    fn take_turn(&mut self, len: usize) -> io::Result<usize> {
        match std::mem::replace(&mut self.is_ready, false) {
            false => Err(ErrorKind::WouldBlock.into()),
            true if len == 0 => Ok(0),
            true => Ok(self.noise.up_to(len)),
        }
    }
}

impl<T: Read> Read for Slow<'_, T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.take_turn(buf.len())?;
        self.inner.read(&mut buf[..len])
    }
}

impl Write for Slow<'_, &mut Vec<u8>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let all = bufs.iter().map(|buf| &buf[..]).collect::<Vec<_>>().concat();
        let len = self.take_turn(all.len())?;
        self.inner.extend_from_slice(&all[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn would_block(result: io::Result<usize>) -> usize {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        result => result.unwrap(),
    }
}

/// Tries random lengths of records, reads and writes, KeyUpdates, partly read records, and buffer
/// limits.
#[test]
fn relayed_data_arrives_completely_and_in_order() {
    for (provider, from, to) in product3(PROVIDERS, Versions::EACH, Versions::EACH) {
        for seed in 0..20 {
            let mut noise = Noise::new(seed);
            let (mut front, mut back) = (pair(provider, from), pair(provider, to));
            if noise.up_to(4) == 1 {
                let limit = one_of(&mut noise, &[1, 1000, 20_000]);
                back.client.set_buffer_limit(Some(limit));
            }
            let total = 200_000;
            let (mut sent, mut arrived) = (0, Vec::new());
            let (mut to_front, mut to_back) = (Vec::new(), Vec::new());
            let mut at = 0;
            while arrived.len() < total {
                if sent < total && to_front.len() == at {
                    sent += send_some(&mut front.client, sent, total, &mut noise);
                    at = 0;
                    to_front.clear();
                    to_front.extend(front.client.output());
                }
                let server = &mut front.server;
                if server.wants_read() {
                    let mut socket = Slow::new(&to_front[at..], &mut noise);
                    at += would_block(server.read_tls_for(&mut socket, 1 << 16));
                    server.process_new_packets().unwrap();
                }
                if noise.up_to(10) == 1 {
                    let _ = back.client.refresh_traffic_keys();
                }
                let unread = server.process_new_packets().unwrap();
                let mut writer = back.client.writer();
                let moved = writer.write_received(&mut server.reader()).unwrap();
                let left = server.process_new_packets().unwrap();
                let left = left.plaintext_bytes_to_read();
                assert_eq!(unread.plaintext_bytes_to_read() - left, moved);
                if !back.client.wants_write() {
                    assert_eq!(left, 0);
                }
                let mut socket = Slow::new(&mut to_back, &mut noise);
                would_block(back.client.write_tls(&mut socket));
                arrived.extend(opened(&mut back.server, &take(&mut to_back)));
            }
            let what = format!("{provider:?}, {from:?}, {to:?}, {seed}");
            assert!(arrived == DATA[..total], "{what}");
        }
    }
}

/// Writes random records. Returns the number of bytes.
fn send_some(client: &mut ClientConnection, sent: usize, total: usize, noise: &mut Noise) -> usize {
    let (mut at, records) = (sent, noise.up_to(8));
    for _ in 0..records {
        let most = one_of(noise, &[1, 100, 5000, 16_384, 16_384]);
        let len = noise.up_to(most).min(total - at);
        at += client.writer().write(&DATA[at..][..len]).unwrap();
        if noise.up_to(6) == 1 {
            let _ = client.refresh_traffic_keys();
        }
    }
    at - sent
}

/// A writer that remembers where the slices are.
#[derive(Default)]
struct Places(Vec<(usize, usize)>);

impl Write for Places {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!()
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let places = bufs.iter().map(|buf| (buf.as_ptr().addr(), buf.len()));
        self.0.extend(places);
        Ok(bufs.iter().map(|buf| buf.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The records are sealed where they were received, and neighbours are written together.
#[test]
fn records_with_the_same_layout_are_relayed_in_place() {
    for (provider, versions, records) in product3(PROVIDERS, Versions::EACH, [1, 20]) {
        let (mut front, mut back) = (pair(provider, versions), pair(provider, versions));
        let (mut wire, mut most) = (Vec::new(), 0);
        // the first records are read one by one
        for round in 0..10 {
            for _ in 0..records {
                front.client.writer().write_all(&[7; 16_384]).unwrap();
                front.client.write_tls(&mut wire).unwrap();
            }
            let mut rest = &wire[..];
            while !rest.is_empty() {
                front.server.read_tls_for(&mut rest, 1 << 16).unwrap();
                front.server.process_new_packets().unwrap();
                let mut reader = front.server.reader();
                let place = match reader.fill_buf() {
                    Ok(chunk) => chunk.as_ptr().addr(),
                    Err(_) => continue,
                };
                let room = back.client.in_place_room();
                let len = back.client.writer().write_received(&mut reader).unwrap();
                let mut places = Places::default();
                back.client.write_tls(&mut places).unwrap();
                assert!(!back.client.wants_write());
                assert_eq!(places.0.len(), len / 16_384);
                most = most.max(places.0.len());
                assert_eq!(places.0[0].0 + room.headroom, place, "round {round}");
            }
            wire.clear();
        }
        assert_eq!(most, records.min(4), "{provider:?}, {versions:?}");
    }
}

#[test]
fn relayed_data_stays_unread_after_a_close_notify() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let (mut front, mut back) = (pair(provider, versions), pair(provider, versions));
        let mut wire = Vec::new();
        front.client.writer().write_all(b"data").unwrap();
        front.client.write_tls(&mut wire).unwrap();
        front.server.read_tls(&mut &wire[..]).unwrap();
        front.server.process_new_packets().unwrap();
        back.client.send_close_notify();
        let mut writer = back.client.writer();
        let error = writer.write_received(&mut front.server.reader());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::BrokenPipe);
        let error = writer.read_from(&mut &b"data"[..]);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut unread = [0; 4];
        front.server.reader().read_exact(&mut unread).unwrap();
        assert_eq!(&unread, b"data");
        // nothing is unread
        let mut other = pair(provider, versions);
        let mut writer = other.client.writer();
        let moved = writer.write_received(&mut front.server.reader());
        assert_eq!(moved.unwrap(), 0);
    }
}

#[test]
fn write_to_sends_all_plaintext_to_a_socket() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let mut noise = Noise::new(5);
        let (mut client, mut server) = ends(provider, versions);
        let (mut wire, mut written, mut sent) = (Vec::new(), Vec::new(), 0);
        assert_eq!(server.reader().write_to(&mut written).unwrap(), 0);
        while sent < 100_000 {
            sent += send_some(&mut client, sent, 100_000, &mut noise);
            wire.extend(client.output());
            let mut rest = &wire[..];
            while !rest.is_empty() {
                server.read_tls(&mut rest).unwrap();
                server.process_new_packets().unwrap();
                while !server.wants_read() {
                    let mut socket = Slow::new(&mut written, &mut noise);
                    would_block(server.reader().write_to(&mut socket));
                }
            }
            wire.clear();
        }
        assert!(written == DATA[..100_000], "{provider:?}, {versions:?}");
    }
}

/// A writer that reports more than it was given.
struct Boastful {
    given: usize,
}

impl Write for Boastful {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.given += bytes.len();
        Ok(bytes.len() + 5)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.given += bufs.iter().map(|buf| buf.len()).sum::<usize>();
        Ok(self.given + 5)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_reports_too_much_loses_no_other_plaintext() {
    let (mut client, mut server) = ends(PROVIDERS[0], Versions::Tls13);
    let mut wire = Vec::new();
    for _ in 0..100 {
        client.writer().write_all(&[1; 10]).unwrap();
    }
    wire.extend(client.output());
    server.input(&wire);
    let mut boastful = Boastful { given: 0 };
    let error = server.reader().write_to(&mut boastful).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    let mut left = Vec::new();
    let end = server.reader().read_to_end(&mut left).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::WouldBlock);
    assert_eq!(boastful.given + left.len(), 1000);
}

#[test]
fn plaintext_is_read_from_a_socket_into_records() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let mut noise = Noise::new(6);
        let (mut client, mut server) = ends(provider, versions);
        let expected = &DATA[..100_000];
        let (mut rest, mut arrived, mut wire) = (expected, Vec::new(), Vec::new());
        client.set_buffer_limit(Some(30_000));
        loop {
            let room = client.writer().room_left().unwrap();
            let mut socket = Slow::new(&mut rest, &mut noise);
            match client.writer().read_from(&mut socket) {
                Ok(0) => break,
                Ok(len) => assert!(len <= room),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            if noise.up_to(8) == 1 {
                let _ = client.refresh_traffic_keys();
            }
            if room < 10_000 {
                wire.extend(client.output());
            }
        }
        wire.extend(client.output());
        arrived.extend(opened(&mut server, &take(&mut wire)));
        assert!(arrived == expected, "{provider:?}, {versions:?}");
    }
}

/// A source that returns more than it was asked for, or fails.
struct Faulty(Option<ErrorKind>);

impl Read for Faulty {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.0 {
            Some(kind) => Err(kind.into()),
            None => Ok(buf.len() + 1),
        }
    }
}

#[test]
fn errors_from_the_source_leave_the_connection_unchanged() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let configs = Configs::new(versions, provider.this(), KeyType::EcdsaP256);
        let (client, _) = configs.ends().unwrap();
        // before the handshake, too
        for mut client in [client, *pair(provider, versions).client] {
            let queued = client.wants_write();
            let mut writer = client.writer();
            let room = writer.room_left();
            for (fault, expected) in [
                (Some(ErrorKind::ConnectionReset), ErrorKind::ConnectionReset),
                (Some(ErrorKind::WouldBlock), ErrorKind::WouldBlock),
                (None, ErrorKind::Other),
            ] {
                let error = writer.read_from(&mut Faulty(fault)).unwrap_err();
                assert_eq!(error.kind(), expected);
            }
            assert_eq!(writer.room_left(), room);
            assert_eq!(client.wants_write(), queued);
        }
    }
}

#[test]
fn plaintext_read_before_the_handshake_is_sent_after_it() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let configs = Configs::new(versions, provider.this(), KeyType::EcdsaP256);
        let (mut client, mut server) = configs.ends().unwrap();
        let mut source = &[7; 20_000][..];
        while client.writer().read_from(&mut source).unwrap() != 0 {}
        let (mut wire, mut arrived) = (Vec::new(), Vec::new());
        while client.wants_write() || server.wants_write() {
            wire.extend(client.output());
            arrived.extend(opened(&mut server, &take(&mut wire)));
            wire.extend(server.output());
            client.input(&take(&mut wire));
        }
        assert!(arrived == [7; 20_000]);
    }
}

/// Accepts `left` bytes, and then fails with `kind`.
struct Full<'a> {
    wire: &'a mut Vec<u8>,
    left: usize,
    kind: ErrorKind,
}

impl Write for Full<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.left);
        if len == 0 {
            return Err(self.kind.into());
        }
        self.left -= len;
        self.wire.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The socket accepts each number of bytes, of the output queued before and of the record.
#[test]
fn the_rest_of_a_record_sent_in_place_is_queued() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let (mut client, mut server) = ends(provider, versions);
        let room = client.in_place_room();
        let plaintext = b"sent in place";
        let payload = room.headroom..room.headroom + plaintext.len();
        let mut buf = vec![0; payload.end + room.tailroom];
        for left in 0..100 {
            let (mut wire, mut arrived) = (Vec::new(), Vec::new());
            client.writer().write_all(b"queued, ").unwrap();
            let queued = room.headroom + 8 + room.tailroom;
            buf[payload.clone()].copy_from_slice(plaintext);
            let mut full = Full {
                wire: &mut wire,
                left,
                kind: ErrorKind::WouldBlock,
            };
            let sent = client.send_in_place(&mut buf, payload.clone(), &mut full);
            if left < queued {
                assert_eq!(sent.unwrap_err().kind(), ErrorKind::WouldBlock);
                assert_eq!(&buf[payload.clone()], plaintext);
                client
                    .send_in_place(&mut buf, payload.clone(), &mut wire)
                    .unwrap();
            } else {
                sent.unwrap();
            }
            buf.fill(0);
            let is_cut = (queued..queued + buf.len()).contains(&left);
            assert_eq!(client.wants_write(), is_cut);
            client.writer().write_all(b", and later").unwrap();
            wire.extend(client.output());
            arrived.extend(opened(&mut server, &take(&mut wire)));
            assert_eq!(arrived, b"queued, sent in place, and later");
        }
    }
}

#[test]
fn errors_of_send_in_place_have_an_error_kind() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let mut client = *pair(provider, versions).client;
        let room = client.in_place_room();
        let mut buf = vec![0; room.headroom + 10 + room.tailroom];
        let mut wire = Vec::new();
        let mut kind = |client: &mut ClientConnection, payload| {
            let error = client
                .send_in_place(&mut buf, payload, &mut wire)
                .unwrap_err();
            assert!(error.get_ref().unwrap().is::<InPlaceError>());
            error.kind()
        };
        let payload = room.headroom..room.headroom + 10;
        assert_eq!(kind(&mut client, 0..10), ErrorKind::InvalidInput);
        assert_eq!(kind(&mut client, 900..901), ErrorKind::InvalidInput);
        client.send_close_notify();
        assert_eq!(kind(&mut client, payload.clone()), ErrorKind::BrokenPipe);

        let mut client = *pair(provider, versions).client;
        let mut wire = Vec::new();
        let mut broken = Full {
            wire: &mut wire,
            left: 0,
            kind: ErrorKind::ConnectionReset,
        };
        let sent = client.send_in_place(&mut buf, payload, &mut broken);
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(client.wants_write());
    }
}
