//! Whole programs: a client and a server connect, send in both directions, and close. They run over
//! bad pipes from the first byte, and are dropped at every point where they wait.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::task::Poll;

use harness::peers::configs::{PROVIDERS, Versions, server_name};
use harness::wire::Noise;
use rustls::server::Acceptor;
use rustls::{ClientConfig, ServerConfig};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor, TlsConnector};

use super::early_data::resumable;
use crate::kit::configs;
use crate::kit::executor::Executor;
use crate::kit::pipe::{End, Weather, pipe};
use crate::kit::talk::{Lend, Refresh, Shared, pattern, receive_from, send};

#[derive(Clone, Copy, Debug)]
struct Plan {
    versions: Versions,
    /// `Some` if the client sends early data, with true if the server accepts it.
    early_data: Option<bool>,
    /// True if the server reads the ClientHello first.
    is_lazy: bool,
    /// True to split the streams. Otherwise, their two tasks share a lock.
    is_split: bool,
    weather: Weather,
    /// The numbers of bytes that the client and the server send.
    totals: [usize; 2],
}

/// The program that is dropped, and the number of polls before that.
#[derive(Clone, Copy, Debug)]
enum Drops {
    Nobody,
    Client(usize),
    Server(usize),
}

impl Plan {
    fn configs(&self, seed: u64, noise: &mut Noise) -> (ClientConfig, ServerConfig) {
        let (client, server) = configs(self.versions, PROVIDERS[seed as usize % 2]);
        let Some(is_accepted) = self.early_data else {
            return (client, server);
        };
        let (client, mut resuming) = resumable(noise);
        if !is_accepted {
            resuming.session_storage = server.session_storage;
        }
        (client, resuming)
    }

    /// Runs both programs. Returns their results, which are `None` for a dropped one.
    fn run(&self, seed: u64, drops: Drops) -> [Option<io::Result<()>>; 2] {
        let mut noise = Noise::new(seed);
        let (client, server) = self.configs(seed, &mut noise);
        let (one, other) = pipe(&mut noise, self.weather);
        let results = [const { Cell::new(None) }; 2];
        let polls = match drops {
            Drops::Nobody => [usize::MAX; 2],
            Drops::Client(polls) => [polls, usize::MAX],
            Drops::Server(polls) => [usize::MAX, polls],
        };
        let mut executor = Executor::default();
        let client = self.client(client, one, Noise::new(noise.next()));
        let server = self.server(server, other, Noise::new(noise.next()));
        executor.spawn("client", async {
            results[0].set(at_most(polls[0], client).await);
        });
        executor.spawn("server", async {
            results[1].set(at_most(polls[1], server).await);
        });
        executor.run(&mut noise);
        drop(executor);
        results.map(Cell::into_inner)
    }

    async fn client(self, config: ClientConfig, end: End, noise: Noise) -> io::Result<()> {
        let connector = TlsConnector::from(Arc::new(config)).early_data(self.early_data.is_some());
        let mut stream = connector.connect(server_name(), end).await?;
        let [sends, receives] = self.totals;
        if self.is_split {
            // completes the handshake of a client with early data, as a split needs
            stream.flush().await?;
            let halves = stream.into_split(End::split)?;
            return talk(halves, sends, 0..receives, noise).await;
        }
        talk(Shared::both(stream), sends, 0..receives, noise).await
    }

    async fn server(self, config: ServerConfig, end: End, noise: Noise) -> io::Result<()> {
        let config = Arc::new(config);
        let mut stream = match self.is_lazy {
            true => {
                let acceptor = LazyConfigAcceptor::new(Acceptor::default(), end);
                acceptor.await?.into_stream(config).await?
            }
            false => TlsAcceptor::from(config).accept(end).await?,
        };
        let mut early = Vec::new();
        if let Some(mut early_data) = stream.get_mut().1.early_data() {
            early_data.read_to_end(&mut early)?;
        }
        assert!(
            early
                .iter()
                .enumerate()
                .all(|(at, byte)| *byte == pattern(at))
        );
        let expects_early_data = self.early_data == Some(true) && !self.is_split;
        assert_eq!(!early.is_empty(), expects_early_data);
        let [receives, sends] = self.totals;
        let receives = early.len()..receives;
        match self.is_split {
            true => talk(stream.into_split(End::split)?, sends, receives, noise).await,
            false => talk(Shared::both(stream), sends, receives, noise).await,
        }
    }
}

/// Sends and receives at the same time. A receiver that has not received all bytes must not see a
/// clean end.
async fn talk<R, W>(
    (reader, writer): (R, W),
    sends: usize,
    receives: std::ops::Range<usize>,
    mut noise: Noise,
) -> io::Result<()>
where
    R: Lend,
    W: AsyncWrite + Refresh + Unpin,
{
    let [of_writer, of_reader] = [(); 2].map(|()| Noise::new(noise.next()));
    let sending = send(writer, sends, of_writer);
    let receiving = receive_from(reader, receives.start, of_reader);
    let (sent, (received, end)) = tokio::join!(sending, receiving);
    assert!(received <= receives.end);
    assert!(end.is_err() || received == receives.end);
    end.and(sent)
}

/// Polls `future` at most `polls` times. Returns `None` if it is dropped before it is ready.
async fn at_most<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = Box::pin(future);
    let mut left = polls;
    poll_fn(move |task| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(task) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[test]
fn programs_over_bad_pipes_lose_nothing() {
    for seed in 1..50 {
        let mut noise = Noise::new(seed);
        let mut is = || noise.up_to(2) == 1;
        let early_data = is().then(&mut is);
        let plan = Plan {
            versions: Versions::EACH[usize::from(early_data.is_some() || is())],
            early_data,
            is_lazy: is(),
            is_split: is(),
            weather: Weather::random(&mut noise),
            totals: [noise.up_to(15_000), noise.up_to(15_000)],
        };
        for result in plan.run(seed, Drops::Nobody) {
            result
                .unwrap()
                .unwrap_or_else(|error| panic!("{plan:?}: {error}"));
        }
    }
}

/// The other program must end, too, and must not have received wrong data.
#[test]
fn dropping_a_program_wherever_it_waits_ends_the_other() {
    let mut plans = Vec::new();
    for is_split in [false, true] {
        let [tls12, tls13] = Versions::EACH;
        for (versions, early_data, is_lazy) in [
            (tls12, None, false),
            (tls12, None, true),
            (tls13, None, false),
            (tls13, None, true),
            (tls13, Some(true), true),
            (tls13, Some(false), false),
        ] {
            plans.push(Plan {
                versions,
                early_data,
                is_lazy,
                is_split,
                weather: Weather {
                    capacity: 500,
                    most: 400,
                    pending: 4,
                },
                totals: [2000, 3000],
            });
        }
    }
    for plan in plans {
        for drops in [Drops::Client, Drops::Server] {
            let mut polls = 0;
            loop {
                let results = plan.run(1 + polls as u64 % 3, drops(polls));
                let is_complete = results.iter().all(Option::is_some);
                for error in results.into_iter().flatten().filter_map(Result::err) {
                    let kinds = [ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof];
                    let point = drops(polls);
                    assert!(kinds.contains(&error.kind()), "{plan:?} {point:?}: {error}");
                    assert!(!is_complete, "{plan:?} {point:?}: {error}");
                }
                if is_complete {
                    break;
                }
                polls += 1;
            }
            assert!(polls > 10, "{plan:?}: {polls}");
        }
    }
}
