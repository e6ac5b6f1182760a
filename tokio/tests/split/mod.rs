//! Halves of streams: the work that one half passes to the other, and the streams that cannot be
//! split.

use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use harness::peers::configs::{
    ClientAuth, KeyType, PROVIDERS, Versions, product, server_name, this,
};
use harness::providers::hooked;
use harness::verifiers::hooked::Hook;
use harness::wire::Noise;
use rustls::observer::{Direction, KeysUpdated, Observed, Observer};
use rustls::{ContentType, Error, Side};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream, client, server};

use crate::kit::executor::{Executor, Flag, poll_while_woken};
use crate::kit::pipe::{End, Weather};
use crate::kit::{BAD_RECORD, configs, connected, connected_over};

type Streams = (client::TlsStream<End>, server::TlsStream<End>);

fn streams(versions: Versions) -> Streams {
    let configs = configs(versions, PROVIDERS[0]);
    connected(configs, Weather::CALM, &mut Noise::new(1))
}

#[test]
fn halves_keep_received_and_queued_data() {
    let (mut client, mut server) = streams(Versions::Tls13);
    let mut executor = Executor::default();
    executor.spawn("both", async move {
        client.write_all(b"hello").await.unwrap();
        client.flush().await.unwrap();
        let mut one = [0; 1];
        server.read_exact(&mut one).await.unwrap();
        server.get_mut().1.refresh_traffic_keys().unwrap();
        let (mut reader, mut writer) = server.into_split(End::split).unwrap();
        let mut rest = [0; 4];
        reader.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"ello");
        writer.write_all(b"answer").await.unwrap();
        writer.shutdown().await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
        // half-closed: the other direction continues
        client.write_all(b"more").await.unwrap();
        client.shutdown().await.unwrap();
        let mut more = Vec::new();
        reader.read_to_end(&mut more).await.unwrap();
        assert_eq!(more, b"more");
    });
    executor.run(&mut Noise::new(1));
}

#[test]
fn an_idle_writer_is_woken_to_answer_a_key_update() {
    let (mut client, server) = streams(Versions::Tls13);
    let (mut reader, mut writer) = server.into_split(End::split).unwrap();
    let mut executor = Executor::default();
    executor.spawn("writer", async move {
        writer.wants_flush().await;
        let before = written(&writer);
        writer.flush().await.unwrap();
        assert!(written(&writer) > before);
        writer.shutdown().await.unwrap();
    });
    executor.spawn("client", async move {
        client.get_mut().1.refresh_traffic_keys().unwrap();
        client.flush().await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        client.shutdown().await.unwrap();
    });
    executor.spawn("reader", async move {
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).await.unwrap();
    });
    executor.run(&mut Noise::new(1));
}

fn written(writer: &tokio_rustls::split::WriteHalf<crate::kit::pipe::WriteEnd>) -> usize {
    writer.get_ref().0.written()
}

#[test]
fn an_idle_writer_is_woken_to_send_the_alert_of_the_reader() {
    for versions in Versions::EACH {
        let (mut client, server) = streams(versions);
        let (mut reader, mut writer) = server.into_split(End::split).unwrap();
        reader.get_ref().0.inject(&BAD_RECORD);
        let mut executor = Executor::default();
        executor.spawn("writer", async move {
            writer.wants_flush().await;
            let error = writer.flush().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            let error = writer.write(b"more").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            writer.shutdown().await.unwrap();
        });
        executor.spawn("reader", async move {
            let error = reader.read(&mut [0; 9]).await.unwrap_err();
            assert_eq!(error.to_string(), Error::DecryptError.to_string());
            let again = reader.read(&mut [0; 9]).await.unwrap_err();
            assert_eq!(again.to_string(), error.to_string());
        });
        executor.spawn("client", async move {
            let error = client.read(&mut [0; 9]).await.unwrap_err();
            assert!(error.to_string().contains("BadRecordMac"), "{error}");
        });
        executor.run(&mut Noise::new(1));
    }
}

