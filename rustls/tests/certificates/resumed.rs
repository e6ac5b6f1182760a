//! Sessions authenticated by a raw public key resume, but never under the other kind of credential.

use std::sync::Arc;

use harness::peers::configs::{PROVIDERS, Provider, product};
use harness::peers::endpoints::{Endpoint, exchange, handshake};
use rustls::client::Resumption;

use crate::kit::{KINDS, Kind, Setup, this, upstream};

/// Reads the last word of the negotiated values.
fn is_resumed(end: &dyn Endpoint) -> bool {
    end.negotiated().ends_with("Some(Resumed)")
}

fn setups() -> impl Iterator<Item = Setup> {
    PROVIDERS.into_iter().flat_map(|provider| {
        [
            (Kind::Raw, None),
            (Kind::Raw, Some(Kind::X509)),
            (Kind::X509, Some(Kind::Raw)),
            (Kind::Raw, Some(Kind::Raw)),
        ]
        .map(|(server, client)| Setup {
            server,
            client,
            ..Setup::new(provider)
        })
    })
}

#[test]
fn raw_public_keys_are_remembered() {
    for setup in setups() {
        let mut ours = this::client_config(setup);
        ours.resumption = Resumption::in_memory_sessions(8);
        let mut theirs = upstream::client_config(setup);
        theirs.resumption = rustls_upstream::client::Resumption::in_memory_sessions(8);
        let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
        let our_server = Arc::new(this::server_config(setup));
        let their_server = Arc::new(upstream::server_config(setup));

        let our_client = || Box::new(this::client(ours.clone())) as Box<dyn Endpoint>;
        let their_client = || Box::new(upstream::client(theirs.clone())) as Box<dyn Endpoint>;
        let to_ours = || Box::new(this::server(our_server.clone())) as Box<dyn Endpoint>;
        let to_theirs = || Box::new(upstream::server(their_server.clone())) as Box<dyn Endpoint>;
        for (client, server) in [
            (&our_client as &dyn Fn() -> _, &to_ours as &dyn Fn() -> _),
            (&our_client, &to_theirs),
            (&their_client, &to_ours),
        ] {
            let (mut first, mut peer) = (client(), server());
            handshake(&mut *first, &mut *peer);
            let (of_server, of_client) = (first.peer_certificates(), peer.peer_certificates());

            let (mut second, mut peer) = (client(), server());
            handshake(&mut *second, &mut *peer);
            assert!(is_resumed(&*second) && is_resumed(&*peer), "{setup:?}");
            assert_eq!(second.peer_certificates(), of_server);
            assert_eq!(peer.peer_certificates(), of_client);
        }
    }
}

/// A client remembers sessions under one kind of server authentication and reconnects under the
/// other.
#[test]
fn a_client_does_not_mix_kinds() {
    for (before, after) in product(KINDS, KINDS) {
        let setup = |server| Setup {
            server,
            ..Setup::new(Provider::AwsLc)
        };
        let resumption = Resumption::in_memory_sessions(8);
        // one server with both keys and one session store
        let first_server = this::server_config(setup(before));
        let mut second_server = this::server_config(setup(after));
        second_server.session_storage = first_server.session_storage.clone();
        let (first_server, second_server) = (Arc::new(first_server), Arc::new(second_server));

        let mut first = this::client_config(setup(before));
        first.resumption = resumption.clone();
        let mut second = this::client_config(setup(after));
        second.resumption = resumption;
        if before == after {
            second = first.clone();
        }
        let (first, second) = (Arc::new(first), Arc::new(second));

        handshake(&mut this::client(first), &mut this::server(first_server));
        let (mut client, mut server) = (this::client(second), this::server(second_server));
        handshake(&mut client, &mut server);
        assert_eq!(is_resumed(&client), before == after, "{before:?} {after:?}");
    }
}

/// A server is asked to resume a session whose client authenticated by another kind, or not at all.
#[test]
fn a_server_does_not_mix_kinds() {
    let kinds = [None, Some(Kind::X509), Some(Kind::Raw)];
    for (before, after) in product(kinds, kinds) {
        let setup = |client| Setup {
            client,
            ..Setup::new(Provider::AwsLc)
        };
        let first_server = this::server_config(setup(before));
        let mut second_server = this::server_config(setup(after));
        second_server.session_storage = first_server.session_storage.clone();
        let mut first = upstream::client_config(setup(before));
        first.resumption = rustls_upstream::client::Resumption::in_memory_sessions(8);
        let mut second = first.clone();
        let other = upstream::client_config(setup(after));
        second.client_auth_cert_resolver = other.client_auth_cert_resolver;
        let same = before == after;
        let second = if same { first.clone() } else { second };

        handshake(
            &mut upstream::client(first),
            &mut this::server(first_server),
        );
        let (mut client, mut server) = (upstream::client(second), this::server(second_server));
        exchange(&mut client, &mut server).unwrap();
        assert_eq!(is_resumed(&server), same, "{before:?} {after:?}");
    }
}
