//! An unbuffered connection after its handshake with upstream, in every role, version and provider.

use harness::peers::configs::{ClientAuth, KeyType, PROVIDERS, Provider, Versions, this};
use harness::peers::endpoints::{
    Endpoint, ThisUnbuffered, Unbuffered, UpstreamBuffered, handshake,
};
use harness::peers::roles::{Role, upstream};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

const KEY: KeyType = KeyType::Ed25519;

/// The provider and versions of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) provider: Provider,
    pub(crate) versions: Versions,
}

impl Case {
    pub(crate) fn is_tls13(self) -> bool {
        self.versions == Versions::Tls13
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        PROVIDERS.into_iter().flat_map(|provider| {
            [Versions::Tls12, Versions::Tls13].map(|versions| Self { provider, versions })
        })
    }

    /// The peer of our side in this role.
    fn peer(self, role: Role) -> UpstreamBuffered {
        let provider = self.provider.upstream();
        upstream::Config::new(role.other(), self.versions, provider, KEY).buffered()
    }

    /// Our client, and a server that has received nothing yet.
    pub(crate) fn fresh_client(self) -> (UnbufferedClientConnection, UpstreamBuffered) {
        let config = this::client_of(self.versions, self.provider.this(), KEY, ClientAuth::None);
        (ThisUnbuffered::client(config).conn, self.peer(Role::Client))
    }

    /// Our server, which sends no tickets, and a client that has sent nothing yet.
    pub(crate) fn fresh_server(self) -> (UnbufferedServerConnection, UpstreamBuffered) {
        let provider = self.provider.this();
        let mut config = this::server_of(self.versions, provider, KEY, ClientAuth::None);
        config.send_tls13_tickets = 0;
        (ThisUnbuffered::server(config).conn, self.peer(Role::Server))
    }

    pub(crate) fn client(self) -> (UnbufferedClientConnection, UpstreamBuffered) {
        let (conn, mut server) = self.fresh_client();
        let mut client = ThisUnbuffered::new(conn);
        handshake(&mut client, &mut server);
        (client.conn, server)
    }

    pub(crate) fn server(self) -> (UnbufferedServerConnection, UpstreamBuffered) {
        let (conn, mut client) = self.fresh_server();
        let mut server = ThisUnbuffered::new(conn);
        handshake(&mut client, &mut server);
        (server.conn, client)
    }
}

/// Runs a test of the form `fn test(case: Case, conn: impl Unbuffered, peer: UpstreamBuffered)`
/// with all cases and roles, after the handshake or before it.
macro_rules! for_all {
    ($test:path $(, $more:expr)?) => {
        crate::unbuffered::ends::for_all!(@of client, server: $test $(, $more)?)
    };
    (fresh $test:path) => {
        crate::unbuffered::ends::for_all!(@of fresh_client, fresh_server: $test)
    };
    (@of $client:ident, $server:ident: $test:path $(, $more:expr)?) => {
        for case in crate::unbuffered::ends::Case::all() {
            let (conn, peer) = case.$client();
            $test(case, conn, peer $(, $more)?);
            let (conn, peer) = case.$server();
            $test(case, conn, peer $(, $more)?);
        }
    };
}

pub(crate) use for_all;

/// Encrypts `plaintext`.
pub(crate) fn encrypted(conn: &mut impl Unbuffered, plaintext: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut traffic = conn.write_traffic().unwrap();
    traffic.encrypt_to_vec(plaintext, &mut wire, 0).unwrap();
    wire
}

/// Processes `incoming`, which must begin with application data, and takes one record.
pub(crate) fn take_one(conn: &mut impl Unbuffered, incoming: &mut Vec<u8>) -> Vec<u8> {
    let UnbufferedStatus { discard, state } = conn.process(incoming);
    let Ok(ConnectionState::ReadTraffic(mut traffic)) = state else {
        panic!("{state:?}");
    };
    let record = traffic.next_record().unwrap().unwrap();
    assert_eq!(record.discard, 0);
    let plaintext = record.payload.to_vec();
    incoming.drain(..discard);
    plaintext
}

/// Replaces the sending keys; what follows is sent under the new ones.
pub(crate) fn replace_keys(conn: &mut impl Unbuffered, peer: &mut UpstreamBuffered) {
    let traffic = conn.write_traffic().unwrap();
    traffic.refresh_traffic_keys().unwrap();
    peer.receive(&own_output(conn)).unwrap();
}

/// The state that the connection reports without input.
pub(crate) fn idle_state(conn: &mut impl Unbuffered) -> String {
    format!("{:?}", conn.process(&mut []).state.unwrap())
}

/// Takes all output that the connection itself has to send.
pub(crate) fn own_output(conn: &mut impl Unbuffered) -> Vec<u8> {
    let (mut output, mut used) = (Vec::new(), 0);
    loop {
        match conn.process(&mut []).state.unwrap() {
            ConnectionState::EncodeTlsData(mut state) => {
                used += state.encode_to_vec(&mut output, used).unwrap();
            }
            ConnectionState::TransmitTlsData(state) => state.done(),
            _ => {
                assert_eq!(output.len(), used);
                return output;
            }
        }
    }
}
