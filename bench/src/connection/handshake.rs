//! Handshakes over memory, flight by flight. Each side is measured separately, from creating the
//! connection to dropping it.

use std::sync::Arc;

use harness::peers::configs::server_name;
use tls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, ServerConfig, ServerConnection,
};

use super::configs::configs;
use super::dialect::pairs::Configs;
use super::dialect::pairs::buffered::{hand_over, take_in};
use super::dialect::tls;
use crate::workload::handshakes::{Handshakes, Spent};
use crate::workload::{Result, Scenario};

/// Creates repeatable handshakes of `scenario`. If they resume sessions, a full one has already
/// been made.
pub(crate) fn handshakes(scenario: &Scenario) -> Result<Box<dyn Handshakes>> {
    let mut handshakes = Repeated {
        configs: configs(scenario)?,
        is_resumed: false,
        pipes: Pipes::default(),
        open: Vec::new(),
    };
    if scenario.sessions.are_resumed() {
        handshakes.make(&mut |_| ())?;
        handshakes.is_resumed = true;
    }
    Ok(Box::new(handshakes))
}

struct Repeated {
    configs: Configs,
    is_resumed: bool,
    pipes: Pipes,
    /// Connections that their clients have not closed.
    open: Vec<ServerConnection>,
}

type Pair = (ClientConnection, ServerConnection);

impl Repeated {
    /// Makes one handshake, without dropping the sides.
    fn connect(&mut self, spent: &mut [Spent; 2], sent: &mut dyn FnMut(&[u8])) -> Result<Pair> {
        let (configs, pipes) = (&self.configs, &mut self.pipes);
        let client = || Ok(configs.client.clone());
        let sides = pipes.connect(spent, client, &configs.server, sent)?;
        let expected = [HandshakeKind::Full, HandshakeKind::Resumed][usize::from(self.is_resumed)];
        for kind in [sides.0.handshake_kind(), sides.1.handshake_kind()] {
            if kind != Some(expected) {
                return Err(format!("{kind:?}, where {expected:?} was expected").into());
            }
        }
        Ok(sides)
    }
}

impl Handshakes for Repeated {
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

/// Memory for the two directions between the sides.
#[derive(Default)]
pub(super) struct Pipes {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
}

impl Pipes {
    /// Creates both sides and exchanges flights until none is left. Adds the costs of client and
    /// server to `spent`; `sent` receives each flight. Fails if the handshake does not complete.
    pub(super) fn connect(
        &mut self,
        [of_client, of_server]: &mut [Spent; 2],
        client: impl FnOnce() -> Result<Arc<ClientConfig>>,
        server: &Arc<ServerConfig>,
        sent: &mut dyn FnMut(&[u8]),
    ) -> Result<Pair> {
        let (to_server, to_client) = (&mut self.to_server, &mut self.to_client);
        to_client.clear();
        let mut client = of_client.by(|| -> Result<_> {
            let mut client = ClientConnection::new(client()?, server_name())?;
            turn(&mut client, to_client, to_server)?;
            Ok(client)
        })?;
        let mut server = of_server.by(|| ServerConnection::new(server.clone()))?;
        while !to_server.is_empty() {
            sent(to_server);
            of_server.by(|| turn(&mut server, to_server, to_client))?;
            sent(to_client);
            of_client.by(|| turn(&mut client, to_client, to_server))?;
        }
        if client.is_handshaking() || server.is_handshaking() {
            return Err("the handshake stalled".into());
        }
        Ok((client, server))
    }
}

/// Consumes all of `incoming` and writes pending output to `outgoing`.
fn turn<Data>(
    connection: &mut ConnectionCommon<Data>,
    incoming: &mut Vec<u8>,
    outgoing: &mut Vec<u8>,
) -> Result<()> {
    take_in(connection, incoming, &mut [])?;
    incoming.clear();
    hand_over(connection, outgoing)
}
