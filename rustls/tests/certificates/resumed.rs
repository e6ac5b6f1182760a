//! Sessions never resume with another kind of credential. The test `matrix` resumes them with the
//! same kind.

use std::sync::Arc;

use harness::peers::configs::{Provider, product};
use harness::peers::endpoints::{Endpoint, exchange, handshake};
use rustls::client::Resumption;

use crate::certificates::kit::{CLIENT_KINDS, KINDS, Kind, Setup, this, upstream};

/// Reads the last word of the negotiated values.
fn is_resumed(end: &dyn Endpoint) -> bool {
    end.negotiated().ends_with("Some(Resumed)")
}

/// A client remembers sessions with one kind of server authentication and reconnects with the
/// other.
#[test]
fn a_client_does_not_mix_certificates_and_raw_keys() {
    for (before, after) in product(KINDS, KINDS) {
        let setup = |server| Setup::new(Provider::AwsLc).with(server, None);
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

/// A client offers a session in which it authenticated by another kind of credential, or not at
/// all.
#[test]
fn a_server_does_not_mix_certificates_and_raw_keys() {
    for (before, after) in product(CLIENT_KINDS, CLIENT_KINDS) {
        let setup = |client| Setup::new(Provider::AwsLc).with(Kind::X509, client);
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
