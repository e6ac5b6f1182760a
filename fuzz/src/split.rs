//! The halves of a connection under any order of operations, with an honest peer or one whose bytes
//! are changed in transit.

mod splitting;

use std::io::{self, BufRead, ErrorKind, Read, Write};

use harness::peers::endpoints::{Endpoint, ThisUnbuffered};
use rustls::Error;
use rustls::split::{Receiver, Sender};

use self::splitting::run;
use super::input::Input;
use super::peer::{MOST_OPERATIONS, Peer, until_idle};
use super::sending::{MOST_UPDATES, Sent, write, write_to_vec};
use super::streams::kinds;

/// The first byte describes the connection: client or server (bit 0), buffered or not (bit 1), its
/// kind (the rest). The second describes the data waiting in it at the split. Operations follow,
/// each a byte and its arguments.
pub fn split(input: &[u8]) {
    let mut input = Input::new(input);
    let choice = usize::from(input.byte());
    let kinds = kinds();
    let kind = &kinds[(choice >> 2) % kinds.len()];
    kind.prepare();
    let configs = &kind.configs;
    match choice & 3 {
        0 => run(kind, configs.client(), configs.server(), &mut input),
        1 => run(kind, configs.server(), configs.client(), &mut input),
        2 => {
            let end = ThisUnbuffered::client(configs.client.clone());
            run(kind, end, configs.server(), &mut input);
        }
        _ => {
            let end = ThisUnbuffered::server(configs.server.clone());
            run(kind, end, configs.client(), &mut input);
        }
    }
}

/// The halves and their peer.
struct World<Data> {
    sender: Option<Sender>,
    receiver: Option<Receiver<Data>>,
    peer: Peer,
}

