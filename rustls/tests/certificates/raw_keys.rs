//! Raw public keys (RFC 7250): between this crate and upstream, both ways, each key type.

use std::sync::Arc;

use harness::configs::{KEY_TYPES, PROVIDERS, SERVER_NAME};
use harness::endpoints::{Endpoint, ThisUnbuffered, UpstreamUnbuffered, handshake, talk_and_close};
use pki_types::ServerName;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use crate::kit::{KINDS, Kind, Setup, this, upstream};

const CLIENT_KINDS: [Option<Kind>; 3] = [None, Some(Kind::X509), Some(Kind::Raw)];

fn setups() -> Vec<Setup> {
    let mut setups = Vec::new();
    for provider in PROVIDERS {
        for key_type in KEY_TYPES {
            if key_type.usable_with(provider) {
                for server in KINDS {
                    setups.extend(CLIENT_KINDS.map(|client| Setup {
                        provider,
                        key_type,
                        server,
                        client,
                    }));
                }
            }
        }
    }
    setups
}

/// A name for it, client and server.
type Pair = (&'static str, Box<dyn Endpoint>, Box<dyn Endpoint>);

/// Both of this crate in each API, and one of upstream on either side.
fn pairs(setup: Setup) -> Vec<Pair> {
    let name = || ServerName::try_from(SERVER_NAME).unwrap();
    let unbuffered_client = || {
        let config = Arc::new(this::client_config(setup));
        ThisUnbuffered::new(UnbufferedClientConnection::new(config, name()).unwrap())
    };
    let unbuffered_server = || {
        let config = Arc::new(this::server_config(setup));
        ThisUnbuffered::new(UnbufferedServerConnection::new(config).unwrap())
    };
    let upstream_unbuffered_client = || {
        let config = Arc::new(upstream::client_config(setup));
        let conn = rustls_upstream::client::UnbufferedClientConnection::new(config, name());
        UpstreamUnbuffered::new(conn.unwrap())
    };
    let client = || Box::new(this::client(this::client_config(setup)));
    let server = || Box::new(this::server(this::server_config(setup)));
    vec![
        ("buffered", client(), server()),
        (
            "unbuffered",
            Box::new(unbuffered_client()),
            Box::new(unbuffered_server()),
        ),
        (
            "upstream's server",
            client(),
            Box::new(upstream::server(upstream::server_config(setup))),
        ),
        (
            "upstream's client",
            Box::new(upstream::client(upstream::client_config(setup))),
            server(),
        ),
        (
            "upstream's unbuffered client",
            Box::new(upstream_unbuffered_client()),
            Box::new(unbuffered_server()),
        ),
    ]
}

#[test]
fn every_kind_authenticates_either_side() {
    for setup in setups() {
        let identities = setup.key_type.identities();
        let expected = |identity, kind| match kind {
            Kind::Raw => vec![this::raw_key(identity, setup.provider).cert[0].to_vec()],
            Kind::X509 => identity.chain.iter().map(|cert| cert.to_vec()).collect(),
        };
        for (name, mut client, mut server) in pairs(setup) {
            println!("{setup:?}, {name}");
            handshake(&mut *client, &mut *server);
            assert_eq!(
                client.peer_certificates(),
                expected(&identities.server, setup.server)
            );
            let of_client = setup.client.map(|kind| expected(&identities.client, kind));
            assert_eq!(server.peer_certificates(), of_client.unwrap_or_default());
            talk_and_close(&mut *client, &mut *server);
        }
    }
}
