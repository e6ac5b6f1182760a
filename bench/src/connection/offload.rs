//! A server on one thread, whose signatures take time, and its clients.

use core::time::Duration;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Instant;

use harness::peers::configs::server_name;
use harness::peers::os::{leave_first_processor, lower_priority, take_first_processor};
use tls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use tls::{
    ClientConfig, ClientConnection, ServerConfig, ServerConnection, SignatureAlgorithm,
    SignatureScheme,
};

use super::configs::configs;
use super::dialect::pairs::Configs;
use super::dialect::pairs::buffered::{hand_over, take_in};
use super::dialect::{self, tls};
use crate::workload::offload::{AT_ONCE, INTERVAL, Pool, Service};
use crate::workload::{Result, Scenario};

/// Starts a server, and connects the clients that send messages. The server's thread sleeps until
/// the process ends.
pub(crate) fn service(
    scenario: &Scenario,
    connections: usize,
    delay: Duration,
    pool: &Pool,
) -> Result<Service> {
    let Configs { client, mut server } = configs(scenario)?;
    let identity = &scenario.server;
    let keys = dialect::provider(scenario.provider).key_provider;
    let signs = keys.load_private_key(identity.key.clone_key())?;
    let key = dialect::offloaded(Arc::new(Slow { signs, delay }), pool);
    let certified = CertifiedKey::new(identity.chain.clone(), key);
    Arc::make_mut(&mut server).cert_resolver = Arc::new(SingleCertAndKey::from(certified));

    let (events, incoming) = channel();
    let network = Network {
        events: events.clone(),
        config: client,
        next_id: AtomicUsize::default(),
    };
    thread::spawn(move || {
        take_first_processor();
        if let Err(error) = serve(&server, &events, &incoming) {
            eprintln!("bench: the server of `offload` failed: {error}");
        }
    });
    let mut answers = channel();
    let clients = (0..connections).map(|_| network.connect(&answers, false));
    let mut clients: Vec<_> = clients.collect::<Result<_>>()?;
    Ok(Box::new(move |per_second, is_offloaded, duration| {
        let (network, clients, answers) = (&network, &mut clients, &mut answers.1);
        thread::scope(|scope| {
            let new =
                scope.spawn(move || make_handshakes(network, per_second, is_offloaded, duration));
            let echo = scope.spawn(|| {
                leave_first_processor();
                messages(network, clients, answers, duration)
            });
            let latencies = echo.join().map_err(|_| "a client panicked")?;
            let rate = new.join().map_err(|_| "a client panicked")?;
            Ok((latencies?, rate?))
        })
    }))
}

/// A key whose signatures take time before they are made.
#[derive(Clone, Debug)]
struct Slow<T> {
    signs: T,
    delay: Duration,
}

impl SigningKey for Slow<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let (signs, delay) = (self.signs.choose_scheme(offered)?, self.delay);
        Some(Box::new(Slow { signs, delay }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.signs.algorithm()
    }
}

impl Signer for Slow<Box<dyn Signer>> {
    fn sign(&self, message: &[u8]) -> core::result::Result<Vec<u8>, tls::Error> {
        thread::sleep(self.delay);
        self.signs.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        self.signs.scheme()
    }
}

/// The bytes that the server sends to the client with this number.
type ServerOutput = (usize, Vec<u8>);

/// The events of the server's thread. Each names its connection.
enum Event {
    /// The channel is for the answers. The signatures are offloaded if the last value is true.
    Opened(usize, Sender<ServerOutput>, bool),
    /// Bytes have arrived, or an operation has ended.
    Ready(usize, Vec<u8>),
    Closed(usize),
}

/// The task of a waker, which sends an event for its connection.
struct Task(usize, Sender<Event>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // nobody listens after the server has failed
        let _ = self.1.send(Event::Ready(self.0, Vec::new()));
    }
}

/// Serves connections.
fn serve(
    config: &Arc<ServerConfig>,
    events: &Sender<Event>,
    incoming: &Receiver<Event>,
) -> Result<()> {
    let mut connections = HashMap::new();
    for event in incoming {
        match event {
            Event::Opened(id, client, is_offloaded) => {
                let mut tls = ServerConnection::new(config.clone())?;
                dialect::set_async(&mut tls, is_offloaded);
                let waker = Waker::from(Arc::new(Task(id, events.clone())));
                connections.insert(id, (tls, waker, client));
            }
            Event::Ready(id, wire) => {
                // a closed connection may be woken
                let Some((tls, waker, client)) = connections.get_mut(&id) else {
                    continue;
                };
                let answer = answer(tls, waker, &wire)?;
                if !answer.is_empty() {
                    // the client may have given up
                    let _ = client.send((id, answer));
                }
            }
            Event::Closed(id) => drop(connections.remove(&id)),
        }
    }
    Ok(())
}

