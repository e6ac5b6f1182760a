//! quinn as both ends, which implements QUIC over rustls: streams, 0-RTT, stateless retries, key
//! updates, and the TLS errors that it reports to the peer.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use drop_in::{Credentials, moved, page, run};
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, ServerConfig, TransportErrorCode,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

const PROTOCOL: &[u8] = b"echo";

fn of_server(mut config: rustls::ServerConfig) -> ServerConfig {
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // RFC 9001 §4.6.1: the only allowed size
    config.max_early_data_size = u32::MAX;
    ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config).unwrap()))
}

fn of_client(mut config: rustls::ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_early_data = true;
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()))
}

/// A client and a server on the same machine.
struct Ends {
    client: Endpoint,
    server: Endpoint,
    address: SocketAddr,
}

impl Ends {
    fn new(client: ClientConfig, server: ServerConfig) -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Endpoint::server(server, any).unwrap();
        let mut of_client = Endpoint::client(any).unwrap();
        of_client.set_default_client_config(client);
        Self {
            address: server.local_addr().unwrap(),
            client: of_client,
            server,
        }
    }

    fn usual(credentials: &Credentials) -> Self {
        Self::new(
            of_client(credentials.client_config()),
            of_server(credentials.server_config()),
        )
    }

    async fn connect(&self) -> Result<Connection, ConnectionError> {
        self.client
            .connect(self.address, "localhost")
            .unwrap()
            .await
    }

    async fn accept(&self) -> Result<Connection, ConnectionError> {
        self.server.accept().await.unwrap().await
    }

    /// Lets one connection echo everything that the other sends during `ask`. Returns the number of
    /// echoed bytes.
    async fn echoing(&self, ask: impl Future<Output = ()>) -> usize {
        let serving = async { echo(&self.accept().await.unwrap()).await };
        tokio::join!(serving, ask).0
    }
}

/// Echoes the data of each stream, one after the other, until the peer closes. Returns the number
/// of bytes.
async fn echo(connection: &Connection) -> usize {
    let mut total = 0;
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        while let Some(chunk) = receive.read_chunk(usize::MAX, true).await.unwrap() {
            total += chunk.bytes.len();
            send.write_chunk(chunk.bytes).await.unwrap();
        }
        send.finish().unwrap();
    }
    total
}

/// Sends a page to be echoed, in both directions at the same time.
async fn ask(connection: &Connection) {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let sending = async {
        send.write_all(&page()).await.unwrap();
        send.finish().unwrap();
    };
    let (_, echoed) = tokio::join!(sending, receive.read_to_end(page().len()));
    assert!(echoed.unwrap() == page(), "wrong echo");
}

fn close(connection: &Connection) {
    connection.close(0u8.into(), b"done");
}

#[test]
fn streams_and_datagrams_arrive() {
    run(async {
        let ends = Ends::usual(&Credentials::new());
        const STREAMS: usize = 20;
        let asking = async {
            let connection = ends.connect().await.unwrap();
            let data = connection
                .handshake_data()
                .unwrap()
                .downcast::<HandshakeData>();
            assert_eq!(data.unwrap().protocol.unwrap(), PROTOCOL);
            assert!(connection.peer_identity().is_some());
            let mut asked = Vec::new();
            for _ in 0..STREAMS {
                asked.push(ask(&connection));
            }
            for asked in asked {
                asked.await;
            }
            close(&connection);
        };
        let echoed = ends.echoing(asking).await;
        assert_eq!(echoed, STREAMS * page().len());
        moved("quinn", "client, server", "QUIC: streams", 2 * echoed);

        let serving = async {
            let connection = ends.accept().await.unwrap();
            let data = connection
                .handshake_data()
                .unwrap()
                .downcast::<HandshakeData>();
            assert_eq!(data.unwrap().server_name.unwrap(), "localhost");
            let datagram = connection.read_datagram().await.unwrap();
            connection.send_datagram(datagram).unwrap();
            connection.closed().await;
        };
        let asking = async {
            let connection = ends.connect().await.unwrap();
            connection.send_datagram(b"datagram"[..].into()).unwrap();
            assert_eq!(connection.read_datagram().await.unwrap(), b"datagram"[..]);
            close(&connection);
        };
        tokio::join!(serving, asking);
    });
}

