//! The unbuffered API under any order of calls, with buffers of any length. The peer is honest, or
//! its bytes are changed in transit.

use harness::peers::configs::server_name;
use harness::peers::endpoints::{Endpoint, Unbuffered};
use rustls::Error;
use rustls::client::{EarlyDataError, MayEncryptEarlyData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, ReadEarlyData, ReadTraffic, TransmitTlsData,
    UnbufferedStatus, WriteTraffic,
};

use super::input::Input;
use super::peer::{MOST_OPERATIONS, Peer, until_idle};
use super::sending::{MOST_UPDATES, Sent, write, write_to_vec};
use super::streams::{Stream, kinds};

/// The first byte describes the connection: client or server (bit 0), before or after its handshake
/// (bit 1), its kind (the rest). Operations follow, each a byte and its arguments.
pub fn unbuffered(input: &[u8]) {
    let mut input = Input::new(input);
    let choice = usize::from(input.byte());
    let kinds = kinds();
    let kind = &kinds[(choice >> 2) % kinds.len()];
    kind.prepare();
    let configs = &kind.configs;
    let is_connected = choice & 2 != 0;
    if choice & 1 == 0 {
        let conn = UnbufferedClientConnection::new(configs.client.clone(), server_name());
        let peer = Peer::new(kind, configs.server());
        World::new(conn.unwrap(), peer).run(&mut input, is_connected);
    } else {
        let conn = UnbufferedServerConnection::new(configs.server.clone());
        let peer = Peer::new(kind, configs.client());
        World::new(conn.unwrap(), peer).run(&mut input, is_connected);
    }
}

/// Reads application data of a state. If `$how` is 0, it only asks for the length, leaves the data
/// for the next state and returns `None`. If it is 1, it asks for the length first.
macro_rules! receive {
    ($state:ident, $how:ident) => {{
        let peeked = ($how < 2).then(|| $state.peek_len().unwrap().get());
        if $how == 0 {
            return Ok(None);
        }
        let record = $state.next_record().unwrap()?;
        let plaintext = record.payload.to_vec();
        assert!(!plaintext.is_empty() && record.discard == 0);
        assert!(peeked.is_none_or(|len| len == plaintext.len()));
        assert!($state.peek_len().is_none() && $state.next_record().is_none());
        Ok(Some(plaintext))
    }};
}

fn read<D>(mut state: ReadTraffic<'_, '_, D>, how: u8) -> Result<Option<Vec<u8>>, Error> {
    receive!(state, how)
}

fn read_early(
    mut state: ReadEarlyData<'_, '_, ServerConnectionData>,
    how: u8,
) -> Result<Option<Vec<u8>>, Error> {
    receive!(state, how)
}

/// The connection under test and its peer.
struct World<C> {
    conn: C,
    peer: Peer,
    has_seen_close: bool,
    /// True if application data was returned and left.
    is_left: bool,
}

impl<C: Unbuffered> World<C> {
    fn new(conn: C, peer: Peer) -> Self {
        Self {
            conn,
            peer,
            has_seen_close: false,
            is_left: false,
        }
    }

    fn run(&mut self, input: &mut Input<'_>, is_connected: bool) {
        if is_connected {
            self.deliver_all();
        }
        while input.begins_step(MOST_OPERATIONS) {
            self.step(input);
        }
        self.deliver_all();
        let peer = &self.peer;
        if peer.is_changed {
            return;
        }
        assert!(!self.conn.is_handshaking() && !peer.end.is_handshaking());
        let (sent, of_peer) = (&peer.sent, &peer.of_peer);
        for stream in [&sent.stream, &sent.early, &of_peer.stream, &of_peer.early] {
            assert!(stream.has_arrived(), "{stream:?}");
        }
        assert_eq!(peer.end.peer_has_closed(), sent.has_closed);
        assert_eq!(self.has_seen_close, of_peer.has_closed);
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let peer = &mut self.peer;
        match input.byte() % 16 {
            0 => peer.arrive(input.len()),
            1 => peer.arrive(usize::MAX),
            2..8 => drop(self.process(usize::MAX, input)),
            8 => drop(self.process(input.len(), input)),
            9 => self.take_waiting(input),
            10 => peer.deliver(input.len()),
            11 => peer.deliver(usize::MAX),
            12 => peer.send(input.len()),
            13 => match input.byte() {
                what if what % 4 == 0 => peer.refresh_traffic_keys(),
                what if what % 4 == 1 => peer.close(),
                len => peer.send_early(len.into()),
            },
            14 => {
                if let Some(traffic) = self.conn.write_traffic() {
                    use_traffic(&mut peer.sent, input, traffic, peer.kind.is_tls13);
                }
            }
            _ => peer.change_output(input),
        }
    }

