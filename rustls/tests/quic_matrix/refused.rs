//! Configurations that QUIC cannot use cause the same errors in both crates.

use harness::peers::configs::PROVIDERS;

use crate::ends::{Case, Client, Crate, Server, changed};

/// The errors of both crates' constructors with these changes.
fn errors(
    of_client: impl Fn(Client) -> Client,
    of_server: impl Fn(Server) -> Server,
) -> [[Option<String>; 2]; 2] {
    [Crate::This, Crate::Upstream].map(|of| {
        let (client, server) = Case::usual([of; 2], PROVIDERS[0]).sides();
        [
            of_client(client).try_with(b"parameters").err(),
            of_server(server).try_with(b"parameters").err(),
        ]
    })
}

/// RFC 9001 §4.6.1: a ticket can express no other limits.
#[test]
fn early_data_is_unlimited_or_absent() {
    for (size, is_good) in [
        (0, true),
        (1, false),
        (16_384, false),
        (u32::MAX - 1, false),
        (u32::MAX, true),
    ] {
        let [this, upstream] = errors(
            |client| client,
            |server| changed!(server, |config| config.max_early_data_size = size),
        );
        assert_eq!(this, upstream);
        assert_eq!(this[1].is_none(), is_good, "{size}");
        assert_eq!(this[0], None);
    }
}