#[test]
fn keys_are_updated_by_both_ends() {
    run(async {
        let ends = Ends::usual(&Credentials::new());
        let (of_server, of_client) = tokio::join!(ends.accept(), ends.connect());
        let (of_server, of_client) = (of_server.unwrap(), of_client.unwrap());
        let asking = async {
            ask(&of_client).await;
            of_client.force_key_update();
            ask(&of_client).await;
            of_server.force_key_update();
            ask(&of_client).await;
            close(&of_client);
        };
        let (echoed, ()) = tokio::join!(echo(&of_server), asking);
        assert_eq!(echoed, 3 * page().len());
        moved("quinn", "client, server", "QUIC: key updates", 2 * echoed);
    });
}

#[test]
fn both_ends_export_the_same_keying_material() {
    run(async {
        let ends = Ends::usual(&Credentials::new());
        let (of_server, of_client) = tokio::join!(ends.accept(), ends.connect());
        let exported = [of_server.unwrap(), of_client.unwrap()].map(|connection| {
            let mut output = [0; 64];
            connection
                .export_keying_material(&mut output, b"label", b"context")
                .unwrap();
            output
        });
        assert_eq!(exported[0], exported[1]);
        assert_ne!(exported[0], [0; 64]);
    });
}

#[test]
fn a_server_validates_addresses_with_a_retry() {
    run(async {
        let ends = Ends::usual(&Credentials::new());
        let serving = async {
            let incoming = ends.server.accept().await.unwrap();
            assert!(!incoming.remote_address_validated());
            incoming.retry().unwrap();
            let incoming = ends.server.accept().await.unwrap();
            assert!(incoming.remote_address_validated());
            echo(&incoming.await.unwrap()).await
        };
        let asking = async {
            let connection = ends.connect().await.unwrap();
            ask(&connection).await;
            close(&connection);
        };
        let (echoed, ()) = tokio::join!(serving, asking);
        moved(
            "quinn",
            "client, server",
            "QUIC: a stateless retry",
            2 * echoed,
        );
    });
}

/// Connects once and closes, to give the client a session.
async fn visit(ends: &Ends) {
    let visiting = async {
        // there are no sessions yet
        let connecting = ends.client.connect(ends.address, "localhost").unwrap();
        let connection = match connecting.into_0rtt() {
            Ok(_) => panic!("0-RTT without a session"),
            Err(connecting) => connecting.await.unwrap(),
        };
        ask(&connection).await;
        close(&connection);
    };
    ends.echoing(visiting).await;
}

#[test]
fn early_data_is_accepted() {
    run(async {
        let ends = Ends::usual(&Credentials::new());
        visit(&ends).await;
        // each visit yields sessions for later ones
        for _ in 0..3 {
            let asking = async {
                let connecting = ends.client.connect(ends.address, "localhost").unwrap();
                let Ok((connection, accepted)) = connecting.into_0rtt() else {
                    panic!("no 0-RTT");
                };
                ask(&connection).await;
                assert!(accepted.await);
                close(&connection);
            };
            let echoed = ends.echoing(asking).await;
            moved("quinn", "client, server", "QUIC: 0-RTT", 2 * echoed);
        }
    });
}

#[test]
fn a_server_without_the_session_rejects_early_data() {
    run(async {
        let credentials = Credentials::new();
        let ends = Ends::usual(&credentials);
        visit(&ends).await;
        // another server with the same certificate
        ends.server
            .set_server_config(Some(of_server(credentials.server_config())));
        let asking = async {
            let connecting = ends.client.connect(ends.address, "localhost").unwrap();
            let Ok((connection, accepted)) = connecting.into_0rtt() else {
                panic!("no 0-RTT");
            };
            let (mut send, _) = connection.open_bi().await.unwrap();
            send.write_all(b"early").await.unwrap();
            assert!(!accepted.await);
            send.write_all(b"early").await.unwrap_err();
            ask(&connection).await;
            close(&connection);
        };
        assert_eq!(ends.echoing(asking).await, page().len());
    });
}