impl<Data> World<Data> {
    fn run(&mut self, input: &mut Input<'_>) {
        while input.begins_step(MOST_OPERATIONS) {
            self.step(input);
            self.check_invariants();
        }
        self.deliver_all();
        let Peer { end, sent, .. } = &self.peer;
        if self.peer.is_changed {
            return;
        }
        if self.sender.is_some() {
            assert!(sent.stream.has_arrived());
            assert_eq!(end.peer_has_closed(), sent.has_closed);
        }
        // if a dropped sender left unsent bytes, the peer's handshake cannot complete
        if let Some(receiver) = &self.receiver
            && !end.is_handshaking()
        {
            let of_peer = &self.peer.of_peer;
            assert!(of_peer.stream.has_arrived());
            assert_eq!(receiver.peer_has_closed(), of_peer.has_closed);
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let peer = &mut self.peer;
        match input.byte() % 32 {
            0..2 => peer.arrive(input.len()),
            2..4 => peer.arrive(usize::MAX),
            4..8 => self.read_tls(input),
            8..11 => self.process(),
            11..13 => self.read(input),
            13..16 => self.open_in_place(input.len()),
            16..18 => peer.deliver(input.len()),
            18..20 => peer.deliver(usize::MAX),
            20 => peer.send(input.len()),
            21 => match input.byte() {
                0xff => peer.close(),
                _ => peer.refresh_traffic_keys(),
            },
            22 => peer.change_output(input),
            23 => match input.byte() {
                0xfe => self.sender = None,
                0xff => self.receiver = None,
                _ => self.export(),
            },
            _ => self.send(input),
        }
    }

    /// Checks the invariants.
    fn check_invariants(&mut self) {
        let (Some(sender), Some(receiver)) = (&self.sender, &self.receiver) else {
            return;
        };
        assert!(!receiver.sender_wants_write() || sender.wants_write());
        if let Some(error) = sender.error() {
            self.peer.fail(error);
        }
    }

    fn received(&mut self, plaintext: &[u8]) {
        if self.peer.is_genuine() {
            self.peer.of_peer.stream.receive(plaintext);
        }
    }

    fn read_tls(&mut self, input: &mut Input<'_>) {
        let most = input.len().min(self.peer.incoming.len());
        let Some(receiver) = self.receiver.as_mut().filter(|_| most != 0) else {
            return;
        };
        let read = receiver.read_tls(&mut &self.peer.incoming[..most]);
        match read {
            Ok(len) => drop(self.peer.incoming.drain(..len)),
            // full of plaintext or of unprocessed bytes, or `open_in_place` must continue first
            Err(error) => {
                let expected = [ErrorKind::Other, ErrorKind::InvalidData];
                assert!(expected.contains(&error.kind()), "{error}");
            }
        }
    }

    fn process(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            match receiver.process_new_packets() {
                Ok(state) => {
                    assert_eq!(state.peer_has_closed(), receiver.peer_has_closed());
                    assert_eq!(state.sender_wants_write(), receiver.sender_wants_write());
                    assert_eq!(self.peer.error, None);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    /// Records an error. Both halves return the same one.
    fn fail(&mut self, error: Error) {
        if let Some(sender) = &self.sender {
            assert_eq!(sender.error().as_ref(), Some(&error));
        }
        self.peer.fail(error);
    }

    fn read(&mut self, input: &mut Input<'_>) {
        let most = input.len();
        let Some(receiver) = &mut self.receiver else {
            return;
        };
        let mut reader = receiver.reader();
        let result = match most & 1 {
            0 => {
                let mut out = vec![0; most];
                reader.read(&mut out).map(|len| out[..len].to_vec())
            }
            _ => {
                let chunk = reader.fill_buf();
                let chunk = chunk.map(|chunk| chunk[..chunk.len().min(most)].to_vec());
                if let Ok(chunk) = &chunk {
                    reader.consume(chunk.len());
                }
                chunk
            }
        };
        match result {
            Ok(plaintext) => self.received(&plaintext),
            Err(error) => {
                let expected = [
                    ErrorKind::WouldBlock,
                    ErrorKind::InvalidData,
                    ErrorKind::UnexpectedEof,
                ];
                assert!(expected.contains(&error.kind()), "{error}");
            }
        }
    }

    fn open_in_place(&mut self, len: usize) {
        let len = len.min(self.peer.incoming.len());
        let Some(receiver) = &mut self.receiver else {
            return;
        };
        let (plaintext, discard) = match receiver.open_in_place(&mut self.peer.incoming[..len]) {
            Ok(record) => (record.payload.to_vec(), record.discard),
            // bytes read by `read_tls` come first; this is not a failure
            Err(Error::General(_)) => return,
            Err(error) => return self.fail(error),
        };
        assert!(discard <= len);
        self.peer.incoming.drain(..discard);
        self.received(&plaintext);
    }

    /// Checks that both ends export the same keying material, unless one has failed.
    fn export(&mut self) {
        let Some(receiver) = &self.receiver else {
            return;
        };
        let exported = receiver.export_keying_material([0; 32], b"label", Some(b"context"));
        match exported {
            Ok(exported) if !self.peer.has_failed && !self.peer.end.is_handshaking() => {
                assert_eq!(self.peer.end.exported(), Some(exported));
            }
            Ok(_) => {}
            Err(error) => assert_eq!(self.peer.error, Some(error)),
        }
    }

    fn send(&mut self, input: &mut Input<'_>) {
        let Some(sender) = &mut self.sender else {
            return;
        };
        let sent = &mut self.peer.sent;
        match input.byte() % 32 {
            0..8 => sent.encrypt(input, sender),
            8..14 => {
                let plaintext = sent.stream.next(input.len());
                write_plaintext(sender, sent, &plaintext);
            }
            14..19 => {
                let mut limited = Limited {
                    most: input.len(),
                    outgoing: &mut sent.outgoing,
                };
                let wanted = sender.wants_write();
                let result = sender.write_tls(&mut limited);
                assert!(result.is_err() || wanted == (result.unwrap() != 0));
            }
            19..24 => {
                let wanted = sender.wants_write();
                let taken = match input.byte() & 1 {
                    0 => write(input, &mut sent.outgoing, |out| sender.take_tls(out)),
                    _ => write_to_vec(input, &mut sent.outgoing, |out, used| {
                        sender.take_tls_to_vec(out, used)
                    }),
                };
                assert!(taken.is_err() || wanted == (taken.unwrap() != 0));
            }
            24..26 if sent.updates < MOST_UPDATES => {
                let refreshed = sender.refresh_traffic_keys();
                let can_refresh = self.peer.kind.is_tls13 && !sent.has_failed;
                assert!(can_refresh || refreshed.is_err());
                sent.updates += 1;
            }
            26 => sender.set_buffer_limit(match input.byte() {
                0xff => None,
                limit => Some(usize::from(limit) << 8),
            }),
            27 if input.byte() == 0xff => {
                sender.send_close_notify();
                sent.has_closed = true;
            }
            _ => {}
        }
    }

    /// Delivers everything until nothing moves.
    fn deliver_all(&mut self) {
        until_idle(|| {
            self.peer.arrive(usize::MAX);
            let waiting = self.peer.incoming.len();
            self.process();
            let before = self.peer.of_peer.stream.received;
            // a length for `read`, encoded like an input
            self.read(&mut Input::new(&[0xc3, 0x03]));
            self.open_in_place(usize::MAX);
            self.read_tls(&mut Input::new(&[0xfd, 0x00]));
            let outgoing = &mut self.peer.sent.outgoing;
            if let Some(sender) = &mut self.sender {
                let used = outgoing.len();
                sender.take_tls_to_vec(outgoing, used).unwrap();
            }
            let sends = !outgoing.is_empty();
            self.peer.deliver(usize::MAX);
            self.check_invariants();
            let received = self.peer.of_peer.stream.received;
            let is_same = waiting == self.peer.incoming.len() && before == received;
            !self.peer.take_output() && is_same && !sends
        });
    }
}

/// Writes plaintext; the accepted length must match the announced room.
fn write_plaintext(sender: &mut Sender, sent: &mut Sent, plaintext: &[u8]) {
    let mut writer = sender.writer();
    let room = writer.room_left();
    match writer.write(plaintext) {
        Ok(len) => {
            assert!(plaintext.is_empty() || !sent.is_over());
            assert_eq!(len, plaintext.len().min(room.unwrap_or(usize::MAX)));
            sent.stream.sent += len;
            if len != 0 {
                sent.updates = 0;
            }
        }
        Err(error) => match error.kind() {
            ErrorKind::BrokenPipe => assert!(sent.has_closed),
            ErrorKind::InvalidData => {
                let error = error.into_inner().unwrap().downcast::<Error>().unwrap();
                assert_eq!(sender.error(), Some(*error));
            }
            _ => panic!("{error}"),
        },
    }
}

/// A writer that takes `most` bytes.
struct Limited<'a> {
    most: usize,
    outgoing: &'a mut Vec<u8>,
}

impl Write for Limited<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let len = buf.len().min(self.most);
        if len == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.most -= len;
        self.outgoing.extend_from_slice(&buf[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
