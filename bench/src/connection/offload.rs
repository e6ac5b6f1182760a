//! A server on one thread, whose signatures take time, and its clients.

use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use harness::peers::configs::server_name;
use harness::peers::os::{leave_first_processor, lower_priority, take_first_processor};
use pki_types::SubjectPublicKeyInfoDer;
use tls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use tls::{
    ClientConfig, ClientConnection, ServerConfig, ServerConnection, SignatureAlgorithm,
    SignatureScheme,
};

use super::configs::configs;
use super::dialect::pairs::Configs;
use super::dialect::pairs::buffered::{hand_over, read, take_in, write};
use super::dialect::{self, tls};
use crate::choices::{KeyType, Role};
use crate::workload::offload::{Handshakes, INTERVAL, Load, Outcome, Service, Setup};
use crate::workload::{Identity, Result, Scenario};

/// Starts a server, and connects the clients that send messages.
pub(crate) fn service(scenario: &Scenario, setup: &Setup) -> Result<Box<dyn Service>> {
    let Configs { client, server } = configs(scenario)?;
    let single = Arc::new(Identity::of(KeyType::EcdsaP256, Role::Server));
    let identity = scenario.server.as_ref().unwrap_or(&single);
    let provider = dialect::provider(scenario.provider);
    let key = provider.key_provider;
    let key = key.load_private_key(identity.key.clone_key())?;
    let key = Arc::new(Slow {
        signs: key,
        delay: setup.delay,
    });
    let key = dialect::offloaded(key, &setup.pool);
    let mut server = (*server).clone();
    let certified = CertifiedKey::new(identity.chain.clone(), key);
    server.cert_resolver = Arc::new(SingleCertAndKey::from(certified));

    let (events, incoming) = channel();
    let (to_clients, answers) = channel();
    let network = Network {
        events: events.clone(),
        config: client,
        next_id: Arc::default(),
    };
    let server = thread::spawn(move || {
        take_first_processor();
        serve(&server.into(), &events, &incoming)
    });
    let mut service = Echo {
        network,
        server: Some(server),
        clients: Vec::new(),
        answers,
    };
    service.connect(setup.connections, &to_clients)?;
    Ok(Box::new(service))
}

/// A key whose signatures take time before they are made.
#[derive(Clone, Debug)]
struct Slow<T> {
    signs: T,
    delay: Duration,
}

impl SigningKey for Slow<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(Slow {
            signs: self.signs.choose_scheme(offered)?,
            delay: self.delay,
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.signs.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.signs.algorithm()
    }
}

impl Signer for Slow<Box<dyn Signer>> {
    fn sign(&self, message: &[u8]) -> core::result::Result<Vec<u8>, tls::Error> {
        if !self.delay.is_zero() {
            thread::sleep(self.delay);
        }
        self.signs.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        self.signs.scheme()
    }
}

/// The bytes that the server sends to the client of this number.
type Answer = (usize, Vec<u8>);

/// The events of the server's thread. Each names a connection.
enum Event {
    Opened {
        id: usize,
        client: Sender<Answer>,
        is_offloaded: bool,
    },
    Received(usize, Vec<u8>),
    Woken(usize),
    Closed(usize),
    /// The server ends.
    Stopped,
}

/// A connection of the server.
struct Connection {
    tls: ServerConnection,
    client: Sender<Answer>,
    waker: Waker,
}

/// A task that becomes an event of its connection.
struct Task {
    id: usize,
    events: Sender<Event>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // nobody listens after the server has stopped
        let _ = self.events.send(Event::Woken(self.id));
    }
}

