//! The ends of the streams of a proxy, errors, and the memory of a proxy whose peer does not read.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use harness::peers::configs::{PROVIDERS, Versions, product, product3};
use harness::wire::Noise;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream, ReadBuf};
use tokio_rustls::relay::{Plain, Relay};
use tokio_rustls::{client, copy_bidirectional, server};

use crate::kit::executor::poll_while_woken;
use crate::kit::pipe::{End, Weather, pipe};
use crate::kit::{BAD_RECORD, configs, connected, connected_over};

pub(super) type Client = client::TlsStream<End>;
pub(super) type Server = server::TlsStream<End>;

pub(super) trait Peer: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer for S {}

/// The kind of a proxy's second stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Back {
    Tls(Versions),
    Plain,
}

const BACKS: [Back; 3] = [
    Back::Tls(Versions::Tls12),
    Back::Tls(Versions::Tls13),
    Back::Plain,
];

impl Back {
    /// Returns the proxy's stream and the peer's. The proxy's transport has to be flushed.
    pub(super) fn connect(self, weather: Weather) -> (Box<dyn Relay>, Box<dyn Peer>) {
        let noise = &mut Noise::new(3);
        let (back, right) = pipe(noise, weather);
        let back = BufStream::new(back);
        match self {
            Self::Tls(versions) => {
                let configs = configs(versions, PROVIDERS[0]);
                let (back, right) = connected_over((back, right), configs, noise);
                (Box::new(back), Box::new(right))
            }
            Self::Plain => (Box::new(Plain(back)), Box::new(right)),
        }
    }
}

pub(super) fn tls(versions: Versions, weather: Weather) -> (Client, Server) {
    let configs = configs(versions, PROVIDERS[0]);
    connected(configs, weather, &mut Noise::new(7))
}

/// Polls the future until it ends, or waits for another task.
pub(super) fn advance<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match poll_while_woken(|task| future.as_mut().poll(task)) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Completes a future that depends on no other task.
pub(super) fn complete<T>(future: impl Future<Output = T>) -> T {
    advance(future).expect("it waits")
}

/// Reads all that has arrived. Returns the end, if it has arrived too.
pub(super) fn read_all(peer: &mut (impl Peer + ?Sized)) -> (Vec<u8>, Option<io::Result<()>>) {
    let mut all = Vec::new();
    loop {
        let mut out = [0; 1000];
        let mut buf = ReadBuf::new(&mut out);
        let task = &mut Context::from_waker(Waker::noop());
        let end = match Pin::new(&mut *peer).poll_read(task, &mut buf) {
            Poll::Ready(Ok(())) if !buf.filled().is_empty() => None,
            Poll::Ready(end) => Some(Some(end)),
            Poll::Pending => Some(None),
        };
        all.extend_from_slice(buf.filled());
        if let Some(end) = end {
            return (all, end);
        }
    }
}

fn assert_clean_end(peer: &mut (impl Peer + ?Sized)) {
    let (data, end) = read_all(peer);
    assert!(data.is_empty() && matches!(end, Some(Ok(()))), "{end:?}");
}

#[test]
fn a_direction_continues_after_the_other_has_ended() {
    for (versions, kind, left_first) in product3(Versions::EACH, BACKS, [false, true]) {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (mut back, mut right) = kind.connect(Weather::CALM);
        let mut relay = pin!(copy_bidirectional(&mut front, &mut *back));
        let (first, second): (&mut dyn Peer, &mut dyn Peer) = match left_first {
            true => (&mut left, &mut *right),
            false => (&mut *right, &mut left),
        };
        complete(first.write_all(b"early")).unwrap();
        complete(first.shutdown()).unwrap();
        assert!(advance(relay.as_mut()).is_none());
        let (data, end) = read_all(second);
        assert_eq!(data, b"early");
        assert!(matches!(end, Some(Ok(()))), "{end:?}");

        complete(second.write_all(b"late, but it arrives")).unwrap();
        complete(second.flush()).unwrap();
        assert!(advance(relay.as_mut()).is_none());
        assert_eq!(read_all(first).0, b"late, but it arrives");
        complete(second.shutdown()).unwrap();
        let copied = complete(relay.as_mut()).unwrap();
        assert_clean_end(first);
        assert_eq!(copied, if left_first { (5, 20) } else { (20, 5) });
    }
}

#[test]
fn a_message_is_flushed_while_both_streams_stay_open() {
    for (versions, kind) in product(Versions::EACH, BACKS) {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (mut back, mut right) = kind.connect(Weather::CALM);
        let mut relay = pin!(copy_bidirectional(&mut front, &mut *back));
        for len in [1, 100, 20_000, 100_000, 3] {
            let message = vec![len as u8; len];
            complete(left.write_all(&message)).unwrap();
            complete(left.flush()).unwrap();
            assert!(advance(relay.as_mut()).is_none());
            assert!(read_all(&mut *right).0 == message);
            complete(right.write_all(&message)).unwrap();
            complete(right.flush()).unwrap();
            assert!(advance(relay.as_mut()).is_none());
            assert!(read_all(&mut left).0 == message);
        }
    }
}

