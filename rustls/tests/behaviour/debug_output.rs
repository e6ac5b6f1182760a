//! `Debug` and `Display` output names the type and reveals no secret.

use std::io::Write;
use std::ops::Deref;
use std::sync::Arc;

use harness::peers::callbacks::KeyLines;
use harness::peers::configs::{PROVIDERS, Provider, server_name};
use rustls::client::UnbufferedClientConnection;
use rustls::server::{Acceptor, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, InsufficientSizeError, UnbufferedStatus};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::connected::this::{client_config, input, output, server_config};

fn assert_no_secret_in(text: &str, secrets: &KeyLines) {
    let digits = |text: &str| text.to_lowercase().replace([' ', ',', '\n'], "");
    let text = digits(text);
    for (_, _, secret) in secrets.lines() {
        let hex = secret.iter().map(|byte| format!("{byte:02x}"));
        assert!(!text.contains(&hex.collect::<String>()));
        assert!(!text.contains(digits(&format!("{secret:?}")).trim_matches(['[', ']'])));
    }
}

struct Ends {
    secrets: Arc<KeyLines>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Ends {
    fn new(provider: Provider) -> Self {
        let secrets = Arc::<KeyLines>::default();
        let mut client = client_config(provider);
        client.key_log = secrets.clone();
        client.enable_early_data = true;
        let mut server = server_config(provider);
        server.key_log = secrets.clone();
        server.max_early_data_size = 1000;
        Self {
            secrets,
            client: Arc::new(client),
            server: Arc::new(server),
        }
    }

    fn client(&self) -> ClientConnection {
        ClientConnection::new(self.client.clone(), server_name()).unwrap()
    }

    /// A client with tickets and a server after their handshake.
    fn connected(&self) -> [Connection; 2] {
        let mut client = self.client().into();
        let server = ServerConnection::new(self.server.clone()).unwrap();
        let mut server = server.into();
        loop {
            let [to_server, to_client] = [&mut client, &mut server].map(output);
            if to_server.is_empty() && to_client.is_empty() {
                break [client, server];
            }
            input(&mut server, &to_server).unwrap();
            input(&mut client, &to_client).unwrap();
        }
    }

    /// Asserts that `text` begins with `name` and contains no secret.
    fn check(&self, name: &str, text: String) {
        assert!(text.starts_with(name), "{name}: {text}");
        assert_no_secret_in(&text, &self.secrets);
    }
}

#[test]
fn connections() {
    for ends in PROVIDERS.map(Ends::new) {
        for mut conn in ends.connected() {
            assert!(!ends.secrets.lines().is_empty());
            ends.check("", format!("{conn:?}"));
            ends.check("Reader", format!("{:?}", conn.reader()));
            ends.check("Writer", format!("{:?}", conn.writer()));
            // written data waits for write_tls
            conn.writer().flush().unwrap();
            assert!(!conn.wants_write());
            match conn {
                Connection::Client(conn) => {
                    ends.check("ClientConnection", format!("{conn:?}"));
                    ends.check("", format!("{:?}", conn.deref()));
                    ends.check("CommonState", format!("{:?}", conn.deref().deref()));
                }
                Connection::Server(conn) => {
                    ends.check("ServerConnection", format!("{conn:?}"));
                    ends.check("", format!("{:?}", conn.deref()));
                }
            }
        }
    }
}

#[test]
fn early_data() {
    for ends in PROVIDERS.map(Ends::new) {
        ends.connected();
        let mut client = ends.client();
        let early_data = format!("{:?}", client.early_data().unwrap());
        ends.check("WriteEarlyData { bytes_left: 1000", early_data);
    }
}

#[test]
fn unbuffered() {
    for ends in PROVIDERS.map(Ends::new) {
        ends.connected();
        let server = UnbufferedServerConnection::new(ends.server.clone()).unwrap();
        ends.check("UnbufferedServerConnection", format!("{server:?}"));
        ends.check("", format!("{:?}", server.deref()));
        let client = UnbufferedClientConnection::new(ends.client.clone(), server_name());
        let mut client = client.unwrap();
        ends.check("UnbufferedClientConnection", format!("{client:?}"));

        let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
        let state = state.unwrap();
        ends.check("EncodeTlsData", format!("{state:?}"));
        let ConnectionState::EncodeTlsData(mut state) = state else {
            panic!("{state:?}");
        };
        state.encode(&mut [0; 4096]).unwrap();
        // a change_cipher_spec precedes early data
        if let Ok(ConnectionState::EncodeTlsData(mut state)) =
            client.process_tls_records(&mut []).state
        {
            state.encode(&mut [0; 4096]).unwrap();
        }
        let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
        let state = state.unwrap();
        ends.check("TransmitTlsData", format!("{state:?}"));
        let ConnectionState::TransmitTlsData(mut state) = state else {
            panic!("{state:?}");
        };
        let early_data = format!("{:?}", state.may_encrypt_early_data().unwrap());
        ends.check("MayEncryptEarlyData { bytes_left: 1000", early_data);
        state.done();
        let UnbufferedStatus { state, .. } = client.process_tls_records(&mut []);
        ends.check("BlockedHandshake", format!("{:?}", state.unwrap()));
    }
}

#[test]
fn acceptors() {
    let ends = Ends::new(PROVIDERS[0]);
    let mut acceptor = Acceptor::default();
    let hello = output(&mut ends.client().into());
    acceptor.read_tls(&mut &hello[..]).unwrap();
    let accepted = acceptor.accept().unwrap_or_else(|_| panic!()).unwrap();
    ends.check("Accepted", format!("{accepted:?}"));

    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut &b"GET / HTTP/1.1\r\n"[..]).unwrap();
    let (_, alert) = acceptor.accept().unwrap_err();
    ends.check("AcceptedAlert", format!("{alert:?}"));
}

#[test]
fn errors_for_short_buffers_name_the_required_length() {
    let error = InsufficientSizeError { required_size: 321 };
    assert_eq!(
        error.to_string(),
        "output buffer too short: 321 bytes are needed"
    );
}
