//! The rest of the API: transports of handshakes, closures, application protocols, conversions, and
//! futures that are polled too often.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Versions, server_name};
use tokio::io::{AsyncWrite, AsyncWriteExt, DuplexStream, duplex};

use super::script::text;
use crate::kit::executor::poll_while_woken;

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match poll_while_woken(|task| future.as_mut().poll(task)) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("pending"),
    }
}

fn panics(future: impl Future) -> bool {
    let mut future = pin!(future);
    let poll = || drop(poll_while_woken(|task| future.as_mut().poll(task)));
    catch_unwind(AssertUnwindSafe(poll)).is_err()
}

/// Defines a function that returns everything that a program sees of one crate.
macro_rules! seen {
    ($name:ident, $stream:ident, $tls:ident, $provider:ident) => {
        fn $name() -> Vec<String> {
            use std::sync::Arc;

            use $stream::{
                LazyConfigAcceptor, StartHandshake, TlsAcceptor, TlsConnector, TlsStream,
            };
            use $tls::server::Acceptor;

            let provider = || PROVIDERS[0].$provider();
            let (key, auth) = (KeyType::EcdsaP256, ClientAuth::None);
            use harness::peers::configs::$provider as configs;
            let client = configs::client_of(Versions::Tls13, provider(), key, auth);
            let server = Arc::new(configs::server_of(Versions::Tls13, provider(), key, auth));
            let client = Arc::new(client);
            let (acceptor, connector) = (
                TlsAcceptor::from(server.clone()),
                TlsConnector::from(client.clone()),
            );
            let mut seen = Vec::new();
            let mut note = |what: &str, value: String| seen.push(format!("{what}: {value}"));
            note("configurations", {
                let both = (
                    Arc::as_ptr(connector.config()),
                    Arc::as_ptr(acceptor.config()),
                );
                format!("{}", both == (Arc::as_ptr(&client), Arc::as_ptr(&server)))
            });

            // both ends, with closures and a custom application protocol
            let (one, other) = duplex(100_000);
            let mut called = Vec::new();
            let mut connect = connector
                .with_alpn(vec![b"http/1.1".to_vec()])
                .connect_with(server_name(), one, |conn| {
                    called.push(conn.is_handshaking())
                });
            let mut accept = acceptor.accept_with(other, |conn| called.push(conn.wants_write()));
            note("closures", format!("{called:?}"));
            note("transports", {
                let some = (connect.get_ref().is_some(), accept.get_mut().is_some());
                format!("{some:?}")
            });
            let both = async { tokio::try_join!(&mut connect, &mut accept) };
            let (client_stream, server_stream) = ready(both).unwrap();
            note("transports behind", {
                let none = (connect.get_ref().is_none(), accept.get_mut().is_none());
                format!("{none:?}")
            });
            note(
                "polled again",
                format!("{} {}", panics(connect), panics(accept)),
            );
            let alpn = client_stream
                .get_ref()
                .1
                .alpn_protocol()
                .map(<[u8]>::to_vec);
            note("application protocol", format!("{alpn:?}"));

            let mut either = [TlsStream::from(client_stream), server_stream.into()];
            for stream in &mut either {
                ready(stream.write_all(b"hello")).unwrap();
                ready(stream.flush()).unwrap();
                note("vectored", stream.is_write_vectored().to_string());
                let (_, common) = stream.get_mut();
                note("handshaking", common.is_handshaking().to_string());
            }
            let [
                TlsStream::Client(client_stream),
                TlsStream::Server(server_stream),
            ] = either
            else {
                panic!("the sides are exchanged");
            };
            let (io, conn) = client_stream.into_inner();
            note("pieces", format!("{}", conn.wants_write()));
            drop((io, server_stream));

            // an acceptor that is polled too often
            let lazy = |bytes: &[u8]| {
                let (mut one, other) = duplex(1000);
                ready(one.write_all(bytes)).unwrap();
                drop(one);
                LazyConfigAcceptor::new(Acceptor::default(), other)
            };
            for bytes in [&b""[..], b"\x16\x03", b"not tls"] {
                let mut acceptor = lazy(bytes);
                for _ in 0..2 {
                    let result = ready(Pin::new(&mut acceptor)).map(drop);
                    note("acceptor", text(&result.unwrap_err()));
                }
                note("taken", acceptor.take_io().is_some().to_string());
                note("taken again", acceptor.take_io().is_some().to_string());
                let result = ready(Pin::new(&mut acceptor)).map(drop);
                note("without transport", text(&result.unwrap_err()));
            }

            // a handshake from its parts
            let (one, other) = duplex(100_000);
            let mut connect = Box::pin(connector.connect(server_name(), one));
            assert!(poll_while_woken(|task| connect.as_mut().poll(task)).is_pending());
            let start = ready(LazyConfigAcceptor::new(Acceptor::default(), other)).unwrap();
            let start: StartHandshake<DuplexStream> = {
                let StartHandshake { accepted, io, .. } = start;
                StartHandshake::from_parts(accepted, io)
            };
            note("name", format!("{:?}", start.client_hello().server_name()));
            let mut is_called = false;
            let accept = start.into_stream_with(server, |_| is_called = true);
            note("called", is_called.to_string());
            let both = async { tokio::try_join!(connect, accept) };
            note("connected", ready(both).is_ok().to_string());
            seen
        }
    };
}

seen!(of_this, tokio_rustls, rustls, this);
seen!(
    of_published,
    tokio_rustls_upstream,
    rustls_upstream,
    upstream
);

#[test]
fn the_api_compiles_and_behaves_like_the_published_crate() {
    assert_eq!(of_this(), of_published());
}
