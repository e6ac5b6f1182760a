//! Our client in both APIs, and upstream's server.

use std::io::Read;
use std::sync::Arc;

use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
use harness::peers::endpoints::{
    Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered, handshake,
};
use rustls::ClientConfig;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{ConnectionState, TransmitTlsData};

pub(crate) type ServerConfig = rustls_upstream::ServerConfig;

const KEY_TYPE: KeyType = KeyType::Ed25519;

/// The early data limit of the server, unless a test sets another.
pub(crate) const LIMIT: u32 = 20_000;

pub(crate) fn client_config(provider: Provider) -> ClientConfig {
    let mut config = configs::this::client(provider.this(), KEY_TYPE, ClientAuth::None);
    config.enable_early_data = true;
    config
}

pub(crate) fn server_config(provider: Provider) -> ServerConfig {
    let mut config = configs::upstream::server(provider.upstream(), KEY_TYPE, ClientAuth::None);
    config.max_early_data_size = LIMIT;
    config
}

/// The two APIs of our client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Api {
    Buffered,
    Unbuffered,
}

pub(crate) const APIS: [Api; 2] = [Api::Buffered, Api::Unbuffered];

/// Our client after its first flight.
pub(crate) enum Client {
    Buffered(ThisBuffered),
    Unbuffered(ThisUnbuffered<UnbufferedClientConnection>),
}

impl Client {
    /// Starts a connection and sends the pieces as early data. Returns the first output. All pieces
    /// must fit.
    pub(crate) fn start(api: Api, config: &Arc<ClientConfig>, early: &[&[u8]]) -> (Self, Vec<u8>) {
        match api {
            Api::Buffered => {
                let mut client = ThisBuffered::client(config.clone());
                for piece in early {
                    assert_eq!(client.send_early(piece), piece.len());
                }
                let output = client.take_output();
                (Self::Buffered(client), output)
            }
            Api::Unbuffered => {
                let config = config.clone();
                let mut conn = UnbufferedClientConnection::new(config, server_name()).unwrap();
                let (mut output, mut state) = encode(&mut conn);
                if let Some(mut encrypter) = state.may_encrypt_early_data() {
                    for piece in early {
                        let used = output.len();
                        encrypter.encrypt_to_vec(piece, &mut output, used).unwrap();
                    }
                }
                state.done();
                (Self::Unbuffered(ThisUnbuffered::new(conn)), output)
            }
        }
    }

    pub(crate) fn endpoint(&mut self) -> &mut dyn Endpoint {
        match self {
            Self::Buffered(client) => client,
            Self::Unbuffered(client) => client,
        }
    }

    pub(crate) fn tickets_received(&mut self) -> u32 {
        match self {
            Self::Buffered(client) => client.as_client().tls13_tickets_received(),
            Self::Unbuffered(client) => client.conn.tls13_tickets_received(),
        }
    }

    pub(crate) fn is_early_data_accepted(&mut self) -> bool {
        match self {
            Self::Buffered(client) => client.as_client().is_early_data_accepted(),
            Self::Unbuffered(client) => client.conn.is_early_data_accepted(),
        }
    }
}

/// Encodes all pending output, and returns it with the state that follows.
pub(crate) fn encode(
    conn: &mut UnbufferedClientConnection,
) -> (Vec<u8>, TransmitTlsData<'_, ClientConnectionData>) {
    let mut output = Vec::new();
    while let Ok(ConnectionState::EncodeTlsData(mut state)) =
        conn.process_tls_records(&mut []).state
    {
        let used = output.len();
        state.encode_to_vec(&mut output, used).unwrap();
    }
    match conn.process_tls_records(&mut []).state.unwrap() {
        ConnectionState::TransmitTlsData(state) => (output, state),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn server(config: &Arc<ServerConfig>) -> UpstreamBuffered {
    UpstreamBuffered::server(config.clone())
}

/// Reads all early data buffered in the server; `None` if it accepts none.
pub(crate) fn read_early(server: &mut UpstreamBuffered) -> Option<Vec<u8>> {
    let conn = server.as_server();
    let mut early = Vec::new();
    conn.early_data()?.read_to_end(&mut early).unwrap();
    Some(early)
}

/// Makes a first connection, which leaves its sessions in the store of `client`.
pub(crate) fn prime(client: &Arc<ClientConfig>, server_config: &Arc<ServerConfig>) {
    handshake(
        &mut ThisBuffered::client(client.clone()),
        &mut server(server_config),
    );
}

/// Creates a client with a session, and its server, which allows `limit` bytes.
pub(crate) fn primed(provider: Provider, limit: u32) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let client_config = Arc::new(client_config(provider));
    let mut server_config = server_config(provider);
    server_config.max_early_data_size = limit;
    let server_config = Arc::new(server_config);
    prime(&client_config, &server_config);
    (client_config, server_config)
}
