//! Handshakes over memory, flight by flight. Each side is measured separately, from creating the
//! connection to dropping it.

use bench_allocator::Counted;
use harness::peers::configs::server_name;
use tls::client::UnbufferedClientConnection;
use tls::server::UnbufferedServerConnection;
use tls::unbuffered::{ConnectionState, UnbufferedStatus};
use tls::{ClientConnection, ConnectionCommon, HandshakeKind, ServerConnection};

use super::pairs::Configs;
use super::pairs::unbuffered::{Unbuffered, unexpected};
use super::{configs, tls};
use crate::cli::HandshakeApi;
use crate::handshake::{Clock, Contender, Cost, Heap, Nothing, Probe};
use crate::workload::{Result, Scenario, Sessions};

/// Creates handshakes as in `scenario`. If they resume sessions, a first one has already been made.
pub(crate) fn contender(api: HandshakeApi, scenario: &Scenario) -> Result<Box<dyn Contender>> {
    Ok(match api {
        HandshakeApi::Buffered => Box::new(Handshakes::<ClientConnection, ServerConnection>::new(
            scenario,
        )?),
        HandshakeApi::Unbuffered => Box::new(Handshakes::<
            UnbufferedClientConnection,
            UnbufferedServerConnection,
        >::new(scenario)?),
    })
}

struct Handshakes<C, S> {
    configs: Configs,
    is_resumed: bool,
    /// True if a ticket may have expired.
    may_be_full: bool,
    pipes: Pipes,
    /// Connections that their clients have not closed.
    open: Vec<S>,
    sides: core::marker::PhantomData<fn() -> C>,
}

impl<C: Side, S: Side> Handshakes<C, S> {
    fn new(scenario: &Scenario) -> Result<Self> {
        let mut handshakes = Self {
            configs: configs(scenario)?,
            is_resumed: false,
            may_be_full: scenario.sessions == Sessions::RotatedTickets,
            pipes: Pipes::new(),
            open: Vec::new(),
            sides: core::marker::PhantomData,
        };
        if scenario.sessions.are_resumed() {
            handshakes.make::<Nothing>(&mut |_| ())?;
            handshakes.is_resumed = true;
        }
        Ok(handshakes)
    }

    /// Makes one handshake and drops both sides; returns the measurements of client and server by
    /// `P`. `sent` receives each flight.
    fn make<P: Probe>(&mut self, sent: &mut dyn FnMut(&[u8])) -> Result<[P::Sum; 2]> {
        let mut sums = Default::default();
        let (client, server) = self.connect::<P>(&mut sums, sent)?;
        let [mut of_client, mut of_server] = sums;
        P::measure(&mut of_client, || drop(client));
        P::measure(&mut of_server, || drop(server));
        Ok([of_client, of_server])
    }

    /// Like [`Self::make`], but without dropping.
    fn connect<P: Probe>(
        &mut self,
        sums: &mut [P::Sum; 2],
        sent: &mut dyn FnMut(&[u8]),
    ) -> Result<(C, S)> {
        let configs = &self.configs;
        let (client, server) =
            self.pipes
                .connect::<P, C, S>(sums, || C::new(configs), || S::new(configs), sent)?;
        for kind in [client.kind(), server.kind()] {
            let is_resumed = match kind {
                Some(HandshakeKind::Full) => false,
                Some(HandshakeKind::Resumed) => true,
                other => return Err(format!("the handshake stalled: {other:?}").into()),
            };
            if is_resumed != self.is_resumed && !self.may_be_full {
                let expected = ["full", "resumed"][usize::from(self.is_resumed)];
                return Err(format!("{kind:?}, where a {expected} handshake was expected").into());
            }
        }
        Ok((client, server))
    }
}

impl<C: Side, S: Side> Contender for Handshakes<C, S> {
    fn flights(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut flights = Vec::new();
        self.make::<Nothing>(&mut |flight| flights.push(flight.to_vec()))?;
        Ok(flights)
    }

    fn time(&mut self) -> Result<[f64; 2]> {
        self.make::<Clock>(&mut |_| ())
    }

    fn count(&mut self) -> Result<[Cost; 2]> {
        let (mut sent, mut turn) = ([0, 0], 0);
        let counted = self.make::<Heap>(&mut |flight| {
            sent[turn % 2] += flight.len();
            turn += 1;
        })?;
        let cost = |counted: &Counted, sent: usize| Cost {
            allocations: counted.allocations,
            heap_bytes: counted.taken,
            sent_bytes: sent as u64,
        };
        Ok([cost(&counted[0], sent[0]), cost(&counted[1], sent[1])])
    }

