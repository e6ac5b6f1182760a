//! The key as the server sees it: a [`SigningKey`] that asks the keeper.
//!
//! One task owns the connection to the keeper. It sends the requests of all handshakes as they
//! come, and connects again if the connection ends:
//!
//! ```text
//!   sign_async ──┐                     ┌──► requests ──► keeper
//!   sign_async ──┼──► queue ──► task ──┤
//!   sign_async ──┘                ▲    └─── answers ◄───
//!        ▲                        │ by id
//!        └──────── answer ────────┘
//! ```

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use rustls::operation::BoxFuture;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::wire::{DESCRIPTION, Description, Message, SUCCESS};

/// The time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// The requests that may wait to be sent, and those that may wait for an answer. Further handshakes
/// fail.
pub(crate) const QUEUE: usize = 1024;

/// A private key in another process.
#[derive(Debug)]
pub(crate) struct RemoteKey {
    description: Description,
    keeper: Keeper,
}

impl RemoteKey {
    /// Asks the keeper behind the Unix socket `path` for the properties of its key. A handshake
    /// waits for its signature as long as `patience`, and so does this call for the keeper.
    pub(crate) async fn connect(path: &Path, patience: Duration) -> io::Result<Self> {
        let mut failure = ErrorKind::TimedOut.into();
        let opened = timeout(patience, async {
            loop {
                match open(path).await {
                    Ok(opened) => return opened,
                    Err(error) => failure = error,
                }
                // The keeper may start later than this process.
                sleep(PAUSE).await;
            }
        });
        let Ok((stream, description)) = opened.await else {
            return Err(no_connection(&failure));
        };
        let (queue, requests) = mpsc::channel(QUEUE);
        let address = Address {
            path: path.to_owned(),
            patience,
            description: description.clone(),
        };
        tokio::spawn(exchange(address, stream, requests));
        Ok(Self {
            description,
            keeper: Keeper { queue, patience },
        })
    }
}

impl SigningKey for RemoteKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let mut schemes = self.description.schemes.iter().copied();
        Some(Box::new(RemoteSigner {
            scheme: schemes.find(|scheme| offered.contains(scheme))?,
            keeper: self.keeper.clone(),
        }))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let public_key = &self.description.public_key[..];
        (!public_key.is_empty()).then(|| public_key.into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.description.algorithm
    }
}

/// A [`RemoteKey`] with the scheme of one handshake.
#[derive(Debug)]
struct RemoteSigner {
    scheme: SignatureScheme,
    keeper: Keeper,
}

