//! Each side reads the clock at most as often as that of rustls 0.23, and once in a resumption of
//! TLS 1.2.

use std::sync::Arc;

use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::pairs::{this, upstream};
use harness::peers::servers::KEY_TYPE;

/// The numbers of times that client and server read their clocks.
type Reads = [u64; 2];

macro_rules! reads_of {
    ($krate:ident: $configs:expr, $ticketer:expr) => {{
        let clocks = [Clock::now(), Clock::now()];
        let mut configs = $configs;
        let client = Arc::make_mut(&mut configs.client);
        client.time_provider = clocks[0].clone();
        let server = Arc::make_mut(&mut configs.server);
        server.time_provider = clocks[1].clone();
        server.ticketer = $ticketer;
        ["Full", "Resumed"].map(|kind| {
            let pair = $krate::buffered::Pair::connect(&configs).unwrap();
            let actual = pair.client.handshake_kind().unwrap();
            assert_eq!(format!("{actual:?}"), kind);
            clocks.each_ref().map(|clock| clock.take_reads())
        })
    }};
}

/// Returns the reads of a full handshake and of a resumption.
fn reads_of_this(provider: Provider, versions: Versions) -> [Reads; 2] {
    let configs = this::Configs::new(versions, provider.this(), KEY_TYPE);
    reads_of!(this: configs, provider.this_ticketer())
}

/// Returns the same for rustls 0.23.
fn reads_of_upstream(provider: Provider, versions: Versions) -> [Reads; 2] {
    let configs = upstream::Configs::new(versions, provider.upstream(), KEY_TYPE);
    reads_of!(upstream: configs, provider.upstream_ticketer())
}

#[test]
fn each_side_reads_the_clock_at_most_as_often_as_in_rustls_0_23() {
    for provider in PROVIDERS {
        for (versions, expected) in [
            (Versions::Tls12, [[2, 1], [1, 1]]),
            (Versions::Tls13, [[3, 1], [3, 2]]),
        ] {
            let reads = reads_of_this(provider, versions);
            let upstream = reads_of_upstream(provider, versions);
            let context = format!("{provider:?} {versions:?}: {upstream:?} in rustls 0.23");
            assert_eq!(reads, expected, "{context}");
            let at_most = reads.as_flattened().iter().zip(upstream.as_flattened());
            for (reads, upstream) in at_most {
                assert!(reads <= upstream, "{context}");
            }
        }
    }
}
