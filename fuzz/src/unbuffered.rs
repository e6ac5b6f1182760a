//! The unbuffered API under any order of calls, with buffers of any length. The peer is honest, or
//! its bytes are changed in transit.

use std::ops::DerefMut;

use harness::peers::configs::server_name;
use harness::peers::endpoints::{Endpoint, ThisBuffered};
use rustls::Error;
use rustls::client::{ClientConnectionData, MayEncryptEarlyData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, ReadEarlyData, ReadTraffic, TransmitTlsData,
    UnbufferedConnectionCommon, UnbufferedStatus, WriteTraffic,
};

use super::input::Input;
use super::sending::{MOST_UPDATES, Sent, write, write_to_vec};
use super::streams::{Kind, Stream, kinds, tamper};

/// The first byte describes the connection: client or server (bit 0), before or after its handshake
/// (bit 1), its kind (the rest). Operations follow, each a byte and its arguments.
pub fn unbuffered(input: &[u8]) {
    let mut input = Input(input);
    let choice = usize::from(input.byte());
    let kinds = kinds();
    let kind = &kinds[(choice >> 2) % kinds.len()];
    kind.prepare();
    let configs = &kind.configs;
    let is_connected = choice & 2 != 0;
    if choice & 1 == 0 {
        let conn = UnbufferedClientConnection::new(configs.client.clone(), server_name());
        let peer = ThisBuffered::new(configs.server());
        World::new(kind, conn.unwrap(), peer).run(&mut input, is_connected);
    } else {
        let conn = UnbufferedServerConnection::new(configs.server.clone());
        let peer = ThisBuffered::new(configs.client());
        World::new(kind, conn.unwrap(), peer).run(&mut input, is_connected);
    }
}

/// The most operations of an input; more find nothing new.
const MOST_OPERATIONS: usize = 100;

/// The differences between clients and servers.
trait Unbuffered: DerefMut<Target = UnbufferedConnectionCommon<Self::Data>> {
    type Data;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data>;

    fn early_writer<'s>(
        state: &'s mut TransmitTlsData<'_, Self::Data>,
    ) -> Option<MayEncryptEarlyData<'s>>;

    /// Reads early data from the state according to `reading`.
    fn read_early(
        state: ReadEarlyData<'_, '_, Self::Data>,
        reading: Reading,
    ) -> Result<Received, Error>;
}

/// The ways to treat application data in a state.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// Asks for its length and leaves it for the next state.
    Peek,
    Take,
    PeekAndTake,
}

/// The bytes received.
#[derive(Default)]
struct Received {
    plaintext: Vec<u8>,
    /// The next state returns it again.
    is_left: bool,
}

macro_rules! receive {
    ($state:ident, $reading:expr) => {{
        let peeked = match $reading {
            Reading::Take => None,
            _ => Some($state.peek_len().unwrap().get()),
        };
        if $reading == Reading::Peek {
            return Ok(Received {
                plaintext: Vec::new(),
                is_left: true,
            });
        }
        let record = $state.next_record().unwrap()?;
        let plaintext = record.payload.to_vec();
        assert!(!plaintext.is_empty() && record.discard == 0);
        assert!(peeked.is_none_or(|len| len == plaintext.len()));
        assert!($state.peek_len().is_none() && $state.next_record().is_none());
        Ok(Received {
            plaintext,
            is_left: false,
        })
    }};
}

fn read<D>(mut state: ReadTraffic<'_, '_, D>, reading: Reading) -> Result<Received, Error> {
    receive!(state, reading)
}

impl Unbuffered for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn early_writer<'s>(
        state: &'s mut TransmitTlsData<'_, Self::Data>,
    ) -> Option<MayEncryptEarlyData<'s>> {
        state.may_encrypt_early_data()
    }

    fn read_early(_: ReadEarlyData<'_, '_, Self::Data>, _: Reading) -> Result<Received, Error> {
        panic!("no server sends early data");
    }
}

impl Unbuffered for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(
        &'c mut self,
        incoming: &'i mut [u8],
    ) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }

    fn early_writer<'s>(
        _: &'s mut TransmitTlsData<'_, Self::Data>,
    ) -> Option<MayEncryptEarlyData<'s>> {
        None
    }

    fn read_early(
        mut state: ReadEarlyData<'_, '_, Self::Data>,
        reading: Reading,
    ) -> Result<Received, Error> {
        receive!(state, reading)
    }
}