    /// Processes only the waiting record, which must not carry more than announced.
    fn take_waiting(&mut self, input: &mut Input<'_>) {
        let Some(record) = self.conn.peek_record(&self.peer.incoming) else {
            return;
        };
        assert!(record.record_len <= self.peer.incoming.len());
        let is_left = self.is_left;
        let step = self.process(record.record_len, input);
        // data that was left came before the record
        assert!(is_left || step.received <= record.max_payload);
        assert!(step.discarded <= record.record_len);
    }

    /// Processes at most `len` of the received bytes and uses the resulting state.
    fn process(&mut self, len: usize, input: &mut Input<'_>) -> Step {
        let len = len.min(self.peer.incoming.len());
        let (is_tls13, is_genuine) = (self.peer.kind.is_tls13, self.peer.is_genuine());
        let incoming = &mut self.peer.incoming[..len];
        let UnbufferedStatus { discard, state, .. } = self.conn.process(incoming);
        assert!(discard <= len);
        let (sent, of_peer) = (&mut self.peer.sent, &mut self.peer.of_peer);
        let mut is_idle = false;
        let received = match state {
            Ok(ConnectionState::ReadTraffic(state)) => {
                read(state, input.byte()).map(|it| (it, &mut of_peer.stream))
            }
            Ok(ConnectionState::ReadEarlyData(state)) => {
                let state = C::of_server(state);
                read_early(state, input.byte()).map(|it| (it, &mut of_peer.early))
            }
            Ok(other) => {
                match other {
                    ConnectionState::EncodeTlsData(state) => {
                        encode(input, state, &mut sent.outgoing);
                    }
                    ConnectionState::TransmitTlsData(state) => {
                        transmit::<C>(input, state, sent, is_tls13);
                    }
                    ConnectionState::WriteTraffic(traffic) => {
                        is_idle = true;
                        use_traffic(sent, input, traffic, is_tls13);
                    }
                    ConnectionState::PeerClosed => {
                        assert!(!self.has_seen_close);
                        self.has_seen_close = true;
                    }
                    ConnectionState::Closed => {
                        is_idle = true;
                        assert!(self.has_seen_close && sent.is_over());
                    }
                    ConnectionState::BlockedHandshake => {
                        is_idle = true;
                        assert!(self.conn.is_handshaking());
                    }
                    other => panic!("{other:?}"),
                }
                Ok((Some(Vec::new()), &mut of_peer.stream))
            }
            Err(error) => {
                is_idle = true;
                Err(error)
            }
        };
        let mut received_len = 0;
        match received {
            Ok((plaintext, stream)) => {
                self.is_left = plaintext.is_none();
                let plaintext = plaintext.unwrap_or_default();
                if is_genuine {
                    stream.receive(&plaintext);
                }
                received_len = plaintext.len();
            }
            Err(error) => self.peer.fail(error),
        }
        self.peer.incoming.drain(..discard);
        Step {
            received: received_len,
            discarded: discard,
            is_idle,
        }
    }

