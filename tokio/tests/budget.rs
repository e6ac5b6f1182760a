//! The budget of tokio's tasks: a task that reads data that was already received lets others run.

use std::cell::Cell;
use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Versions, server_name};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, duplex};
use tokio::task::yield_now;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::kit::configs;

/// The length of a record's plaintext.
const LEN: usize = 16_000;

#[tokio::test(flavor = "current_thread")]
async fn a_task_that_reads_received_data_lets_others_run() {
    for lends in [false, true] {
        let (client, server) = configs(Versions::Tls13, PROVIDERS[0]);
        let (one, other) = duplex(100_000);
        let connect = TlsConnector::from(Arc::new(client)).connect(server_name(), one);
        let accept = TlsAcceptor::from(Arc::new(server)).accept(other);
        let (mut client, mut server) = tokio::try_join!(connect, accept).unwrap();
        server.write_all(&[1; LEN]).await.unwrap();
        server.flush().await.unwrap();

        let has_ended = Cell::new(false);
        let reads = async {
            for _ in 0..LEN {
                if lends {
                    assert!(!client.fill_buf().await.unwrap().is_empty());
                    client.consume(1);
                } else {
                    client.read_u8().await.unwrap();
                }
            }
            has_ended.set(true);
        };
        let counts = async {
            let mut turns = 0;
            while !has_ended.get() {
                turns += 1;
                yield_now().await;
            }
            turns
        };
        let ((), turns) = tokio::join!(reads, counts);
        // a task's budget is 128 operations
        assert!(turns >= LEN / 128, "{lends}: {turns}");
    }
}
