//! Endpoints at some point of a connection, and what a genuine peer sends them next.

use std::ops::Range;

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use super::records::first_record_len;
use crate::configs::{ClientAuth, Versions, server_name};
use crate::endpoints::{self, Endpoint, ThisBuffered, ThisUnbuffered};
use crate::transparent::this::Configs;
use crate::transparent::{Resumes, Setup};

/// An endpoint and the flight that comes next.
pub(crate) type Staged = (Box<dyn Endpoint>, Vec<u8>);

/// The same point of a connection on both APIs.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) buffered: fn() -> Staged,
    pub(crate) unbuffered: fn() -> Staged,
}

/// Makes the endpoint of a scene.
type Make = fn(&Configs) -> Box<dyn Endpoint>;

macro_rules! scene {
    ($stage:ident, $make:ident, $setup:expr) => {
        Scene {
            buffered: || $stage(buffered::$make, $setup),
            unbuffered: || $stage(unbuffered::$make, $setup),
        }
    };
}

const TLS13: Setup = Setup::usual(ClientAuth::None);
const TLS13_AUTH: Setup = Setup::usual(ClientAuth::Required);
const TLS12: Setup = tls12(ClientAuth::None);
const TLS12_AUTH: Setup = tls12(ClientAuth::Required);
const TLS12_TICKETS: Setup = Setup {
    resumes: Some(Resumes::Tickets),
    ..TLS12
};

const TLS13_STORED: Setup = Setup {
    resumes: Some(Resumes::Stored),
    ..TLS13
};
const EARLY: Setup = Setup {
    early_data: true,
    ..TLS13_STORED
};
const EARLY_RETRY: Setup = Setup {
    retry: true,
    ..EARLY
};

const fn tls12(auth: ClientAuth) -> Setup {
    Setup {
        versions: [Versions::Tls12; 2],
        ..Setup::usual(auth)
    }
}

// a corpus knows a scene by its number: new ones go to the end

pub(crate) const CLIENT_SCENES: [Scene; 12] = [
    scene!(client_waits_for_server_hello, client, TLS13),
    scene!(client_waits_for_encrypted_extensions, client, TLS13),
    scene!(client_waits_for_encrypted_extensions, client, TLS13_AUTH),
    scene!(connected_client, client, TLS13),
    scene!(client_waits_for_server_hello, client, TLS12_AUTH),
    scene!(client_waits_for_change_cipher_spec, client, TLS12),
    scene!(client_waits_for_change_cipher_spec, client, TLS12_TICKETS),
    scene!(client_that_resumes, client, TLS12_TICKETS),
    scene!(connected_client, client, TLS12),
    scene!(client_that_resumes, client, TLS13_STORED),
    scene!(client_that_resumes, client, EARLY),
    scene!(client_that_resumes, client, EARLY_RETRY),
];

pub(crate) const SERVER_SCENES: [Scene; 12] = [
    scene!(server_waits_for_client_hello, server, TLS13),
    scene!(server_waits_for_finished, server, TLS13),
    scene!(server_waits_for_finished, server, TLS13_AUTH),
    scene!(connected_server, server, TLS13),
    scene!(server_waits_for_client_hello, server, TLS12),
    scene!(server_waits_for_finished, server, TLS12),
    scene!(server_waits_for_finished, server, TLS12_AUTH),
    scene!(server_that_resumes, server, TLS12_TICKETS),
    scene!(connected_server, server, TLS12),
    scene!(server_that_resumes, server, TLS13_STORED),
    scene!(server_that_gets_early_data, server, EARLY),
    scene!(server_that_gets_early_data, server, EARLY_RETRY),
];

/// The scenes of both sides: of full handshakes of TLS 1.3, of TLS 1.2, and of what resumes sessions of TLS 1.3.
pub(crate) fn all_scenes() -> Vec<Scene> {
    let groups = [0..4, 4..9, 9..12];
    let of_group =
        |group: Range<usize>| [&CLIENT_SCENES[group.clone()], &SERVER_SCENES[group]].concat();
    groups.into_iter().flat_map(of_group).collect()
}

fn client_waits_for_server_hello(client: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let mut client = client(&configs);
    let mut server = buffered::server(&configs);
    server.receive(&client.take_output()).unwrap();
    (client, server.take_output())
}