/// Serves connections until [`Event::Stopped`].
fn serve(
    config: &Arc<ServerConfig>,
    events: &Sender<Event>,
    incoming: &Receiver<Event>,
) -> Result<()> {
    let mut connections = HashMap::new();
    let mut memory = vec![0; 16384];
    for event in incoming {
        let (id, wire) = match event {
            Event::Opened {
                id,
                client,
                is_offloaded,
            } => {
                let mut tls = ServerConnection::new(config.clone())?;
                dialect::set_async(&mut tls, is_offloaded);
                let events = events.clone();
                let waker = Waker::from(Arc::new(Task { id, events }));
                let connection = Connection { tls, client, waker };
                connections.insert(id, connection);
                continue;
            }
            Event::Received(id, wire) => (id, wire),
            Event::Woken(id) => (id, Vec::new()),
            Event::Closed(id) => {
                connections.remove(&id);
                continue;
            }
            Event::Stopped => break,
        };
        // a closed connection may be woken
        if let Some(connection) = connections.get_mut(&id) {
            let answer = connection.advance(&wire, &mut memory)?;
            if !answer.is_empty() {
                // the client may have given up
                let _ = connection.client.send((id, answer));
            }
        }
    }
    Ok(())
}

impl Connection {
    /// Processes `wire`, and the result of an operation. Returns the bytes to send: parts of the
    /// handshake, and the echo.
    fn advance(&mut self, mut wire: &[u8], memory: &mut [u8]) -> Result<Vec<u8>> {
        let (tls, mut answer) = (&mut self.tls, Vec::new());
        loop {
            if !wire.is_empty() {
                tls.read_tls(&mut wire)?;
            }
            tls.process_new_packets()?;
            dialect::poll_operation(tls, &self.waker)?;
            let waiting = tls.process_new_packets()?.plaintext_bytes_to_read();
            let plaintext = memory.get_mut(..waiting).ok_or("the message is too long")?;
            read(tls, waiting, plaintext)?;
            write(tls, plaintext, &mut answer)?;
            while tls.wants_write() {
                tls.write_tls(&mut answer)?;
            }
            if wire.is_empty() {
                return Ok(answer);
            }
        }
    }
}

/// The way from clients to the server.
#[derive(Clone)]
struct Network {
    events: Sender<Event>,
    config: Arc<ClientConfig>,
    next_id: Arc<AtomicUsize>,
}

impl Network {
    /// Opens a connection, whose answers go to `client`, and sends the ClientHello.
    fn open(&self, client: &Sender<Answer>, is_offloaded: bool) -> Result<Client> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(Event::Opened {
            id,
            client: client.clone(),
            is_offloaded,
        })?;
        let tls = ClientConnection::new(self.config.clone(), server_name())?;
        let mut client = Client { id, tls };
        client.flush(self)?;
        Ok(client)
    }

    fn send(&self, event: Event) -> Result<()> {
        let sent = self.events.send(event);
        sent.map_err(|_| "the server has stopped".into())
    }
}

/// A client's connection.
struct Client {
    id: usize,
    tls: ClientConnection,
}

impl Client {
    /// Processes `answer`, and sends what follows. Returns the length of the received plaintext.
    fn receive(&mut self, answer: &[u8], network: &Network) -> Result<usize> {
        let received = take_in(&mut self.tls, answer, &mut [0; 1024])?;
        self.flush(network)?;
        Ok(received)
    }

    fn flush(&mut self, network: &Network) -> Result<()> {
        let mut wire = Vec::new();
        hand_over(&mut self.tls, &mut wire)?;
        if wire.is_empty() {
            return Ok(());
        }
        network.send(Event::Received(self.id, wire))
    }
}

/// The longest time without an answer.
const PATIENCE: Duration = Duration::from_secs(30);

const MESSAGE: [u8; 64] = [0x17; 64];

/// The clients that send messages. The server's thread ends when they are dropped.
struct Echo {
    network: Network,
    server: Option<JoinHandle<Result<()>>>,
    /// The number of each is its place.
    clients: Vec<Client>,
    answers: Receiver<Answer>,
}

impl Echo {
    fn connect(&mut self, connections: usize, answers: &Sender<Answer>) -> Result<()> {
        for _ in 0..connections {
            self.clients.push(self.network.open(answers, false)?);
        }
        let is_new = |client: &Client| client.tls.is_handshaking();
        while self.clients.iter().any(is_new) {
            let (id, answer) = self.answers.recv_timeout(PATIENCE)?;
            self.clients[id].receive(&answer, &self.network)?;
        }
        Ok(())
    }