/// A program may drop the half after the error, so the alert must be sent by then.
#[test]
fn a_write_that_gets_the_error_of_the_reader_sends_the_alert() {
    for versions in Versions::EACH {
        for is_vectored in [false, true] {
            let (mut client, server) = streams(versions);
            let (mut reader, mut writer) = server.into_split(End::split).unwrap();
            reader.get_ref().0.inject(&BAD_RECORD);
            let mut executor = Executor::default();
            executor.spawn("server", async move {
                reader.read(&mut [0; 9]).await.unwrap_err();
                let written = match is_vectored {
                    true => writer.write_vectored(&[IoSlice::new(b"data")]).await,
                    false => writer.write(b"data").await,
                };
                let error = written.unwrap_err();
                assert_eq!(error.to_string(), Error::DecryptError.to_string());
            });
            executor.spawn("client", async move {
                let error = client.read(&mut [0; 9]).await.unwrap_err();
                assert!(error.to_string().contains("BadRecordMac"), "{error}");
            });
            executor.run(&mut Noise::new(1));
        }
    }
}

/// The transport accepts no more, and the peer reads nothing: without the wake-up, the writer would
/// wait forever.
#[test]
fn a_write_that_waits_gets_the_error_of_the_reader() {
    let (client, server) = streams(Versions::Tls13);
    let (mut reader, mut writer) = server.into_split(End::split).unwrap();
    reader.get_ref().0.set_weather(Weather {
        capacity: 1000,
        ..Weather::CALM
    });
    let mut executor = Executor::default();
    executor.spawn("writer", async move {
        let error = loop {
            if let Err(error) = writer.write(&[0; 10_000]).await {
                break error;
            }
        };
        assert_eq!(error.to_string(), Error::DecryptError.to_string());
    });
    executor.spawn("reader", async move {
        // let the writer get stuck first
        let mut turns = 0;
        poll_fn(|task| {
            turns += 1;
            task.waker().wake_by_ref();
            if turns == 20 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        reader.get_ref().0.inject(&BAD_RECORD);
        reader.read(&mut [0; 9]).await.unwrap_err();
    });
    executor.run(&mut Noise::new(1));
    drop(client);
}

/// The stream is whole, behind a lock. The alert of a failed read must not displace a task that
/// waits to write.
#[test]
fn a_write_that_waits_gets_the_error_of_a_read() {
    let (client, server) = streams(Versions::Tls13);
    server.get_ref().0.set_weather(Weather {
        capacity: 1000,
        ..Weather::CALM
    });
    let (mut reader, mut writer) = tokio::io::split(server);
    let mut executor = Executor::default();
    executor.spawn("writer", async {
        let error = loop {
            if let Err(error) = writer.write(&[0; 10_000]).await {
                break error;
            }
        };
        assert_eq!(error.to_string(), Error::DecryptError.to_string());
    });
    let client = &client;
    executor.spawn("reader", async move {
        let mut out = [0; 9];
        let mut turns = 0;
        let error = poll_fn(|task| {
            turns += 1;
            if turns == 20 {
                client.get_ref().0.inject_outgoing(&BAD_RECORD);
            }
            task.waker().wake_by_ref();
            let mut buf = ReadBuf::new(&mut out);
            Pin::new(&mut reader).poll_read(task, &mut buf)
        });
        error.await.unwrap_err();
    });
    executor.run(&mut Noise::new(1));
}

/// The transport is another TLS stream, which can delay a flush.
#[test]
fn a_flush_that_waits_gets_the_error_of_a_read() {
    let (mut client, server) = nested();
    let (reader, writer) = tokio::io::split(server);
    run_until_bad_record(reader, writer, &mut client);

    let (mut client, server) = nested();
    let (reader, writer) = server.into_split(tokio::io::split).unwrap();
    run_until_bad_record(reader, writer, &mut client);
}

/// Returns streams over streams. The server's output does not fit into the pipe.
fn nested() -> (client::TlsStream<impl Inner>, server::TlsStream<impl Inner>) {
    let configs = configs(Versions::Tls13, PROVIDERS[0]);
    let (client, server) = connected_over(streams(Versions::Tls13), configs, &mut Noise::new(1));
    server.get_ref().0.get_ref().0.set_weather(Weather {
        capacity: 1000,
        ..Weather::CALM
    });
    (client, server)
}

trait Inner: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner for S {}

fn run_until_bad_record(
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    peer: &mut client::TlsStream<impl Inner>,
) {
    let mut executor = Executor::default();
    executor.spawn("writer", async move {
        writer.write_all(&[0; 10_000]).await.unwrap();
        let error = writer.flush().await.unwrap_err();
        assert_eq!(error.to_string(), Error::DecryptError.to_string());
    });
    executor.spawn("reader", async move {
        reader.read(&mut [0; 9]).await.unwrap_err();
    });
    executor.spawn("peer", async {
        // let the writer get stuck first
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let (inner, _) = peer.get_mut();
        inner.write_all(&BAD_RECORD).await.unwrap();
        inner.flush().await.unwrap();
    });
    executor.run(&mut Noise::new(1));
}

/// An observer that panics when keys are replaced in one direction.
#[derive(Debug)]
struct PanicsAt(Direction);

impl Observer for PanicsAt {
    fn keys_updated(&self, _: &Observed<'_>, update: &KeysUpdated) {
        if update.direction == self.0 {
            // no message on the terminal
            resume_unwind(Box::new("planned"));
        }
    }
}

/// Polls `future`, which must panic.
async fn panics(future: impl Future) {
    let mut future = pin!(future);
    let polled = poll_fn(|task| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(task).map(drop));
        match catch_unwind(poll) {
            Ok(polled) => polled.map(|()| false),
            Err(_) => Poll::Ready(true),
        }
    });
    assert!(polled.await);
}

