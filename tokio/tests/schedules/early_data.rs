//! Clients that send early data and read in another task. Either task completes the handshake, and
//! a server that rejects the data gets it again.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read};
use std::pin::Pin;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Versions, server_name};
use harness::wire::Noise;
use rustls::{ClientConfig, Error, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::task::yield_now;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::kit::executor::{Executor, poll_while_woken};
use crate::kit::pipe::{End, Weather, pipe};
use crate::kit::talk::{Shared, pattern, receive, send, try_once};
use crate::kit::{configs, connected};

const LIMIT: u32 = 10_000;

/// There is room for the server's last flight, and little more.
const NARROW: Weather = Weather {
    capacity: 2000,
    ..Weather::CALM
};

/// Returns configurations whose client has a session with the server.
pub(crate) fn resumable(noise: &mut Noise) -> (ClientConfig, ServerConfig) {
    let (mut client, mut server) = configs(Versions::Tls13, PROVIDERS[0]);
    client.enable_early_data = true;
    server.max_early_data_size = LIMIT;
    let configs = (client.clone(), server.clone());
    let (mut first, _server) = connected(configs, Weather::CALM, noise);
    // the tickets arrive
    let mut out = [0; 9];
    let read = |task: &mut std::task::Context<'_>| {
        Pin::new(&mut first).poll_read(task, &mut ReadBuf::new(&mut out))
    };
    assert!(poll_while_woken(read).is_pending());
    (client, server)
}

