//! Full and resumed handshakes in both versions.

use std::sync::Arc;

use no_std::{Clock, Locks};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::{ClientSessionMemoryCache, Resumption, UnbufferedClientConnection};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::{ServerSessionMemoryCache, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig, SupportedProtocolVersion};

fn configs(version: &'static SupportedProtocolVersion) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = ClientConfig::builder_with_details(provider.clone(), Arc::new(Clock))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.resumption = Resumption::store(Arc::new(ClientSessionMemoryCache::new::<Locks>(8)));
    let mut server = ServerConfig::builder_with_details(provider, Arc::new(Clock))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    server.session_storage = ServerSessionMemoryCache::new::<Locks>(8);
    (Arc::new(client), Arc::new(server))
}

/// Lets a connection process `$incoming` and append its output to `$outgoing`.
macro_rules! advance {
    ($conn:expr, $incoming:expr, $outgoing:expr) => {
        loop {
            let UnbufferedStatus { discard, state, .. } = $conn.process_tls_records($incoming);
            let waits = match state.unwrap() {
                ConnectionState::EncodeTlsData(mut data) => {
                    let Err(EncodeError::InsufficientSize(short)) = data.encode(&mut []) else {
                        panic!("there is nothing to encode");
                    };
                    let used = $outgoing.len();
                    $outgoing.resize(used + short.required_size, 0);
                    data.encode(&mut $outgoing[used..]).unwrap();
                    false
                }
                ConnectionState::TransmitTlsData(data) => {
                    data.done();
                    false
                }
                ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_) => true,
                other => panic!("{other:?}"),
            };
            $incoming.drain(..discard);
            if waits {
                break;
            }
        }
    };
}

#[test]
fn sessions_are_resumed() {
    for version in [&TLS12, &TLS13] {
        let (client, server) = configs(version);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let name = ServerName::try_from("localhost").unwrap();
            let mut client = UnbufferedClientConnection::new(client.clone(), name).unwrap();
            let mut server = UnbufferedServerConnection::new(server.clone()).unwrap();
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            loop {
                advance!(client, &mut to_client, to_server);
                if to_server.is_empty() {
                    break;
                }
                advance!(server, &mut to_server, to_client);
            }
            assert!(!client.is_handshaking() && !server.is_handshaking());
            assert_eq!(client.handshake_kind(), Some(kind));
            assert_eq!(server.handshake_kind(), Some(kind));

            let ConnectionState::WriteTraffic(mut traffic) =
                client.process_tls_records(&mut []).state.unwrap()
            else {
                panic!("not connected");
            };
            let mut record = [0; 100];
            let len = traffic.encrypt(b"data", &mut record).unwrap();
            let status = server.process_tls_records(&mut record[..len]);
            let ConnectionState::ReadTraffic(mut traffic) = status.state.unwrap() else {
                panic!("nothing has arrived");
            };
            assert_eq!(traffic.next_record().unwrap().unwrap().payload, b"data");
        }
    }
}