    /// Sends messages on one connection after the other. Returns the seconds until each echo.
    fn messages(&mut self, duration: Duration) -> Result<Vec<f64>> {
        let start = Instant::now();
        let mut sent: Vec<_> = self.clients.iter().map(|_| VecDeque::new()).collect();
        let (mut latencies, mut count) = (Vec::new(), 0);
        loop {
            let due = INTERVAL * count;
            let is_over = due >= duration;
            let now = start.elapsed();
            if now >= due && !is_over {
                let client = &mut self.clients[count as usize % sent.len()];
                sent[client.id].push_back(Instant::now());
                let mut wire = Vec::new();
                write(&mut client.tls, &MESSAGE, &mut wire)?;
                self.network.send(Event::Received(client.id, wire))?;
                count += 1;
                continue;
            }
            if is_over && latencies.len() == count as usize {
                return Ok(latencies);
            }
            let patience = if is_over { PATIENCE } else { due - now };
            let (id, answer) = match self.answers.recv_timeout(patience) {
                Err(RecvTimeoutError::Timeout) if !is_over => continue,
                received => received?,
            };
            let received = self.clients[id].receive(&answer, &self.network)?;
            // the server answers each message with records of its own
            for _ in 0..received / MESSAGE.len() {
                let sent = sent[id].pop_front().ok_or("an echo of nothing")?;
                latencies.push(sent.elapsed().as_secs_f64());
            }
        }
    }
}

impl Service for Echo {
    fn run(&mut self, load: Load) -> Result<Outcome> {
        let network = self.network.clone();
        thread::scope(|scope| {
            let new = scope.spawn(move || {
                leave_first_processor();
                // they delay nobody, because real clients are on other machines
                lower_priority();
                make_handshakes(&network, load)
            });
            let echo = scope.spawn(|| {
                leave_first_processor();
                self.messages(load.duration)
            });
            let latencies = echo.join().map_err(|_| "a client panicked")?;
            let handshakes_per_s = new.join().map_err(|_| "a client panicked")?;
            Ok(Outcome {
                latencies: latencies?,
                handshakes_per_s: handshakes_per_s?,
            })
        })
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.network.events.send(Event::Stopped);
        if let Some(Ok(Err(error))) = self.server.take().map(JoinHandle::join) {
            eprintln!("bench: the server of `offload` failed: {error}");
        }
    }
}

/// Makes the handshakes of `load`, and completes all of them. Returns their number in a second.
fn make_handshakes(network: &Network, load: Load) -> Result<f64> {
    let (interval, most) = match load.handshakes {
        Handshakes::None => return Ok(0.0),
        Handshakes::PerSecond(number) => (Duration::from_secs(1) / number as u32, usize::MAX),
        Handshakes::AtOnce(number) => (Duration::ZERO, number),
    };
    let (to_clients, answers) = channel();
    let mut clients: HashMap<usize, Client> = HashMap::new();
    let (mut opened, mut completed) = (0, 0);
    let mut due = Duration::ZERO;
    let start = Instant::now();
    loop {
        let now = start.elapsed();
        let is_over = now >= load.duration && opened > 0;
        if is_over && clients.is_empty() {
            return Ok(f64::from(completed) / now.as_secs_f64());
        }
        if now >= due && !is_over && clients.len() < most {
            let client = network.open(&to_clients, load.is_offloaded)?;
            let id = client.id;
            clients.insert(id, client);
            opened += 1;
            // equal pauses would let each handshake begin together with a message
            due = interval.mul_f64(f64::from(opened) + pseudorandom(id));
            continue;
        }
        let patience = match is_over {
            true => PATIENCE,
            false if now < due => due.min(load.duration) - now,
            false => load.duration - now,
        };
        let (id, answer) = match answers.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) if !is_over => continue,
            received => received?,
        };
        let Some(client) = clients.get_mut(&id) else {
            continue;
        };
        client.receive(&answer, network)?;
        if !client.tls.is_handshaking() {
            completed += 1;
            clients.remove(&id);
            network.send(Event::Closed(id))?;
        }
    }
}

/// A number of at least 0 and less than 1 that depends on `seed`.
fn pseudorandom(seed: usize) -> f64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}