#[test]
fn two_tasks_of_a_client_with_early_data_lose_nothing() {
    let mut accepted = 0;
    for seed in 1..60 {
        let mut noise = Noise::new(seed);
        let (client, mut server) = resumable(&mut noise);
        let is_rejected = seed % 3 == 0;
        if is_rejected {
            server.session_storage = configs(Versions::Tls13, PROVIDERS[0]).1.session_storage;
        }
        let weather = Weather::random(&mut noise);
        let (one, other) = pipe(&mut noise, weather);
        let total = noise.up_to(30_000);

        let connector = TlsConnector::from(Arc::new(client)).early_data(true);
        let mut connect = Box::pin(connector.connect(server_name(), one));
        let connected = poll_while_woken(|task| connect.as_mut().poll(task));
        let std::task::Poll::Ready(Ok(stream)) = connected else {
            panic!("it waits for the server");
        };
        let (reader, writer) = Shared::both(stream);

        let early = RefCell::new(Vec::<u8>::new());
        let mut executor = Executor::default();
        let of_reader = Noise::new(noise.next());
        executor.spawn("reader", async move {
            let (received, end) = receive(reader, of_reader).await;
            end.unwrap();
            assert_eq!(received, 5000);
        });
        let of_writer = Noise::new(noise.next());
        executor.spawn("writer", async move {
            send(writer, total, of_writer).await.unwrap();
        });
        executor.spawn("server", async {
            let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
            let mut stream = accept.await.unwrap();
            let mut data = Vec::new();
            if let Some(mut early_data) = stream.get_mut().1.early_data() {
                early_data.read_to_end(&mut data).unwrap();
            }
            early.borrow_mut().extend(&data);
            stream.read_to_end(&mut data).await.unwrap();
            assert!(data == (0..total).map(pattern).collect::<Vec<_>>());
            let answer: Vec<u8> = (0..5000).map(pattern).collect();
            stream.write_all(&answer).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        executor.run(&mut noise);
        drop(executor);
        let early = early.into_inner().len();
        assert!(early <= LIMIT as usize && (early == 0 || !is_rejected));
        accepted += usize::from(early != 0);
    }
    assert!(accepted > 20, "{accepted}");
}

#[test]
fn rejected_early_data_is_sent_again_through_a_small_buffer() {
    for (limit, expected) in [(0, Err(ErrorKind::WriteZero)), (100, Ok(()))] {
        let mut noise = Noise::new(1);
        let (client, mut server) = resumable(&mut noise);
        server.session_storage = configs(Versions::Tls13, PROVIDERS[0]).1.session_storage;
        let (one, other) = pipe(&mut noise, Weather::CALM);
        let mut executor = Executor::default();
        executor.spawn("client", async {
            let connector = TlsConnector::from(Arc::new(client)).early_data(true);
            let mut stream = connector.connect(server_name(), one).await.unwrap();
            stream.write_all(&[7; 5000]).await.unwrap();
            stream.get_mut().1.set_buffer_limit(Some(limit));
            let flushed = stream.flush().await.map_err(|error| error.kind());
            assert_eq!(flushed, expected);
            if expected.is_ok() {
                stream.shutdown().await.unwrap();
                // the server continues until it has sent its tickets
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        });
        executor.spawn("server", async {
            let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
            let mut data = Vec::new();
            match accept.await {
                Ok(mut stream) => {
                    let _ = stream.read_to_end(&mut data).await;
                    assert!(data.is_empty() || data == [7; 5000]);
                    assert_eq!(data.is_empty(), limit == 0);
                }
                Err(error) => assert_eq!(limit, 0, "{error}"),
            }
        });
        executor.run(&mut noise);
    }
}

/// The server receives more only after its echo has been sent, so the client must read before it
/// can send all of its data again.
#[test]
fn rejected_early_data_that_waits_to_be_sent_again_delays_no_read() {
    const LEN: usize = 8000;
    let mut noise = Noise::new(1);
    let (mut client, mut server) = resumable(&mut noise);
    client.max_fragment_size = Some(500);
    server.session_storage = configs(Versions::Tls13, PROVIDERS[0]).1.session_storage;
    let (one, other) = pipe(&mut noise, NARROW);
    let data: Vec<u8> = (0..LEN).map(pattern).collect();
    let mut executor = Executor::default();
    executor.spawn("client", async {
        let connector = TlsConnector::from(Arc::new(client)).early_data(true);
        let mut stream = connector.connect(server_name(), one).await.unwrap();
        stream.write_all(&data).await.unwrap();
        let mut echo = vec![0; LEN];
        stream.read_exact(&mut echo).await.unwrap();
        assert!(echo == data);
        assert!(!stream.get_ref().1.is_early_data_accepted());
        stream.shutdown().await.unwrap();
    });
    executor.spawn("server", async {
        let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
        let mut stream = accept.await.unwrap();
        let mut piece = [0; 500];
        loop {
            let len = stream.read(&mut piece).await.unwrap();
            if len == 0 {
                break;
            }
            stream.write_all(&piece[..len]).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    executor.run(&mut noise);
}

#[test]
fn a_client_is_not_split_before_rejected_early_data_is_sent_again() {
    let mut noise = Noise::new(1);
    let (client, mut server) = resumable(&mut noise);
    server.session_storage = configs(Versions::Tls13, PROVIDERS[0]).1.session_storage;
    let (one, other) = pipe(&mut noise, NARROW);
    let is_refused = Cell::new(false);
    let mut executor = Executor::default();
    executor.spawn("client", async {
        let connector = TlsConnector::from(Arc::new(client)).early_data(true);
        let mut stream = connector.connect(server_name(), one).await.unwrap();
        stream.write_all(&[7; 5000]).await.unwrap();
        stream.get_mut().1.set_buffer_limit(Some(100));
        while stream.get_ref().1.is_handshaking() {
            assert!(try_once(stream.flush()).await.is_none());
            yield_now().await;
        }
        let refused = stream.into_split(End::split).unwrap_err();
        assert_eq!(*refused.error(), Error::HandshakeNotComplete);
        is_refused.set(true);
        let mut stream = refused.into_stream();
        stream.flush().await.unwrap();
        let (mut reader, mut writer) = stream.into_split(End::split).unwrap();
        writer.shutdown().await.unwrap();
        let _ = reader.read_to_end(&mut Vec::new()).await;
    });
    executor.spawn("server", async {
        let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
        let mut stream = accept.await.unwrap();
        while !is_refused.get() {
            yield_now().await;
        }
        let mut data = Vec::new();
        stream.read_to_end(&mut data).await.unwrap();
        assert!(data == [7; 5000]);
    });
    executor.run(&mut noise);
}

/// A program that writes, does not flush, and reads would wait forever with tokio-rustls 0.26.
#[test]
fn a_read_after_a_write_completes_the_handshake() {
    let mut noise = Noise::new(1);
    let (client, server) = resumable(&mut noise);
    let (one, other) = pipe(&mut noise, Weather::CALM);
    let mut executor = Executor::default();
    executor.spawn("client", async {
        let connector = TlsConnector::from(Arc::new(client)).early_data(true);
        let mut stream = connector.connect(server_name(), one).await.unwrap();
        stream.write_all(b"early").await.unwrap();
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"early");
        assert!(stream.get_ref().1.is_early_data_accepted());
        stream.shutdown().await.unwrap();
    });
    executor.spawn("server", async {
        let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
        let mut stream = accept.await.unwrap();
        let mut data = Vec::new();
        let mut early_data = stream.get_mut().1.early_data().unwrap();
        early_data.read_to_end(&mut data).unwrap();
        stream.write_all(&data).await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
    });
    executor.run(&mut noise);
}