/// Data received before an error is passed on, even if the other stream accepts only a little at a
/// time.
#[test]
fn data_before_an_error_is_relayed_first() {
    let narrow = Weather {
        capacity: 500,
        ..Weather::CALM
    };
    for (versions, len) in product(Versions::EACH, 1000..1010) {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (back, mut right) = pipe(&mut Noise::new(3), narrow);
        complete(left.write_all(&vec![1; len])).unwrap();
        complete(left.flush()).unwrap();
        // long, so that one read usually gets the data and the bad record
        let garbage = [&BAD_RECORD[..], &[0; 2900]].concat();
        left.get_mut().0.inject_outgoing(&garbage);
        let mut back = Plain(back);
        let mut relay = pin!(copy_bidirectional(&mut front, &mut back));
        let (mut received, mut error) = (Vec::new(), None);
        while error.is_none() {
            error = advance(relay.as_mut());
            received.extend(read_all(&mut right).0);
        }
        assert_eq!(error.unwrap().unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(received == vec![1; len], "{} of {len}", received.len());
    }
}

/// The first call is dropped before it has flushed.
#[test]
fn a_message_left_by_a_dropped_call_is_flushed_by_the_next() {
    for (versions, of_back) in product(Versions::EACH, [None, Some(Versions::Tls13)]) {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let noise = &mut Noise::new(3);
        let (back, mut right) = pipe(noise, Weather::CALM);
        complete(left.write_all(b"data")).unwrap();
        complete(left.flush()).unwrap();
        let unflushed = |back| SlowToFlush {
            io: BufStream::new(back),
            is_delayed: true,
        };
        let call_twice = |front: &mut Server, back: &mut dyn Relay| {
            for _ in 0..2 {
                let task = &mut Context::from_waker(Waker::noop());
                let relay = pin!(copy_bidirectional(front, back));
                assert!(relay.poll(task).is_pending());
            }
        };
        match of_back {
            None => {
                call_twice(&mut front, &mut Plain(unflushed(back)));
                assert_eq!(read_all(&mut right).0, b"data");
            }
            Some(of_back) => {
                let configs = configs(of_back, PROVIDERS[0]);
                let ends = (unflushed(back), right);
                let (mut back, mut right) = connected_over(ends, configs, noise);
                back.get_mut().0.is_delayed = true;
                call_twice(&mut front, &mut back);
                assert_eq!(read_all(&mut right).0, b"data");
            }
        }
    }
}

/// A transport with a buffer, whose flush is pending once.
struct SlowToFlush {
    io: BufStream<End>,
    is_delayed: bool,
}

impl AsyncRead for SlowToFlush {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(task, buf)
    }
}

impl AsyncWrite for SlowToFlush {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(task, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.is_delayed) {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.io).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(task)
    }
}

/// Breaks a proxy, and checks that the other peer does not see a clean end. A TLS peer does not see
/// one even when the proxy drops both streams.
fn assert_no_clean_end(
    what: &str,
    kind: Back,
    expected: ErrorKind,
    breaks: impl Fn(&mut Client, &mut Server) -> bool,
) {
    for versions in Versions::EACH {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (mut back, mut right) = kind.connect(Weather::CALM);
        complete(left.write_all(b"data")).unwrap();
        complete(left.flush()).unwrap();
        let is_left_gone = breaks(&mut left, &mut front);
        if is_left_gone {
            drop(left);
        }
        let error = complete(copy_bidirectional(&mut front, &mut *back)).unwrap_err();
        assert_eq!(error.kind(), expected, "{what}, {kind:?}");
        let (data, end) = read_all(&mut *right);
        assert_eq!(data, b"data", "{what}, {kind:?}");
        assert!(end.is_none(), "{what}, {kind:?}: {end:?}");
        drop((front, back));
        let (_, end) = read_all(&mut *right);
        let is_truncated =
            matches!(&end, Some(Err(error)) if error.kind() == ErrorKind::UnexpectedEof);
        assert!(
            kind == Back::Plain || is_truncated,
            "{what}, {kind:?}: {end:?}"
        );
    }
}