    fn keep_open(&mut self) -> Result<()> {
        let (_, server) = self.connect::<Nothing>(&mut Default::default(), &mut |_| ())?;
        self.open.push(server);
        Ok(())
    }
}

/// The two directions between the sides.
pub(super) struct Pipes {
    to_server: Pipe,
    to_client: Pipe,
}

impl Pipes {
    pub(super) fn new() -> Self {
        Self {
            to_server: Pipe::new(),
            to_client: Pipe::new(),
        }
    }

    /// Creates both sides and exchanges flights until none is left. Adds the measurements of client
    /// and server to `sums`; `sent` receives each flight.
    pub(super) fn connect<P: Probe, C: Side, S: Side>(
        &mut self,
        [of_client, of_server]: &mut [P::Sum; 2],
        client: impl FnOnce() -> Result<C>,
        server: impl FnOnce() -> Result<S>,
        sent: &mut dyn FnMut(&[u8]),
    ) -> Result<(C, S)> {
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        to_server.clear();
        to_client.clear();
        let mut client = P::measure(of_client, client)?;
        P::measure(of_client, || client.turn(to_client, to_server))?;
        let mut server = P::measure(of_server, server)?;
        while !to_server.is_empty() {
            sent(to_server.filled());
            P::measure(of_server, || server.turn(to_server, to_client))?;
            sent(to_client.filled());
            P::measure(of_client, || client.turn(to_client, to_server))?;
        }
        Ok((client, server))
    }
}

/// Memory for one direction between the sides.
pub(super) struct Pipe {
    bytes: Vec<u8>,
    len: usize,
}

impl Pipe {
    fn new() -> Self {
        Self {
            // more than any flight here
            bytes: vec![0; 1 << 16],
            len: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn filled(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn free(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    fn clear(&mut self) {
        self.len = 0;
    }
}

/// One side of a connection.
pub(super) trait Side: Sized {
    fn new(configs: &Configs) -> Result<Self>;

    /// Consumes all of `incoming` and appends pending output to `outgoing`.
    fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()>;

    /// The kind of the handshake once it is complete.
    fn kind(&self) -> Option<HandshakeKind>;
}

impl Side for ClientConnection {
    fn new(configs: &Configs) -> Result<Self> {
        Ok(Self::new(configs.client.clone(), server_name())?)
    }

    fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()> {
        buffered_turn(self, incoming, outgoing)
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.handshake_kind().filter(|_| !self.is_handshaking())
    }
}

impl Side for ServerConnection {
    fn new(configs: &Configs) -> Result<Self> {
        Ok(Self::new(configs.server.clone())?)
    }

    fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()> {
        buffered_turn(self, incoming, outgoing)
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.handshake_kind().filter(|_| !self.is_handshaking())
    }
}

impl Side for UnbufferedClientConnection {
    fn new(configs: &Configs) -> Result<Self> {
        Ok(Self::new(configs.client.clone(), server_name())?)
    }

    fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()> {
        unbuffered_turn(self, incoming, outgoing)
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.handshake_kind().filter(|_| !self.is_handshaking())
    }
}

impl Side for UnbufferedServerConnection {
    fn new(configs: &Configs) -> Result<Self> {
        Ok(Self::new(configs.server.clone())?)
    }

    fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()> {
        unbuffered_turn(self, incoming, outgoing)
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.handshake_kind().filter(|_| !self.is_handshaking())
    }
}

fn buffered_turn<Data>(
    connection: &mut ConnectionCommon<Data>,
    incoming: &mut Pipe,
    outgoing: &mut Pipe,
) -> Result<()> {
    let mut wire = incoming.filled();
    while !wire.is_empty() {
        connection.read_tls(&mut wire)?;
        connection.process_new_packets()?;
    }
    incoming.clear();
    while connection.wants_write() {
        outgoing.len += connection.write_tls(&mut outgoing.free())?;
    }
    Ok(())
}

fn unbuffered_turn(
    connection: &mut impl Unbuffered,
    incoming: &mut Pipe,
    outgoing: &mut Pipe,
) -> Result<()> {
    let mut start = 0;
    loop {
        let wire = &mut incoming.bytes[start..incoming.len];
        let UnbufferedStatus { discard, state, .. } = connection.process(wire);
        start += discard;
        match state? {
            ConnectionState::EncodeTlsData(mut data) => {
                outgoing.len += data.encode(outgoing.free())?;
            }
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => break,
            other => return Err(unexpected(&other)),
        }
    }
    incoming.clear();
    Ok(())
}