/// Processes `wire`, and the result of an operation. Returns the bytes to send: parts of the
/// handshake, and the echo.
fn answer(tls: &mut ServerConnection, waker: &Waker, wire: &[u8]) -> Result<Vec<u8>> {
    let (mut message, mut answer) = ([0; MESSAGE_LEN], Vec::new());
    let received = take_in(tls, wire, &mut message)?;
    dialect::poll_operation(tls, waker)?;
    tls.process_new_packets()?;
    tls.writer().write_all(&message[..received])?;
    hand_over(tls, &mut answer)?;
    Ok(answer)
}

/// The network, as the clients see it.
struct Network {
    events: Sender<Event>,
    config: Arc<ClientConfig>,
    next_id: AtomicUsize,
}

impl Network {
    /// Makes a handshake. The answers arrive at `answers`.
    fn connect(
        &self,
        (to_client, answers): &(Sender<ServerOutput>, Receiver<ServerOutput>),
        is_offloaded: bool,
    ) -> Result<Client> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(Event::Opened(id, to_client.clone(), is_offloaded))?;
        let tls = ClientConnection::new(self.config.clone(), server_name())?;
        let mut client = Client { id, tls };
        client.flush(self)?;
        while client.tls.is_handshaking() {
            let (_, answer) = answers.recv_timeout(PATIENCE)?;
            client.receive(&answer, self)?;
        }
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

const MESSAGE_LEN: usize = 64;

impl Client {
    /// Processes `answer`, and sends what follows. Returns the time in the echo, if there is one.
    fn receive(&mut self, answer: &[u8], network: &Network) -> Result<Option<f64>> {
        let mut message = [0; MESSAGE_LEN];
        let received = take_in(&mut self.tls, answer, &mut message)?;
        self.flush(network)?;
        let time = message.first_chunk().filter(|_| received != 0);
        Ok(time.map(|time| f64::from_be_bytes(*time)))
    }

    /// Sends a message that begins with `time`.
    fn send(&mut self, time: f64, network: &Network) -> Result<()> {
        let mut message = [0x17; MESSAGE_LEN];
        message[..8].copy_from_slice(&time.to_be_bytes());
        self.tls.writer().write_all(&message)?;
        self.flush(network)
    }

    fn flush(&mut self, network: &Network) -> Result<()> {
        let mut wire = Vec::new();
        hand_over(&mut self.tls, &mut wire)?;
        if wire.is_empty() {
            return Ok(());
        }
        network.send(Event::Ready(self.id, wire))
    }
}

/// The longest time without an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends messages on one connection after the other. The number of each is its place in `clients`.
/// Returns the seconds until each echo.
fn messages(
    network: &Network,
    clients: &mut [Client],
    answers: &mut Receiver<ServerOutput>,
    duration: Duration,
) -> Result<Vec<f64>> {
    let (start, mut sent, mut latencies) = (Instant::now(), 0_u32, Vec::new());
    loop {
        let (now, due) = (start.elapsed(), INTERVAL * sent);
        let is_over = due >= duration;
        if is_over && latencies.len() == sent as usize {
            return Ok(latencies);
        }
        if !is_over && now >= due {
            let at = sent as usize % clients.len();
            clients[at].send(now.as_secs_f64(), network)?;
            sent += 1;
            continue;
        }
        let pause = if is_over { PATIENCE } else { due - now };
        let (id, answer) = match answers.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) if !is_over => continue,
            received => received?,
        };
        if let Some(sent) = clients[id].receive(&answer, network)? {
            latencies.push(start.elapsed().as_secs_f64() - sent);
        }
    }
}

/// Starts `per_second` handshakes a second for `duration`, and completes all of them. Returns the
/// completed handshakes per second.
fn make_handshakes(
    network: &Network,
    per_second: f64,
    is_offloaded: bool,
    duration: Duration,
) -> Result<f64> {
    if per_second == 0.0 {
        return Ok(0.0);
    }
    let interval = Duration::from_secs_f64(1.0 / per_second);
    let (start, begun) = (Instant::now(), AtomicU32::new(0));
    let client = || -> Result<u32> {
        leave_first_processor();
        // real clients are on other machines, so these must delay nobody
        lower_priority();
        let mut completed = 0;
        loop {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            // with equal pauses, each handshake would begin together with a message
            let due = interval.mul_f64(f64::from(number) + pseudorandom(number));
            if number > 0 && due.max(start.elapsed()) >= duration {
                return Ok(completed);
            }
            thread::sleep(due.saturating_sub(start.elapsed()));
            let client = network.connect(&channel(), is_offloaded)?;
            network.send(Event::Closed(client.id))?;
            completed += 1;
        }
    };
    let completed = thread::scope(|scope| {
        let clients = (0..AT_ONCE).map(|_| scope.spawn(client));
        let clients: Vec<_> = clients.collect();
        let completed = clients.into_iter().map(|client| {
            let completed = client.join().map_err(|_| "a client panicked")?;
            completed.map(f64::from)
        });
        completed.sum::<Result<f64>>()
    });
    Ok(completed? / start.elapsed().as_secs_f64())
}

/// Returns a number from 0 up to, but not including, 1 that depends on `seed`.
fn pseudorandom(seed: u32) -> f64 {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(seed);
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}
