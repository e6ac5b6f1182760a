//! Endpoints at some point of a connection, and what a genuine peer sends them next.

use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use super::records::first_record_len;
use crate::configs::{self, ClientAuth, KeyType, server_name};
use crate::endpoints::{self, Endpoint, ThisBuffered, ThisUnbuffered};
use crate::transparent::this;

/// An endpoint and the flight that comes next.
pub(crate) type Staged = (Box<dyn Endpoint>, Vec<u8>);

/// The same point of a connection on both APIs.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) buffered: fn() -> Staged,
    pub(crate) unbuffered: fn() -> Staged,
}

macro_rules! scene {
    ($stage:ident, $make:ident, $auth:ident) => {
        Scene {
            buffered: || $stage(buffered::$make(ClientAuth::$auth), ClientAuth::$auth),
            unbuffered: || $stage(unbuffered::$make(ClientAuth::$auth), ClientAuth::$auth),
        }
    };
}

pub(crate) const CLIENT_SCENES: [Scene; 4] = [
    scene!(client_waits_for_server_hello, client, None),
    scene!(client_waits_for_encrypted_extensions, client, None),
    scene!(client_waits_for_encrypted_extensions, client, Required),
    scene!(connected_client, client, None),
];

pub(crate) const SERVER_SCENES: [Scene; 4] = [
    scene!(server_waits_for_client_hello, server, None),
    scene!(server_waits_for_finished, server, None),
    scene!(server_waits_for_finished, server, Required),
    scene!(connected_server, server, None),
];

fn client_waits_for_server_hello(mut client: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let mut server = buffered::server(auth);
    server.receive(&client.take_output()).unwrap();
    let flight = server.take_output();
    (client, flight)
}

fn client_waits_for_encrypted_extensions(client: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let (mut client, mut flight) = client_waits_for_server_hello(client, auth);
    let rest = flight.split_off(first_record_len(&flight));
    client.receive(&flight).unwrap();
    (client, rest)
}

fn connected_client(mut client: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let mut server = buffered::server(auth);
    endpoints::handshake(&mut *client, &mut *server);
    let flight = after_the_handshake(&mut *server);
    (client, flight)
}

fn server_waits_for_client_hello(server: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let flight = buffered::client(auth).take_output();
    (server, flight)
}

/// A server that waits for Finished, or for the client's Certificate if it asked for one.
fn server_waits_for_finished(mut server: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let mut client = buffered::client(auth);
    server.receive(&client.take_output()).unwrap();
    client.receive(&server.take_output()).unwrap();
    let flight = client.take_output();
    (server, flight)
}

fn connected_server(mut server: Box<dyn Endpoint>, auth: ClientAuth) -> Staged {
    let mut client = buffered::client(auth);
    endpoints::handshake(&mut *client, &mut *server);
    let flight = after_the_handshake(&mut *client);
    (server, flight)
}

/// Data, a KeyUpdate, data, and the end.
fn after_the_handshake(peer: &mut dyn Endpoint) -> Vec<u8> {
    peer.send(b"first");
    let mut flight = peer.take_output();
    peer.refresh_traffic_keys();
    flight.extend(peer.take_output());
    peer.send(b"second");
    flight.extend(peer.take_output());
    peer.close();
    flight.extend(peer.take_output());
    flight
}

mod buffered {
    use super::*;

    pub(crate) fn client(auth: ClientAuth) -> Box<dyn Endpoint> {
        Box::new(ThisBuffered::new(this::client(auth)))
    }

    pub(crate) fn server(auth: ClientAuth) -> Box<dyn Endpoint> {
        Box::new(ThisBuffered::new(this::server(auth)))
    }
}

mod unbuffered {
    use super::*;

    pub(crate) fn client(auth: ClientAuth) -> Box<dyn Endpoint> {
        let config = configs::this::client(this::provider(), KeyType::Ed25519, auth);
        let conn = UnbufferedClientConnection::new(Arc::new(config), server_name()).unwrap();
        Box::new(ThisUnbuffered::new(conn))
    }

    pub(crate) fn server(auth: ClientAuth) -> Box<dyn Endpoint> {
        let config = configs::this::server(this::provider(), KeyType::Ed25519, auth);
        let conn = UnbufferedServerConnection::new(Arc::new(config)).unwrap();
        Box::new(ThisUnbuffered::new(conn))
    }
}
