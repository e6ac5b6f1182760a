//! Honest clients at a server, with and without hostile ones, over loopback TCP. The server, the
//! honest and the hostile clients have one thread each.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::peers::configs::{
    ClientAuth, KeyType, Provider, Versions, server_name, this as configs,
};
use harness::peers::os;
use rustls::{ClientConnection, StreamOwned};

use crate::Result;
use crate::attacker::Attacker;
use crate::kinds::Kind;

/// The clients and the measuring time.
pub(crate) struct Plan {
    /// The kinds of hostile peers that attack servers.
    pub(crate) kinds: Vec<&'static Kind>,
    pub(crate) hostile: usize,
    pub(crate) honest: usize,
    pub(crate) seconds: f64,
}

/// The work of the server for the clients of one listener.
#[derive(Default)]
pub(crate) struct Served {
    pub(crate) connections: usize,
    /// Bytes received from the sockets.
    pub(crate) bytes: usize,
    /// CPU time of the server's thread.
    pub(crate) cpu: Duration,
    /// Errors that ended connections, with their counts.
    pub(crate) errors: BTreeMap<String, usize>,
}

/// All work of the server.
pub(crate) struct Summary {
    /// By listener.
    pub(crate) served: Vec<Served>,
    /// The most heap in use by the server's thread, beyond that at its start.
    pub(crate) heap: i64,
}

pub(crate) type Serve = fn(Provider, &[TcpListener], &AtomicBool) -> Result<Summary>;

impl Plan {
    /// Serves the honest clients without hostile ones, then with them.
    pub(crate) fn measure(&self, serve: Serve, provider: Provider) -> Result<[Run; 2]> {
        let alone = self.run(serve, provider, 0)?;
        Ok([alone, self.run(serve, provider, self.hostile)?])
    }

    /// The number of hostile clients of this kind.
    pub(crate) fn of_kind(&self, index: usize) -> usize {
        let kinds = self.kinds.len();
        self.hostile / kinds + usize::from(index < self.hostile % kinds)
    }

    fn run(&self, serve: Serve, provider: Provider, hostile: usize) -> Result<Run> {
        // one listener for the honest clients, one for each kind
        let listeners = (0..=self.kinds.len()).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listeners = listeners.collect::<std::io::Result<Vec<_>>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr);
        let addresses = addresses.collect::<std::io::Result<Vec<_>>>()?;
        let over = AtomicBool::new(false);
        let ready = Barrier::new(2);
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                let summary = serve(provider, &listeners, &over);
                over.store(true, Ordering::SeqCst);
                summary
            });
            let hostile = scope.spawn(|| {
                let mut clients = HostileClients::default();
                let connected = match hostile {
                    0 => Ok(()),
                    _ => clients.connect(self, &addresses[1..]),
                };
                ready.wait();
                connected?;
                while hostile != 0 && !over.load(Ordering::SeqCst) {
                    let round = Instant::now();
                    clients.step(&addresses[1..])?;
                    thread::sleep(ROUND.saturating_sub(round.elapsed()));
                }
                Ok(())
            });
            let start = Instant::now();
            let honest = self.honest(provider, addresses[0], &ready, &over);
            over.store(true, Ordering::SeqCst);
            let seconds = start.elapsed().as_secs_f64();
            let hostile = hostile.join();
            let hostile: Result<()> =
                hostile.unwrap_or_else(|_| Err("hostile clients panicked".into()));
            let server = server.join();
            let server = server.unwrap_or_else(|_| Err("the server panicked".into()));
            hostile?;
            Ok(Run {
                summary: server?,
                mb_per_s: honest?,
                seconds,
            })
        })
    }

    /// Echoes data with the honest clients for the planned time; returns the 10⁶ bytes per second
    /// that came back.
    fn honest(
        &self,
        provider: Provider,
        address: SocketAddr,
        ready: &Barrier,
        over: &AtomicBool,
    ) -> Result<f64> {
        let crypto = provider.this();
        let (key_type, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let config =
            std::sync::Arc::new(configs::client_of(Versions::Tls13, crypto, key_type, auth));
        let connect = || -> Result<_> {
            let socket = TcpStream::connect(address)?;
            os::configure(&socket)?;
            let mut stream = StreamOwned::new(
                ClientConnection::new(config.clone(), server_name())?,
                socket,
            );
            stream.conn.complete_io(&mut stream.sock)?;
            Ok(stream)
        };
        let clients = (0..self.honest)
            .map(|_| connect())
            .collect::<Result<Vec<_>>>();
        ready.wait();
        let mut clients = clients?;
        let (plaintext, mut answer) = (vec![0x17; WRITE], vec![0; WRITE]);
        let start = Instant::now();
        let mut bytes = 0;
        // each client always has data to send or to receive
        while start.elapsed().as_secs_f64() < self.seconds {
            if over.load(Ordering::SeqCst) {
                return Err("the server has ended".into());
            }
            for client in &mut clients {
                client.write_all(&plaintext)?;
                client.flush()?;
            }
            for client in &mut clients {
                client.read_exact(&mut answer)?;
                if answer != plaintext {
                    return Err("the echo differs from the sent data".into());
                }
                bytes += answer.len();
            }
        }
        Ok(bytes as f64 / 1e6 / start.elapsed().as_secs_f64())
    }
}

