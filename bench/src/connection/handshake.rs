//! Handshakes over memory, flight by flight. Each side is measured separately, from creating the
//! connection to dropping it.

use harness::peers::configs::server_name;
use tls::client::UnbufferedClientConnection;
use tls::server::UnbufferedServerConnection;
use tls::unbuffered::{ConnectionState, UnbufferedStatus};
use tls::{ClientConnection, ConnectionCommon, HandshakeKind, ServerConnection};

use super::pairs::Configs;
use super::pairs::unbuffered::{Unbuffered, unexpected};
use super::{configs, tls};
use crate::choices::HandshakeApi;
use crate::handshake::{Handshakes, Spent};
use crate::workload::{Result, Scenario, Sessions};

/// Creates handshakes as in `scenario`. If they resume sessions, a first one has already been made.
pub(crate) fn handshakes(api: HandshakeApi, scenario: &Scenario) -> Result<Box<dyn Handshakes>> {
    Ok(match api {
        HandshakeApi::Buffered => Box::new(Repeated::<ClientConnection, ServerConnection>::new(
            scenario,
        )?),
        HandshakeApi::Unbuffered => Box::new(Repeated::<
            UnbufferedClientConnection,
            UnbufferedServerConnection,
        >::new(scenario)?),
    })
}

struct Repeated<C, S> {
    configs: Configs,
    is_resumed: bool,
    /// True if a ticket may have expired.
    may_be_full: bool,
    pipes: Pipes,
    /// Connections that their clients have not closed.
    open: Vec<S>,
    sides: core::marker::PhantomData<fn() -> C>,
}

impl<C: Side, S: Side> Repeated<C, S> {
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
            handshakes.make(&mut |_| ())?;
            handshakes.is_resumed = true;
        }
        Ok(handshakes)
    }

    /// Makes one handshake, without dropping the sides.
    fn connect(&mut self, spent: &mut [Spent; 2], sent: &mut dyn FnMut(&[u8])) -> Result<(C, S)> {
        let configs = &self.configs;
        let (client, server) =
            self.pipes
                .connect(spent, || C::new(configs), || S::new(configs), sent)?;
        for kind in [client.kind(), server.kind()] {
            let expected =
                [HandshakeKind::Full, HandshakeKind::Resumed][usize::from(self.is_resumed)];
            if kind != Some(expected) && !(self.may_be_full && kind.is_some()) {
                return Err(format!("{kind:?}, where {expected:?} was expected").into());
            }
        }
        Ok((client, server))
    }
}

impl<C: Side, S: Side> Handshakes for Repeated<C, S> {
    fn make(&mut self, sent: &mut dyn FnMut(&[u8])) -> Result<[Spent; 2]> {
        let mut spent = Default::default();
        let (client, server) = self.connect(&mut spent, sent)?;
        let [of_client, of_server] = &mut spent;
        of_client.by(|| drop(client));
        of_server.by(|| drop(server));
        Ok(spent)
    }

    fn keep_open(&mut self) -> Result<()> {
        let (_, server) = self.connect(&mut Default::default(), &mut |_| ())?;
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

    /// Creates both sides and exchanges flights until none is left. Adds the costs of client and
    /// server to `spent`; `sent` receives each flight. Fails if the handshake does not complete.
    pub(super) fn connect<C: Side, S: Side>(
        &mut self,
        [of_client, of_server]: &mut [Spent; 2],
        client: impl FnOnce() -> Result<C>,
        server: impl FnOnce() -> Result<S>,
        sent: &mut dyn FnMut(&[u8]),
    ) -> Result<(C, S)> {
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        (to_server.len, to_client.len) = (0, 0);
        let mut client = of_client.by(client)?;
        of_client.by(|| client.turn(to_client, to_server))?;
        let mut server = of_server.by(server)?;
        while to_server.len != 0 {
            sent(to_server.filled());
            of_server.by(|| server.turn(to_server, to_client))?;
            sent(to_client.filled());
            of_client.by(|| client.turn(to_client, to_server))?;
        }
        if client.kind().is_none() || server.kind().is_none() {
            return Err("the handshake stalled".into());
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

    fn filled(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn free(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
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

macro_rules! side {
    ($connection:ty, $turn:ident, |$configs:ident| $($argument:expr),*) => {
        impl Side for $connection {
            fn new($configs: &Configs) -> Result<Self> {
                Ok(Self::new($($argument),*)?)
            }

            fn turn(&mut self, incoming: &mut Pipe, outgoing: &mut Pipe) -> Result<()> {
                $turn(self, incoming, outgoing)
            }

            fn kind(&self) -> Option<HandshakeKind> {
                self.handshake_kind().filter(|_| !self.is_handshaking())
            }
        }
    };
}

side!(
    ClientConnection,
    buffered_turn,
    |configs| configs.client.clone(),
    server_name()
);
side!(ServerConnection, buffered_turn, |configs| configs
    .server
    .clone());
side!(
    UnbufferedClientConnection,
    unbuffered_turn,
    |configs| configs.client.clone(),
    server_name()
);
side!(UnbufferedServerConnection, unbuffered_turn, |configs| {
    configs.server.clone()
});

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
    incoming.len = 0;
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
    incoming.len = 0;
    Ok(())
}