/// A task that panics drops its half. The connection has failed, so the other task must not wait
/// for the peer.
#[test]
fn a_half_whose_task_panics_wakes_the_other() {
    for direction in [Direction::Sending, Direction::Receiving] {
        let (client, mut server) = configs(Versions::Tls13, PROVIDERS[0]);
        server.observer = Some(Arc::new(PanicsAt(direction)));
        let (mut client, server) = connected((client, server), Weather::CALM, &mut Noise::new(1));
        let (mut reader, mut writer) = server.into_split(End::split).unwrap();
        let mut executor = Executor::default();
        executor.spawn("reader", async move {
            match direction {
                Direction::Receiving => panics(reader.read(&mut [0; 9])).await,
                _ => drop(reader.read(&mut [0; 9]).await.unwrap_err()),
            }
        });
        executor.spawn("writer", async move {
            writer.wants_flush().await;
            match direction {
                Direction::Sending => panics(writer.flush()).await,
                _ => drop(writer.flush().await.unwrap_err()),
            }
        });
        // the peer sends nothing more, and does not leave
        executor.spawn("peer", async {
            client.get_mut().1.refresh_traffic_keys().unwrap();
            client.flush().await.unwrap();
        });
        executor.run(&mut Noise::new(1));
    }
}

/// Fails to seal records while set.
#[derive(Clone, Debug, Default)]
struct RefusesToSeal(Arc<AtomicBool>);

impl Hook for RefusesToSeal {
    fn called(&self, _: &'static str) -> bool {
        false
    }