#[test]
fn an_unauthenticated_end_is_not_passed_on() {
    for kind in BACKS {
        assert_no_clean_end("it vanishes", kind, ErrorKind::UnexpectedEof, |_, _| true);
        assert_no_clean_end(
            "it half-closes",
            kind,
            ErrorKind::UnexpectedEof,
            |left, _| {
                left.get_mut().0.end();
                false
            },
        );
        assert_no_clean_end("bad record", kind, ErrorKind::InvalidData, |left, _| {
            // long, so that one read gets the data and the bad record
            let garbage = [&[23, 3, 3, 0, 30][..], &[0; 3000]].concat();
            left.get_mut().0.inject_outgoing(&garbage);
            false
        });
        // the beginning of a record
        assert_no_clean_end("cut record", kind, ErrorKind::UnexpectedEof, |left, _| {
            left.get_mut().0.inject_outgoing(&[23, 3, 3, 0, 30, 1, 2]);
            true
        });
    }
}

/// The first stream gets the data, but no clean end.
#[test]
fn an_unauthenticated_end_of_the_second_stream_is_not_passed_on() {
    for (versions, of_back) in product(Versions::EACH, Versions::EACH) {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (mut right, mut back) = tls(of_back, Weather::CALM);
        complete(right.write_all(b"data")).unwrap();
        complete(right.flush()).unwrap();
        drop(right);
        let error = complete(copy_bidirectional(&mut front, &mut back)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        drop((front, back));
        let (data, end) = read_all(&mut left);
        assert_eq!(data, b"data");
        assert_eq!(end.unwrap().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

/// A second call without the limit passes everything on.
#[test]
fn nothing_is_read_from_a_plain_stream_without_room_for_output() {
    for versions in Versions::EACH {
        let (mut left, mut front) = tls(versions, Weather::CALM);
        let (back, mut right) = pipe(&mut Noise::new(3), Weather::CALM);
        let mut back = Plain(back);
        complete(right.write_all(b"data")).unwrap();
        front.get_mut().1.set_buffer_limit(Some(0));
        let error = complete(copy_bidirectional(&mut front, &mut back)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
        front.get_mut().1.set_buffer_limit(Some(100));
        assert!(advance(copy_bidirectional(&mut front, &mut back)).is_none());
        assert_eq!(read_all(&mut left).0, b"data");
    }
}

#[test]
fn a_peer_that_does_not_read_limits_the_buffered_data() {
    const CAPACITY: usize = 10_000;
    let narrow = Weather {
        capacity: CAPACITY,
        ..Weather::CALM
    };
    for (versions, kind, to_right) in product3(Versions::EACH, BACKS, [false, true]) {
        let (mut left, mut front) = tls(versions, narrow);
        let (mut back, mut right) = kind.connect(narrow);
        let mut relay = pin!(copy_bidirectional(&mut front, &mut *back));
        let sender: &mut dyn Peer = if to_right { &mut left } else { &mut *right };
        let (data, mut sent, mut idle) = (vec![1; 5000], 0, 0);
        while idle < 3 {
            idle += 1;
            while let Some(len) = advance(sender.write(&data)) {
                sent += len.unwrap();
                idle = 0;
                if advance(sender.flush()).is_none() {
                    break;
                }
            }
            assert!(advance(relay.as_mut()).is_none());
        }
        // in both pipes, in the sender's connection, and in both connections of the proxy
        let most = 2 * CAPACITY + (64 << 10) + 2 * (72 << 10);
        assert!(
            (CAPACITY..most).contains(&sent),
            "{versions:?}, {kind:?}: {sent}"
        );
    }
}

/// A stream that is always ready: it ends after `left` bytes, and drops what is written.
struct Eager {
    left: usize,
}

impl AsyncRead for Eager {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let len = self.left.min(10);
        self.left -= len;
        buf.put_slice(&[1; 10][..len]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Eager {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_proxy_with_fast_streams_lets_other_tasks_run() {
    const RECORDS: usize = 5000;
    let (mut left, mut front) = tls(Versions::Tls13, Weather::CALM);
    let short = Weather {
        most: 100,
        ..Weather::CALM
    };
    left.get_ref().0.set_weather(short);
    complete(left.write_all(&[1; 100])).unwrap();
    for _ in 0..RECORDS {
        complete(left.write_all(&[1; 100])).unwrap();
    }
    complete(left.shutdown()).unwrap();
    let mut eager = Plain(Eager { left: 0 });
    let has_ended = Cell::new(false);
    let relay = async {
        copy_bidirectional(&mut front, &mut eager).await.unwrap();
        has_ended.set(true);
    };
    let counts = async {
        let mut turns = 0;
        while !has_ended.get() {
            turns += 1;
            tokio::task::yield_now().await;
        }
        turns
    };
    let ((), turns) = tokio::join!(relay, counts);
    // a task's budget is 128 operations
    assert!(turns >= RECORDS / 128, "{turns}");
    assert_eq!(left.read(&mut [0; 10]).await.unwrap(), 0);
}
