//! Splitting connections: too early, which returns them unchanged, and then with data waiting in
//! them.

use harness::peers::endpoints::{Endpoint, ThisUnbuffered, Transfer};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::split::{IntoSplitError, Receiver, Sender};
use rustls::{ClientConnection, Connection, Error, ServerConnection};

use super::World;
use crate::input::Input;
use crate::peer::Peer;
use crate::sending::Sent;
use crate::streams::Kind;

/// A connection that can be split.
pub(super) trait Splits: Transfer + Sized {
    type Data;

    /// Writes `len` bytes of the stream, and leaves them unsent.
    fn write(&mut self, sent: &mut Sent, len: usize);

    /// Processes some bytes if possible, and leaves the plaintext unread; returns the bytes for the
    /// receiver.
    fn leave_unread(&mut self, bytes: Vec<u8>) -> Vec<u8>;

    /// Returns the halves, and output taken from the connection before the split.
    fn into_split(self) -> Result<Halves<Self::Data>, (Self, Error)>;
}

type Halves<Data> = (Sender, Receiver<Data>, Vec<u8>);

macro_rules! splits {
    ($buffered:ident, $unbuffered:ident, $data:ident) => {
        impl Splits for $buffered {
            type Data = $data;

            fn write(&mut self, sent: &mut Sent, len: usize) {
                use std::io::Write;

                let plaintext = sent.stream.next(len);
                sent.stream.sent += self.writer().write(&plaintext).unwrap();
            }

            fn leave_unread(&mut self, bytes: Vec<u8>) -> Vec<u8> {
                let mut rest = &bytes[..];
                // bytes that do not fit come later
                while !rest.is_empty() && self.read_tls(&mut rest).is_ok() {
                    self.process_new_packets().unwrap();
                }
                rest.to_vec()
            }

            fn into_split(self) -> Result<Halves<$data>, (Self, Error)> {
                let (sender, receiver) = $buffered::into_split(self).map_err(parts)?;
                Ok((sender, receiver, Vec::new()))
            }
        }

        impl Splits for ThisUnbuffered<$unbuffered> {
            type Data = $data;

            fn write(&mut self, _: &mut Sent, _: usize) {
                if let Some(traffic) = self.conn.write_traffic() {
                    let _ = traffic.refresh_traffic_keys();
                }
            }

            // plaintext must be read before the split, so nothing is processed
            fn leave_unread(&mut self, bytes: Vec<u8>) -> Vec<u8> {
                bytes
            }

            fn into_split(mut self) -> Result<Halves<$data>, (Self, Error)> {
                let output = self.output();
                match self.conn.into_split() {
                    Ok((sender, receiver)) => Ok((sender, receiver, output)),
                    Err(refused) => {
                        let (conn, error) = parts(refused);
                        Err((Self::with_output(conn, output), error))
                    }
                }
            }
        }
    };
}

splits!(
    ClientConnection,
    UnbufferedClientConnection,
    ClientConnectionData
);
splits!(
    ServerConnection,
    UnbufferedServerConnection,
    ServerConnectionData
);

fn parts<C>(refused: IntoSplitError<C>) -> (C, Error) {
    let error = refused.error().clone();
    (refused.into_connection(), error)
}

/// Lets `conn` make a handshake, during which it cannot be split. Then splits it, with waiting data
/// if `input` requests it, and runs the rest of the input.
pub(super) fn run<C: Splits>(
    kind: &'static Kind,
    mut conn: C,
    peer: impl Into<Connection>,
    input: &mut Input<'_>,
) {
    let mut peer = Peer::new(kind, peer);
    let waits = input.byte();
    loop {
        let to_peer = conn.output();
        peer.end.receive(&to_peer).unwrap();
        let from_peer = peer.end.take_output();
        conn.input(&from_peer);
        if from_peer.is_empty() {
            break;
        }
        if peer.end.is_handshaking() {
            conn = match conn.into_split() {
                Err((conn, error)) => {
                    assert_eq!(error, Error::HandshakeNotComplete);
                    conn
                }
                // a server still waits for data that this client has not sent yet
                Ok(halves) => return World::new(halves, peer).run(input),
            };
        }
    }

    if waits & 1 != 0 {
        conn.write(&mut peer.sent, usize::from(waits));
    }
    if waits & 2 != 0 {
        if waits & 4 != 0 {
            let _ = peer.end.conn.refresh_traffic_keys();
        }
        peer.send(usize::from(waits) << 3);
        let mut arrived = peer.end.take_output();
        let rest = arrived.split_off(arrived.len() - usize::from(waits >> 4));
        peer.incoming = conn.leave_unread(arrived);
        peer.incoming.extend(rest);
    }
    let Ok(halves) = conn.into_split() else {
        panic!("a connection after its handshake is split");
    };
    World::new(halves, peer).run(input);
}

impl<Data> World<Data> {
    fn new((sender, receiver, outgoing): Halves<Data>, mut peer: Peer) -> Self {
        peer.sent.outgoing = outgoing;
        Self {
            sender: Some(sender),
            receiver: Some(receiver),
            peer,
        }
    }
}