    fn seals(&self, _: &'static str, _: ContentType) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The messages that a writing half sends without data. The half is not dropped, and the peer sends
/// nothing more.
#[test]
fn a_read_that_waits_gets_the_error_of_a_key_update_or_close_notify() {
    for (provider, is_closing) in product(PROVIDERS, [false, true]) {
        let refuses = RefusesToSeal::default();
        let (client, _) = configs(Versions::Tls13, provider);
        let mut crypto = provider.this();
        for suite in &mut crypto.cipher_suites {
            *suite = hooked(*suite, refuses.clone());
        }
        let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
        let server = this::server_of(Versions::Tls13, crypto, key, auth);
        let (mut client, server) = connected((client, server), Weather::CALM, &mut Noise::new(1));
        let (mut reader, mut writer) = server.into_split(End::split).unwrap();

        client.get_mut().1.refresh_traffic_keys().unwrap();
        let mut flush = pin!(client.flush());
        assert!(poll_while_woken(|task| flush.as_mut().poll(task)).is_ready());
        let flag = Arc::new(Flag::default());
        let waker = Waker::from(flag.clone());
        let task = &mut Context::from_waker(&waker);
        let mut out = [0; 9];
        let mut read = pin!(reader.read(&mut out));
        assert!(read.as_mut().poll(task).is_pending());
        assert!(!flag.take());

        refuses.0.store(true, Ordering::SeqCst);
        let sent = poll_while_woken(|task| match is_closing {
            true => Pin::new(&mut writer).poll_shutdown(task),
            false => Pin::new(&mut writer).poll_flush(task),
        });
        assert!(sent.is_ready());
        assert!(flag.take(), "{provider:?} {is_closing}");
        let Poll::Ready(Err(error)) = read.as_mut().poll(task) else {
            panic!("the read did not fail");
        };
        assert_eq!(error.to_string(), Error::EncryptError.to_string());
    }
}

#[test]
fn a_dropped_half_keeps_no_waker() {
    let flag = Arc::new(Flag::default());
    let waker = Waker::from(flag.clone());
    let task = &mut Context::from_waker(&waker);
    let (client, server) = streams(Versions::Tls13);
    let (mut reader, _writer) = client.into_split(End::split).unwrap();
    let (_reader, mut writer) = server.into_split(End::split).unwrap();
    let mut out = [0; 1];
    assert!(pin!(reader.read(&mut out)).poll(task).is_pending());
    assert!(writer.poll_wants_flush(task).is_pending());
    drop(reader);
    drop(writer);
    // `flag` and `waker`
    assert_eq!(Arc::strong_count(&flag), 2);
}

#[test]
fn a_failed_stream_is_not_split() {
    let (client, mut server) = streams(Versions::Tls13);
    server.get_ref().0.inject(&BAD_RECORD);
    let mut out = [0; 9];
    let read = pin!(server.read(&mut out));
    let mut read = read;
    assert!(poll_while_woken(|cx| read.as_mut().poll(cx)).is_ready());
    let refused = server.into_split(End::split).unwrap_err();
    assert_eq!(*refused.error(), Error::DecryptError);
    assert_eq!(
        refused.to_string(),
        "the stream cannot be split: cannot decrypt peer's message"
    );
    let mut stream = refused.into_stream();
    let flushed = poll_while_woken(|cx| Pin::new(&mut stream).poll_flush(cx));
    assert!(matches!(flushed, Poll::Ready(Err(_))));
    drop(client);
}

#[test]
fn streams_of_either_side_can_be_split() {
    for (provider, versions) in product(PROVIDERS, Versions::EACH) {
        let configs = configs(versions, provider);
        let (client, server) = connected(configs, Weather::CALM, &mut Noise::new(1));
        let mut executor = Executor::default();
        for (stream, side) in [(client.into(), Side::Client), (server.into(), Side::Server)] {
            let (reader, mut writer) = TlsStream::into_split(stream, End::split).unwrap();
            assert_eq!(reader.get_ref().1.side(), side);
            let (greeting, answer) = match side {
                Side::Client => (&b"from the client"[..], &b"from the server"[..]),
                Side::Server => (&b"from the server"[..], &b"from the client"[..]),
            };
            executor.spawn("reads", async move {
                let mut lines = BufReader::new(reader);
                let mut received = Vec::new();
                lines.read_to_end(&mut received).await.unwrap();
                assert_eq!(received, answer);
            });
            executor.spawn("writes", async move {
                writer.write_all(greeting).await.unwrap();
                writer.shutdown().await.unwrap();
            });
        }
        executor.run(&mut Noise::new(1));
    }
}

/// Returns the stream of each side with its peer's.
fn each_side() -> [(TlsStream<End>, TlsStream<End>); 2] {
    let (client, server) = streams(Versions::Tls13);
    let (other_client, other_server) = streams(Versions::Tls13);
    [
        (client.into(), server.into()),
        (other_server.into(), other_client.into()),
    ]
}

#[test]
fn reading_halves_of_clients_and_servers_lend_received_data() {
    for (stream, mut peer) in each_side() {
        let mut executor = Executor::default();
        executor.spawn("both", async move {
            let (mut reader, _writer) = stream.into_split(End::split).unwrap();
            peer.write_all(b"lent").await.unwrap();
            peer.flush().await.unwrap();
            assert_eq!(reader.fill_buf().await.unwrap(), b"lent");
            reader.consume(1);
            assert_eq!(reader.fill_buf().await.unwrap(), b"ent");
        });
        executor.run(&mut Noise::new(1));
    }
}

#[test]
fn a_failed_stream_of_either_side_is_returned_unsplit() {
    for ((mut stream, _peer), is_client) in each_side().into_iter().zip([true, false]) {
        stream.get_ref().0.inject(&BAD_RECORD);
        let mut out = [0; 9];
        let mut read = pin!(stream.read(&mut out));
        assert!(poll_while_woken(|cx| read.as_mut().poll(cx)).is_ready());
        let refused = stream.into_split(End::split).unwrap_err();
        assert_eq!(*refused.error(), Error::DecryptError);
        let stream = refused.into_stream();
        assert_eq!(matches!(stream, TlsStream::Client(_)), is_client);
    }
}

/// Both directions at once over TCP, each half in a task, on several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn halves_of_sockets_work_on_several_threads() {
    const LEN: usize = 5_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap());
    let (client, server) = configs(Versions::Tls13, PROVIDERS[0]);
    let connect = async {
        let connector = TlsConnector::from(Arc::new(client));
        connector.connect(server_name(), socket.await?).await
    };
    let accept = async {
        let acceptor = TlsAcceptor::from(Arc::new(server));
        acceptor.accept(listener.accept().await?.0).await
    };
    let (client, server) = tokio::try_join!(connect, accept).unwrap();
    let (client_reader, client_writer) = client.into_split(TcpStream::into_split).unwrap();
    let (server_reader, server_writer) = server.into_split(TcpStream::into_split).unwrap();
    let receiving = [
        tokio::spawn(sum(client_reader)),
        tokio::spawn(sum(server_reader)),
    ];
    let sending = [client_writer, server_writer].map(|mut writer| {
        tokio::spawn(async move {
            for number in 0..LEN / 10_000 {
                writer.write_all(&[number as u8; 10_000]).await.unwrap();
                if number % 50 == 0 {
                    writer.get_mut().1.refresh_traffic_keys().unwrap();
                }
            }
            writer.shutdown().await.unwrap();
            // the transport is closed by the other half
            writer
        })
    });
    let expected = (0..LEN / 10_000).map(|number| 10_000 * u64::from(number as u8));
    let expected = (LEN, expected.sum::<u64>());
    for task in receiving {
        assert_eq!(task.await.unwrap(), expected);
    }
    for task in sending {
        task.await.unwrap();
    }
}

/// Returns the number of received bytes and their sum.
async fn sum(mut reader: impl AsyncRead + Unpin) -> (usize, u64) {
    let (mut count, mut sum) = (0, 0);
    let mut out = vec![0; 30_000];
    loop {
        let len = reader.read(&mut out).await.unwrap();
        if len == 0 {
            return (count, sum);
        }
        count += len;
        sum += out[..len].iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
}