fn client_waits_for_encrypted_extensions(client: Make, setup: Setup) -> Staged {
    let (mut client, mut flight) = client_waits_for_server_hello(client, setup);
    let rest = flight.split_off(first_record_len(&flight));
    client.receive(&flight).unwrap();
    (client, rest)
}

/// A client of TLS 1.2 that has sent its second flight.
fn client_waits_for_change_cipher_spec(client: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let mut client = client(&configs);
    let mut server = buffered::server(&configs);
    server.receive(&client.take_output()).unwrap();
    client.receive(&server.take_output()).unwrap();
    server.receive(&client.take_output()).unwrap();
    (client, server.take_output())
}

fn client_that_resumes(client: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    make_session(&configs);
    let mut client = client(&configs);
    client.send_early(b"early");
    let mut server = buffered::server(&configs);
    server.receive(&client.take_output()).unwrap();
    (client, server.take_output())
}

fn connected_client(client: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let mut client = client(&configs);
    let mut server = buffered::server(&configs);
    endpoints::handshake(&mut *client, &mut *server);
    let flight = after_the_handshake(&mut *server, setup);
    (client, flight)
}

fn server_waits_for_client_hello(server: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let flight = buffered::client(&configs).take_output();
    (server(&configs), flight)
}

/// A server that waits for the client's second flight.
fn server_waits_for_finished(server: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let mut server = server(&configs);
    let mut client = buffered::client(&configs);
    server.receive(&client.take_output()).unwrap();
    client.receive(&server.take_output()).unwrap();
    let flight = client.take_output();
    (server, flight)
}

fn server_that_resumes(server: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    make_session(&configs);
    let flight = buffered::client(&configs).take_output();
    (server(&configs), flight)
}

/// All that a client sends whose early data is accepted, or not; another server like this one has answered.
fn server_that_gets_early_data(server: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    make_session(&configs);
    let mut client = buffered::client(&configs);
    let mut other = buffered::server(&configs);
    for piece in [&b"early data"[..], b"and more"] {
        assert_eq!(client.send_early(piece), piece.len());
    }
    let mut flight = Vec::new();
    while other.is_handshaking() {
        let output = client.take_output();
        other.receive(&output).unwrap();
        client.receive(&other.take_output()).unwrap();
        flight.extend(output);
    }
    flight.extend(after_the_handshake(&mut *client, setup));
    (server(&configs), flight)
}

fn connected_server(server: Make, setup: Setup) -> Staged {
    let configs = Configs::new(setup);
    let mut server = server(&configs);
    let mut client = buffered::client(&configs);
    endpoints::handshake(&mut *client, &mut *server);
    let flight = after_the_handshake(&mut *client, setup);
    (server, flight)
}

/// A first connection, for the next one to resume.
fn make_session(configs: &Configs) {
    let mut client = buffered::client(configs);
    let mut server = buffered::server(configs);
    endpoints::handshake(&mut *client, &mut *server);
}

/// Data, a KeyUpdate if there is such a thing, data, and the end.
fn after_the_handshake(peer: &mut dyn Endpoint, setup: Setup) -> Vec<u8> {
    peer.send(b"first");
    let mut flight = peer.take_output();
    if setup.versions == [Versions::Tls13; 2] {
        peer.refresh_traffic_keys();
        flight.extend(peer.take_output());
    }
    peer.send(b"second");
    flight.extend(peer.take_output());
    peer.close();
    flight.extend(peer.take_output());
    flight
}

mod buffered {
    use super::*;

    pub(crate) fn client(configs: &Configs) -> Box<dyn Endpoint> {
        Box::new(ThisBuffered::new(configs.client()))
    }

    pub(crate) fn server(configs: &Configs) -> Box<dyn Endpoint> {
        Box::new(ThisBuffered::new(configs.server()))
    }
}

mod unbuffered {
    use super::*;

    pub(crate) fn client(configs: &Configs) -> Box<dyn Endpoint> {
        let conn = UnbufferedClientConnection::new(configs.client.clone(), server_name()).unwrap();
        Box::new(ThisUnbuffered::new(conn))
    }

    pub(crate) fn server(configs: &Configs) -> Box<dyn Endpoint> {
        let conn = UnbufferedServerConnection::new(configs.server.clone()).unwrap();
        Box::new(ThisUnbuffered::new(conn))
    }
}