/// The drafts of version 1 have other salts, and another extension for transport parameters.
#[test]
fn a_draft_of_version_1_works() {
    run(async {
        let credentials = Credentials::new();
        let mut client = of_client(credentials.client_config());
        client.version(0xff00_001d);
        let ends = Ends::new(client, of_server(credentials.server_config()));
        let asking = async {
            let connection = ends.connect().await.unwrap();
            ask(&connection).await;
            close(&connection);
        };
        let echoed = ends.echoing(asking).await;
        moved("quinn", "client, server", "QUIC: draft 29", 2 * echoed);
    });
}

#[test]
fn both_sides_authenticate_with_certificates() {
    run(async {
        let credentials = Credentials::new();
        let (certificate, key) = credentials.client_pem("client");
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let client = rustls::ClientConfig::builder()
            .with_root_certificates(credentials.roots())
            .with_client_auth_cert(vec![certificate.clone()], key)
            .unwrap();
        let mut server = credentials.server_config();
        server = rustls::ServerConfig::builder()
            .with_client_cert_verifier(
                WebPkiClientVerifier::builder(credentials.roots().into())
                    .build()
                    .unwrap(),
            )
            .with_cert_resolver(server.cert_resolver);
        let ends = Ends::new(of_client(client), of_server(server));
        let (of_server, of_client) = tokio::join!(ends.accept(), ends.connect());
        let identity = of_server.unwrap().peer_identity().unwrap();
        let identity = identity.downcast::<Vec<CertificateDer<'static>>>().unwrap();
        assert_eq!(*identity, [certificate]);
        of_client.unwrap();
    });
}

/// Checks that both ends report a failed connection with the alert of its cause (RFC 9001 §4.8).
async fn assert_fails(ends: Ends, alert: u8) {
    let (of_server, of_client) = tokio::join!(ends.accept(), async {
        let connection = ends.connect().await?;
        // a server may reject later
        Err::<Connection, _>(connection.closed().await)
    });
    let errors = [of_server.unwrap_err(), of_client.unwrap_err()];
    for error in errors {
        let code = match error {
            ConnectionError::TransportError(error) => error.code,
            ConnectionError::ConnectionClosed(close) => close.error_code,
            error => panic!("{error}"),
        };
        assert_eq!(code, TransportErrorCode::crypto(alert));
    }
}

#[test]
fn tls_errors_are_reported_by_their_alerts() {
    run(async {
        const DECRYPT_ERROR: u8 = 51;
        const CERTIFICATE_REQUIRED: u8 = 116;
        const NO_APPLICATION_PROTOCOL: u8 = 120;
        let credentials = Credentials::new();
        let stranger = Credentials::new().client_config();
        let ends = Ends::new(of_client(stranger), of_server(credentials.server_config()));
        // that authority has the same name and another key, so the signature in the chain does not
        // verify
        assert_fails(ends, DECRYPT_ERROR).await;

        let mut other = credentials.client_config();
        other.alpn_protocols = vec![b"other".to_vec()];
        let other = ClientConfig::new(Arc::new(QuicClientConfig::try_from(other).unwrap()));
        let ends = Ends::new(other, of_server(credentials.server_config()));
        assert_fails(ends, NO_APPLICATION_PROTOCOL).await;

        let server = rustls::ServerConfig::builder()
            .with_client_cert_verifier(
                WebPkiClientVerifier::builder(credentials.roots().into())
                    .build()
                    .unwrap(),
            )
            .with_cert_resolver(credentials.server_config().cert_resolver);
        let ends = Ends::new(of_client(credentials.client_config()), of_server(server));
        assert_fails(ends, CERTIFICATE_REQUIRED).await;
    });
}