impl Signer for RemoteSigner {
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let (scheme, keeper, message) = (self.scheme, self.keeper.clone(), message.to_vec());
        Some(Box::pin(
            async move { keeper.ask(scheme.into(), message).await },
        ))
    }

    /// Fails: a connection without `set_async` would hold its thread until the keeper answers.
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Err(Error::General("this key needs `set_async`".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

/// The way to the task that talks to the keeper.
#[derive(Clone)]
struct Keeper {
    queue: mpsc::Sender<Request>,
    patience: Duration,
}

/// A request, and the place of its answer.
struct Request {
    code: u16,
    body: Vec<u8>,
    answer: oneshot::Sender<Message>,
}

impl Keeper {
    /// Returns the body of the answer.
    async fn ask(&self, code: u16, body: Vec<u8>) -> Result<Vec<u8>, Error> {
        let failed = |reason: &str| Error::General(format!("the keeper of the key: {reason}"));
        let (answer, answered) = oneshot::channel();
        let request = Request { code, body, answer };
        let sent = self.queue.try_send(request);
        sent.map_err(|_| failed("too many requests wait to be sent"))?;
        let answer = timeout(self.patience, answered).await;
        match answer.map_err(|_| failed("no answer in time"))? {
            Ok(answer) if answer.code == SUCCESS => Ok(answer.body),
            Ok(answer) => Err(failed(&String::from_utf8_lossy(&answer.body))),
            Err(_) => Err(failed("too many requests wait for an answer")),
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// The place of the keeper, and the key that it must have.
struct Address {
    path: PathBuf,
    patience: Duration,
    description: Description,
}

impl Address {
    /// Connects again. A keeper with another key is an error, because its signatures would not fit
    /// the certificate.
    async fn connect(&self) -> io::Result<UnixStream> {
        let (stream, description) = timeout(self.patience, open(&self.path)).await??;
        if description != self.description {
            return Err(io::Error::other("the keeper has another key now"));
        }
        Ok(stream)
    }
}

/// Connects to the keeper, and asks for the properties of its key.
async fn open(path: &Path) -> io::Result<(UnixStream, Description)> {
    let mut stream = UnixStream::connect(path).await?;
    let request = Message {
        id: 0,
        code: DESCRIPTION,
        body: Vec::new(),
    };
    request.write(&mut stream).await?;
    let answer = Message::read(&mut stream).await?;
    match Description::decode(&answer.body) {
        Some(description) if (answer.id, answer.code) == (0, SUCCESS) => Ok((stream, description)),
        _ => Err(io::Error::other("the keeper does not describe its key")),
    }
}

fn no_connection(error: &io::Error) -> io::Error {
    io::Error::other(format!("no connection to the keeper: {error}"))
}

/// Sends `requests` to the keeper, until the last sender is dropped. Connects again if the
/// connection ends, and then repeats the requests without an answer: to sign twice does no harm.
async fn exchange(address: Address, stream: UnixStream, mut requests: mpsc::Receiver<Request>) {
    let waiting = Waiting::default();
    let mut stream = Some(stream);
    let mut was_connected = true;
    while !requests.is_closed() || !requests.is_empty() {
        let ended = async {
            let stream = match stream.take() {
                Some(stream) => stream,
                None => address.connect().await?,
            };
            was_connected = true;
            let (from_keeper, to_keeper) = stream.into_split();
            tokio::select! {
                ended = send(&mut requests, &waiting, to_keeper) => ended,
                ended = receive(&waiting, from_keeper) => ended,
                ended = watch(&waiting, 2 * address.patience) => ended,
            }
        };
        if let Err(error) = ended.await {
            if was_connected {
                eprintln!("remote_key: {}", no_connection(&error));
            }
            was_connected = false;
            sleep(PAUSE).await;
        }
    }
}

/// The requests without an answer, by their ids.
#[derive(Default)]
struct Waiting(Mutex<(u64, BTreeMap<u64, Request>)>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Request>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns its message, or drops it if too many wait.
    fn add(&self, request: Request) -> Option<Message> {
        let (last_id, requests) = &mut *self.lock();
        if requests.len() >= QUEUE {
            requests.retain(|_, request| !request.answer.is_closed());
        }
        if requests.len() >= QUEUE {
            return None;
        }
        *last_id += 1;
        let message = request.message(*last_id);
        requests.insert(*last_id, request);
        Some(message)
    }

    /// Returns the messages of all requests. Forgets those whose handshakes are over.
    fn all(&self) -> Vec<Message> {
        let requests = &mut self.lock().1;
        requests.retain(|_, request| !request.answer.is_closed());
        let messages = requests.iter().map(|(id, request)| request.message(*id));
        messages.collect()
    }

    /// Returns the id of the oldest request.
    fn oldest(&self) -> Option<u64> {
        self.lock().1.keys().next().copied()
    }

    fn remove(&self, id: u64) -> Option<Request> {
        self.lock().1.remove(&id)
    }
}

impl Request {
    fn message(&self, id: u64) -> Message {
        let (code, body) = (self.code, self.body.clone());
        Message { id, code, body }
    }
}

async fn send(
    requests: &mut mpsc::Receiver<Request>,
    waiting: &Waiting,
    mut to_keeper: OwnedWriteHalf,
) -> io::Result<()> {
    for message in waiting.all() {
        message.write(&mut to_keeper).await?;
    }
    while let Some(request) = requests.recv().await {
        if request.answer.is_closed() {
            continue;
        }
        if let Some(message) = waiting.add(request) {
            message.write(&mut to_keeper).await?;
        }
    }
    Ok(())
}

async fn receive(waiting: &Waiting, mut from_keeper: OwnedReadHalf) -> io::Result<()> {
    loop {
        let answer = Message::read(&mut from_keeper).await?;
        if let Some(request) = waiting.remove(answer.id) {
            // The handshake may be over.
            let _ = request.answer.send(answer);
        }
    }
}

/// Ends the connection if a request stays without an answer. A keeper that hangs may have been
/// replaced meanwhile by one that listens at the same place.
async fn watch(waiting: &Waiting, period: Duration) -> io::Result<()> {
    let mut last = None;
    loop {
        sleep(period).await;
        let oldest = waiting.oldest();
        if oldest.is_some() && oldest == last {
            return Err(io::Error::other("it does not answer"));
        }
        last = oldest;
    }
}
