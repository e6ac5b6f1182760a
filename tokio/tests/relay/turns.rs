//! A proxy whose peers are faster than itself, and one whose output buffer holds almost nothing.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions, product, product3, this};
use harness::providers::provider_with_limit;
use harness::wire::Noise;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::task::{coop, yield_now};
use tokio_rustls::copy_bidirectional;
use tokio_rustls::relay::{Plain, Relay, Tls};

use super::ends::{Back, Peer, advance, complete, read_all, tls};
use crate::kit::executor::Flag;
use crate::kit::pipe::{End, Weather, pipe};
use crate::kit::{configs, connected, connected_over};

/// A pipe with room for all data of a test.
const ROOMY: Weather = Weather {
    capacity: 10_000_000,
    ..Weather::CALM
};

/// An amount of data that takes several polls: each copies at most about 1 MiB.
const LEN: usize = 3_000_000;

/// Polls a new relay once. Returns true if the task was woken.
fn poll_once(a: &mut impl Tls, b: &mut impl Relay) -> bool {
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(flag.clone());
    let relay = pin!(copy_bidirectional(a, b));
    let polled = relay.poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending(), "{polled:?}");
    flag.take()
}

/// Polls while the task is woken. Each poll must copy only a part. Returns the number of polls.
fn poll_all<A: Tls, B: Relay>(a: &mut A, b: &mut B, written: impl Fn(&A, &B) -> usize) -> usize {
    for polls in 1.. {
        let before = written(a, b);
        let is_woken = poll_once(a, b);
        let len = written(a, b) - before;
        // the records of 32 turns
        assert!(len <= 32 * 66_000, "{len}");
        if !is_woken {
            return polls;
        }
    }
    unreachable!()
}

/// Outside of tokio's runtime, tasks have no budget.
#[test]
fn a_poll_returns_even_if_a_peer_keeps_sending() {
    for versions in Versions::EACH {
        let data = vec![7; LEN];
        let (mut left, mut front) = tls(versions, ROOMY);
        complete(left.write_all(&data)).unwrap();
        complete(left.flush()).unwrap();
        let (back, mut right) = pipe(&mut Noise::new(3), ROOMY);
        let mut back = Plain(back);
        let polls = poll_all(&mut front, &mut back, |_, back| back.0.written());
        assert!(polls > 2, "{polls}");
        assert!(read_all(&mut right).0 == data);

        // and back
        complete(right.write_all(&data)).unwrap();
        let polls = poll_all(&mut front, &mut back, |front, _| {
            front.get_ref().0.written()
        });
        assert!(polls > 2, "{polls}");
        assert!(read_all(&mut left).0 == data);
    }
}

#[test]
fn a_poll_returns_even_if_a_tls_peer_keeps_sending_to_another() {
    for (of_front, of_back) in product(Versions::EACH, Versions::EACH) {
        let data = vec![7; LEN];
        let (mut left, mut front) = tls(of_front, ROOMY);
        let (mut back, mut right) = tls(of_back, ROOMY);
        complete(left.write_all(&data)).unwrap();
        complete(left.flush()).unwrap();
        let polls = poll_all(&mut front, &mut back, |_, back| back.get_ref().0.written());
        assert!(polls > 2, "{polls}");
        assert!(read_all(&mut right).0 == data);
    }
}

/// Each read returns one byte of a record, so most reads return no data.
#[test]
fn a_poll_returns_even_if_reads_return_no_data() {
    for versions in Versions::EACH {
        let (mut left, mut front) = tls(versions, ROOMY);
        complete(left.write_all(&[7; 2000])).unwrap();
        complete(left.flush()).unwrap();
        left.get_ref().0.set_weather(Weather { most: 1, ..ROOMY });
        let (back, mut right) = pipe(&mut Noise::new(3), ROOMY);
        let mut back = Plain(back);
        let polls = poll_all(&mut front, &mut back, |_, back| back.0.written());
        assert!(polls > 2000 / 32, "{polls}");
        assert_eq!(read_all(&mut right).0, [7; 2000]);
    }
}

