//! Records are opened straight into the buffer of a read. The tests detect this by the number of
//! reads from the transport: each then gets several records.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use harness::peers::configs::{Provider, Versions, server_name};
use harness::peers::endpoints::Endpoint;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_rustls::{TlsConnector, client};

use crate::kit::configs;
use crate::kit::crates::Setting;
use crate::kit::crates::peers::Peers;
use crate::kit::executor::poll_while_woken;
use crate::kit::talk::pattern;
use crate::kit::transport::{Call, Transport};

/// The length of a record's plaintext.
const RECORD: usize = 16_384;
const RECORDS: usize = 40;

/// The buffer of a read.
#[derive(Clone, Copy, Debug)]
enum Buffer {
    Initialized(usize),
    Uninitialized(usize),
}

fn connected(versions: Versions, provider: Provider) -> (client::TlsStream<Transport>, Transport) {
    let transport = Transport::new(Peers::new(Setting::of(versions)).server());
    let connector = TlsConnector::from(Arc::new(configs(versions, provider).0));
    let mut handshake = Box::pin(connector.connect(server_name(), transport.clone()));
    let Poll::Ready(stream) = poll_while_woken(|task| handshake.as_mut().poll(task)) else {
        panic!("pending");
    };
    (stream.unwrap(), transport)
}

/// Lets the peer send, and reads all of it. Returns the number of reads from the transport.
fn reads(transport: &Transport, stream: &mut (impl AsyncRead + Unpin), buffer: Buffer) -> usize {
    transport.change(|net| {
        net.peer.conn.set_buffer_limit(None);
        let data: Vec<u8> = (0..RECORDS * RECORD).map(pattern).collect();
        assert_eq!(net.peer.send(&data), data.len());
        net.counts = [0; 4];
    });
    let mut received = Vec::new();
    while received.len() < RECORDS * RECORD {
        let mut read = Box::pin(async {
            match buffer {
                Buffer::Initialized(len) => {
                    let mut out = vec![0; len];
                    let len = stream.read(&mut out).await.unwrap();
                    out.truncate(len);
                    out
                }
                Buffer::Uninitialized(len) => {
                    let mut out = Vec::with_capacity(len);
                    stream.read_buf(&mut out).await.unwrap();
                    out
                }
            }
        });
        match poll_while_woken(|task| Pin::new(&mut read).poll(task)) {
            Poll::Ready(out) => received.extend(out),
            Poll::Pending => panic!("pending after {} bytes", received.len()),
        }
    }
    let expected = (0..RECORDS * RECORD).map(pattern);
    assert!(received.into_iter().eq(expected), "{buffer:?}");
    transport.net().counts[Call::Read as usize]
}

#[test]
fn records_are_opened_into_the_buffer_of_a_read() {
    for versions in Versions::EACH {
        for buffer in [Buffer::Initialized(65_536), Buffer::Uninitialized(65_536)] {
            for (provider, most) in [(Provider::AwsLc, 13), (Provider::Ring, 2 * RECORDS)] {
                let (mut stream, transport) = connected(versions, provider);
                let whole = reads(&transport, &mut stream, buffer);
                let split = |io: Transport| (io.clone(), io);
                let (mut reader, _writer) = stream.into_split(split).unwrap();
                let half = reads(&transport, &mut reader, buffer);
                assert!(
                    whole <= most && half <= most,
                    "{provider:?} {buffer:?}: {whole}, {half}"
                );
            }
        }
    }
}