/// The bytes that an honest client sends before it waits for their echo.
const WRITE: usize = 1 << 14;

/// The period of the hostile clients' turns.
const ROUND: Duration = Duration::from_millis(20);

/// The result of one run.
pub(crate) struct Run {
    pub(crate) summary: Summary,
    /// Bytes echoed to honest clients.
    pub(crate) mb_per_s: f64,
    pub(crate) seconds: f64,
}

/// The hostile clients.
#[derive(Default)]
struct HostileClients(Vec<Client>);

struct Client {
    /// The index of its kind among those that attack servers.
    index: usize,
    attacker: Attacker,
    socket: TcpStream,
    /// Received bytes that are not processed yet, then bytes still to be sent.
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl HostileClients {
    fn connect(&mut self, plan: &Plan, addresses: &[SocketAddr]) -> Result<()> {
        for (index, &kind) in plan.kinds.iter().enumerate() {
            for _ in 0..plan.of_kind(index) {
                self.0.push(Client::new(index, kind, addresses)?);
            }
        }
        Ok(())
    }

    /// Gives each client a turn. Disconnected clients reconnect.
    fn step(&mut self, addresses: &[SocketAddr]) -> Result<()> {
        for client in &mut self.0 {
            if !client.step()? {
                *client = Client::new(client.index, client.attacker.kind, addresses)?;
            }
        }
        Ok(())
    }
}

impl Client {
    fn new(index: usize, kind: &'static Kind, addresses: &[SocketAddr]) -> Result<Self> {
        let socket = TcpStream::connect(addresses[index])?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self {
            index,
            attacker: Attacker::new(kind)?,
            socket,
            incoming: Vec::new(),
            outgoing: Vec::new(),
        })
    }

    /// Takes a turn; returns whether the connection stays open.
    fn step(&mut self) -> Result<bool> {
        let kind = self.attacker.kind;
        if kind.reads || !self.attacker.is_connected() {
            let mut buffer = [0; 1 << 14];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Ok(false),
                Ok(len) => self.incoming.extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return Ok(false),
            }
        }
        if self.outgoing.is_empty() {
            // only complete records
            let whole = harness::wire::records(&self.incoming);
            let len: usize = whole.iter().map(|record| record.to_bytes().len()).sum();
            let incoming: Vec<u8> = self.incoming.drain(..len).collect();
            match self.attacker.next(&incoming)? {
                Some(bytes) => self.outgoing = bytes,
                None => return Ok(!kind.leaves),
            }
        }
        match self.socket.write(&self.outgoing) {
            Ok(len) => {
                self.outgoing.drain(..len);
                Ok(true)
            }
            Err(error) => Ok(error.kind() == ErrorKind::WouldBlock),
        }
    }
}