    /// Delivers everything until nothing moves.
    fn deliver_all(&mut self) {
        until_idle(|| {
            self.peer.arrive(usize::MAX);
            // uses each state to its end
            let step = self.process(usize::MAX, &mut Input::new(&[0x12, 0x02]));
            let sends = !self.peer.sent.outgoing.is_empty();
            self.peer.deliver(usize::MAX);
            step.is_idle && step.discarded == 0 && !sends && !self.peer.take_output()
        });
    }
}

/// The result of one call.
struct Step {
    /// The length of the received application data.
    received: usize,
    discarded: usize,
    /// True if the connection has nothing left to do with the received bytes.
    is_idle: bool,
}

/// Takes the pending output, or leaves it for later, but not twice.
fn encode<D>(input: &mut Input<'_>, mut state: EncodeTlsData<'_, D>, outgoing: &mut Vec<u8>) {
    let result = match input.byte() % 4 {
        0 => return,
        1 => write_to_vec(input, outgoing, |out, used| state.encode_to_vec(out, used)),
        _ => write(input, outgoing, |out| state.encode(out)),
    };
    match result {
        Ok(len) => {
            assert_ne!(len, 0);
            let again = state.encode(&mut [0; 100]);
            assert!(matches!(again, Err(EncodeError::AlreadyEncoded)));
        }
        Err(EncodeError::InsufficientSize(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn transmit<C: Unbuffered>(
    input: &mut Input<'_>,
    mut state: TransmitTlsData<'_, C::Data>,
    sent: &mut Sent,
    is_tls13: bool,
) {
    let choice = input.byte();
    match choice % 8 {
        0 => return,
        1 => {
            if let Some(traffic) = state.may_encrypt_app_data() {
                use_traffic(sent, input, traffic, is_tls13);
            }
        }
        3 => {
            let state = C::of_client(&mut state);
            if let Some(writer) = state.and_then(|state| state.may_encrypt_early_data()) {
                write_early(input, writer, &mut sent.outgoing, &mut sent.early);
            }
        }
        _ => {}
    }
    if choice & 0x10 != 0 {
        state.done();
    }
}

/// Writes early data up to the limit, and checks that the limit shrinks accordingly.
fn write_early(
    input: &mut Input<'_>,
    mut writer: MayEncryptEarlyData<'_>,
    outgoing: &mut Vec<u8>,
    early: &mut Stream,
) {
    let left = writer.bytes_left();
    let plaintext = early.next(input.len());
    let written = match input.byte() & 1 {
        0 => write(input, outgoing, |out| writer.encrypt(&plaintext, out)),
        _ => write_to_vec(input, outgoing, |out, used| {
            writer.encrypt_to_vec(&plaintext, out, used)
        }),
    };
    match written {
        Ok(_) => {
            early.sent += plaintext.len();
            assert_eq!(writer.bytes_left(), left - plaintext.len());
        }
        Err(error) => {
            let is_too_much = matches!(error, EarlyDataError::ExceededAllowedEarlyData);
            assert_eq!(is_too_much, plaintext.len() > left);
            assert_eq!(writer.bytes_left(), left);
        }
    }
}

/// Performs one operation of a state in which application data can be sent.
fn use_traffic<D>(
    sent: &mut Sent,
    input: &mut Input<'_>,
    mut traffic: WriteTraffic<'_, D>,
    is_tls13: bool,
) {
    match input.byte() & 31 {
        2..16 => sent.encrypt(input, &mut traffic),
        16..18 if sent.updates < MOST_UPDATES => {
            let refreshed = traffic.refresh_traffic_keys();
            assert!(is_tls13 || refreshed.is_err());
            sent.updates += 1;
        }
        20 => {
            let written = write(input, &mut sent.outgoing, |out| {
                traffic.queue_close_notify(out)
            });
            sent.has_closed |= written.is_ok();
        }
        21 => {
            let written = write_to_vec(input, &mut sent.outgoing, |out, used| {
                traffic.queue_close_notify_to_vec(out, used)
            });
            written.unwrap();
            sent.has_closed = true;
        }
        _ => {}
    }
}