/// The connection under test, its peer, and the data between them.
struct World<C> {
    kind: &'static Kind,
    conn: C,
    peer: ThisBuffered,
    /// Output of the peer, and the part that the application has received.
    from_peer: Vec<u8>,
    incoming: Vec<u8>,
    sent: Sent,
    early: Stream,
    of_peer: Sent,
    early_of_peer: Stream,
    error: Option<Error>,
    peer_has_failed: bool,
    told_of_close: bool,
    is_changed: bool,
    /// True if application data was returned and left.
    is_left: bool,
}

impl<C: Unbuffered> World<C> {
    fn new(kind: &'static Kind, conn: C, peer: ThisBuffered) -> Self {
        Self {
            kind,
            conn,
            peer,
            from_peer: Vec::new(),
            incoming: Vec::new(),
            sent: Sent::default(),
            early: Stream::default(),
            of_peer: Sent::default(),
            early_of_peer: Stream::default(),
            error: None,
            peer_has_failed: false,
            told_of_close: false,
            is_changed: false,
            is_left: false,
        }
    }

    fn run(&mut self, input: &mut Input<'_>, is_connected: bool) {
        if is_connected {
            self.deliver_all();
        }
        for _ in 0..MOST_OPERATIONS {
            if input.is_empty() {
                break;
            }
            self.step(input);
        }
        self.deliver_all();
        if self.is_changed {
            return;
        }
        assert!(!self.conn.is_handshaking() && !self.peer.is_handshaking());
        for stream in [
            &self.sent.stream,
            &self.early,
            &self.of_peer.stream,
            &self.early_of_peer,
        ] {
            assert!(stream.has_arrived(), "{stream:?}");
        }
        assert_eq!(self.peer.peer_has_closed(), self.sent.has_closed);
        assert_eq!(self.told_of_close, self.of_peer.has_closed);
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0 => self.arrive(input.len()),
            1 => self.arrive(usize::MAX),
            2..8 => drop(self.process(usize::MAX, input)),
            8 => drop(self.process(input.len(), input)),
            9 => self.take_waiting(input),
            10 => self.deliver(input.len()),
            11 => self.deliver(usize::MAX),
            12 => self.peer_sends(input.len()),
            13 => self.peer_does(input.byte()),
            14 => {
                if let Some(traffic) = self.conn.write_traffic() {
                    use_traffic(&mut self.sent, input, traffic, self.kind.is_tls13);
                }
            }
            _ => self.change(input),
        }
    }

    fn arrive(&mut self, len: usize) {
        self.from_peer.extend(self.peer.take_output());
        let len = len.min(self.from_peer.len());
        self.incoming.extend(self.from_peer.drain(..len));
    }

    /// Processes only the waiting record, which must not carry more than announced.
    fn take_waiting(&mut self, input: &mut Input<'_>) {
        let Some(record) = self.conn.peek_record(&self.incoming) else {
            return;
        };
        assert!(record.record_len <= self.incoming.len());
        let is_left = self.is_left;
        let step = self.process(record.record_len, input);
        // data that was left came before the record
        assert!(is_left || step.received <= record.max_payload);
        assert!(step.discarded <= record.record_len);
    }

    /// Processes at most `len` of the received bytes and uses the resulting state.
    fn process(&mut self, len: usize, input: &mut Input<'_>) -> Step {
        let len = len.min(self.incoming.len());
        let (is_tls13, is_genuine) = (self.kind.is_tls13, self.is_genuine());
        let UnbufferedStatus { discard, state, .. } = self.conn.process(&mut self.incoming[..len]);
        assert!(discard <= len);
        let (sent, of_peer) = (&mut self.sent, &mut self.of_peer);
        let mut is_idle = false;
        let received = match state {
            Ok(ConnectionState::ReadTraffic(state)) => {
                read(state, reading(input)).map(|it| (it, &mut of_peer.stream))
            }
            Ok(ConnectionState::ReadEarlyData(state)) => {
                C::read_early(state, reading(input)).map(|it| (it, &mut self.early_of_peer))
            }
            Ok(other) => {
                match other {
                    ConnectionState::EncodeTlsData(state) => {
                        encode(input, state, &mut sent.outgoing);
                    }
                    ConnectionState::TransmitTlsData(state) => {
                        transmit::<C>(input, state, sent, &mut self.early, is_tls13);
                    }
                    ConnectionState::WriteTraffic(traffic) => {
                        is_idle = true;
                        use_traffic(sent, input, traffic, is_tls13);
                    }
                    ConnectionState::PeerClosed => {
                        assert!(!self.told_of_close);
                        self.told_of_close = true;
                    }
                    ConnectionState::Closed => {
                        is_idle = true;
                        assert!(self.told_of_close && sent.is_over());
                    }
                    ConnectionState::BlockedHandshake => {
                        is_idle = true;
                        assert!(self.conn.is_handshaking());
                    }
                    other => panic!("{other:?}"),
                }
                Ok((Received::default(), &mut of_peer.stream))
            }
            Err(error) => {
                is_idle = true;
                Err(error)
            }
        };
        let mut step = Step {
            received: 0,
            discarded: discard,
            is_idle,
        };
        match received {
            Ok((received, stream)) => {
                if is_genuine {
                    stream.receive(&received.plaintext);
                }
                step.received = received.plaintext.len();
                self.is_left = received.is_left;
            }
            Err(error) => self.fail(error),
        }
        assert!(step.discarded <= len);
        self.incoming.drain(..step.discarded);
        step
    }

    /// Records an error. A connection returns the same one each time; there is none with an honest
    /// peer.
    fn fail(&mut self, error: Error) {
        assert!(self.is_changed, "{error:?}");
        assert_eq!(*self.error.get_or_insert_with(|| error.clone()), error);
        self.sent.has_failed = true;
    }

    fn deliver(&mut self, len: usize) {
        let outgoing = &mut self.sent.outgoing;
        let len = len.min(outgoing.len());
        let bytes: Vec<u8> = outgoing.drain(..len).collect();
        if self.peer_has_failed {
            return;
        }
        if let Err(error) = self.peer.receive(&bytes) {
            assert!(self.is_changed, "{error}");
            self.peer_has_failed = true;
        }
        let (mut early, mut plaintext) = (Vec::new(), Vec::new());
        self.peer.read_early_into(&mut early);
        self.peer.read_into(&mut plaintext);
        if self.is_genuine() {
            self.early.receive(&early);
            self.sent.stream.receive(&plaintext);
        }
    }

    fn peer_sends(&mut self, len: usize) {
        if !self.of_peer.has_closed && !self.peer_has_failed {
            let plaintext = self.of_peer.stream.next(len);
            self.of_peer.stream.sent += self.peer.send(&plaintext);
            self.of_peer.updates = 0;
        }
    }

    fn peer_does(&mut self, what: u8) {
        if self.of_peer.has_closed || self.peer_has_failed {
            return;
        }
        match what % 4 {
            // fails in TLS 1.2, and before the end of the handshake
            0 if self.of_peer.updates < MOST_UPDATES => {
                let _ = self.peer.conn.refresh_traffic_keys();
                self.of_peer.updates += 1;
            }
            1 if !self.peer.is_handshaking() => {
                self.peer.close();
                self.of_peer.has_closed = true;
            }
            _ => {
                let plaintext = self.early_of_peer.next(usize::from(what));
                self.early_of_peer.sent += self.peer.send_early(&plaintext);
            }
        }
    }

    fn change(&mut self, input: &mut Input<'_>) {
        self.from_peer.extend(self.peer.take_output());
        self.is_changed |= tamper(input, self.kind, &mut self.from_peer);
    }

    /// True if all bytes arrive unchanged.
    fn is_genuine(&self) -> bool {
        !(self.is_changed && self.kind.is_transparent)
    }

    /// Delivers everything until nothing moves.
    fn deliver_all(&mut self) {
        // no input takes so many steps
        for _ in 0..100_000 {
            self.arrive(usize::MAX);
            // uses each state to its end
            let step = self.process(usize::MAX, &mut Input(&[0x12, 0x02]));
            let sends = !self.sent.outgoing.is_empty();
            self.deliver(usize::MAX);
            self.from_peer.extend(self.peer.take_output());
            if step.is_idle && step.discarded == 0 && !sends && self.from_peer.is_empty() {
                return;
            }
        }
        panic!("the exchange does not end");
    }
}

/// The result of one call.
#[derive(Default)]
struct Step {
    /// The length of the received application data.
    received: usize,
    discarded: usize,
    /// True if the connection has nothing left to do with the received bytes.
    is_idle: bool,
}

fn reading(input: &mut Input<'_>) -> Reading {
    match input.byte() {
        0 => Reading::Peek,
        1 => Reading::PeekAndTake,
        _ => Reading::Take,
    }
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
    early: &mut Stream,
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
            if let Some(writer) = C::early_writer(&mut state) {
                write_early(input, writer, &mut sent.outgoing, early);
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
            let is_too_much = matches!(
                error,
                rustls::client::EarlyDataError::ExceededAllowedEarlyData
            );
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