/// A transport whose reads, if it is greedy, return a record of one byte and spend the budget of
/// the task.
struct Greedy {
    io: End,
    is_greedy: bool,
}

impl AsyncRead for Greedy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_greedy {
            return Pin::new(&mut self.io).poll_read(task, buf);
        }
        ready!(coop::poll_proceed(task)).made_progress();
        while coop::has_budget_remaining() {
            ready!(coop::poll_proceed(task)).made_progress();
        }
        let mut record = [0; 5 + 1 + 1 + 16];
        let mut record = ReadBuf::new(&mut record);
        while record.remaining() != 0 {
            ready!(Pin::new(&mut self.io).poll_read(task, &mut record))?;
        }
        buf.put_slice(record.filled());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greedy {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(task, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(task)
    }
}

/// One direction spends the budget of the task in every poll that it begins.
#[tokio::test(flavor = "current_thread")]
async fn each_direction_gets_its_turn_even_if_the_other_spends_the_budget() {
    for is_front_greedy in [true, false] {
        let noise = &mut Noise::new(3);
        let greedy = |io| Greedy {
            io,
            is_greedy: false,
        };
        let (one, other) = pipe(noise, ROOMY);
        let configs = configs(Versions::Tls13, PROVIDERS[0]);
        let (mut left, mut front) = connected_over((one, greedy(other)), configs, noise);
        let (one, mut right) = pipe(noise, ROOMY);
        let mut back = Plain(greedy(one));
        for peer in [&mut left as &mut dyn Peer, &mut right] {
            for _ in 0..1000 {
                complete(peer.write_all(&[7])).unwrap();
            }
            complete(peer.flush()).unwrap();
        }
        front.get_mut().0.is_greedy = is_front_greedy;
        back.0.is_greedy = !is_front_greedy;
        let relay = copy_bidirectional(&mut front, &mut back);
        let polls = async {
            for _ in 0..20 {
                yield_now().await;
            }
        };
        tokio::select! {
            ended = relay => panic!("{ended:?}"),
            () = polls => {}
        }
        let other: &mut dyn Peer = if is_front_greedy {
            &mut left
        } else {
            &mut right
        };
        assert!(!read_all(other).0.is_empty(), "{is_front_greedy}");
    }
}

/// Output limits near the length of a KeyUpdate.
const LIMITS: [usize; 6] = [1, 20, 26, 27, 28, 100];

/// The keys protect only a few records, and the peer requests new keys, so writes begin with
/// KeyUpdates.
#[test]
fn key_updates_do_not_end_a_proxy_with_a_small_output_limit() {
    for (provider, limit, is_plain) in product3(PROVIDERS, LIMITS, [false, true]) {
        let worn = || provider_with_limit(provider, 3);
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let client = this::client_of(Versions::Tls13, worn(), key, auth);
        let server = this::server_of(Versions::Tls13, worn(), key, auth);
        let noise = &mut Noise::new(3);
        let (mut left, mut front) = connected((client, server), ROOMY, noise);
        front.get_mut().1.set_buffer_limit(Some(limit));
        left.get_mut().1.refresh_traffic_keys().unwrap();
        complete(left.flush()).unwrap();
        let (mut back, mut right) = match is_plain {
            true => Back::Plain,
            false => Back::Tls(Versions::Tls13),
        }
        .connect(ROOMY);
        let data: Vec<u8> = (0..200).collect();
        complete(right.write_all(&data)).unwrap();
        complete(right.flush()).unwrap();
        let copied = advance(copy_bidirectional(&mut front, &mut *back));
        assert!(copied.is_none(), "{copied:?}");
        let (received, end) = read_all(&mut left);
        assert!(end.is_none() && received == data, "{limit} {is_plain}");
    }
}
