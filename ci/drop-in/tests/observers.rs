//! Observers below programs that know nothing of them: axum-server and quinn. The counters belong
//! to the configuration of TLS, so they see connections that these crates accept themselves.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum_server::Handle;
use axum_server::tls_rustls::{RustlsConfig, from_tcp_rustls};
use drop_in::{Credentials, run};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, ServerConfig};
use reqwest::{Certificate, Client};
use rustls_observe::{Counters, Snapshot};

/// Waits until all connections of a side are dropped.
async fn over(counters: &Counters, side: &str, connections: u64) -> Snapshot {
    loop {
        let snapshot = counters.snapshot();
        let side = [("side", side)];
        if snapshot.count("tls_connections_closed_total", &side) == connections {
            return snapshot;
        }
        tokio::task::yield_now().await;
    }
}

#[track_caller]
fn assert_count(snapshot: &Snapshot, name: &str, labels: &[(&str, &str)], expected: u64) {
    let count = snapshot.count(name, labels);
    assert_eq!(count, expected, "{name} {labels:?}\n{snapshot}");
}

#[test]
fn connections_of_axum_server_are_counted() {
    /// Gets the page over a connection of its own.
    async fn get(authority: &Credentials, port: u16) -> Result<String, reqwest::Error> {
        let authority = Certificate::from_der(&authority.authority).unwrap();
        let client = Client::builder().tls_certs_only([authority]).build()?;
        let page = client.get(format!("https://localhost:{port}/"));
        page.send().await?.text().await
    }

    run(async {
        let (credentials, others) = (Credentials::new(), Credentials::new());
        let counters = Arc::new(Counters::new());
        let mut config = credentials.server_config();
        config.observer = Some(counters.clone());

        let app = axum::Router::new().route("/", axum::routing::get(async || "hello"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let handle = Handle::new();
        let server = from_tcp_rustls(listener, RustlsConfig::from_config(Arc::new(config)))
            .unwrap()
            .handle(handle.clone());
        let asking = async {
            for _ in 0..2 {
                assert_eq!(get(&credentials, port).await.unwrap(), "hello");
            }
            get(&others, port).await.unwrap_err();
            handle.graceful_shutdown(None);
        };
        let (served, ()) = tokio::join!(server.serve(app.into_make_service()), asking);
        served.unwrap();

        let snapshot = over(&counters, "server", 3).await;
        let finished = [("carrier", "records"), ("outcome", "finished")];
        assert_count(&snapshot, "tls_handshakes_total", &finished, 2);
        // the client trusts an authority of the same name with another key
        let failed = [("label", "alert_received.decrypt_error"), ("fault", "peer")];
        assert_count(&snapshot, "tls_failures_total", &failed, 1);
        assert_count(&snapshot, "tls_connections_open", &[], 0);
        assert_ne!(snapshot.count("tls_bytes_total", &[]), 0);
    });
}

#[test]
fn connections_of_quinn_are_counted() {
    const PROTOCOL: &[u8] = b"nothing";

    run(async {
        let (credentials, others) = (Credentials::new(), Credentials::new());
        let counters = Arc::new(Counters::new());
        let mut config = credentials.server_config();
        config.observer = Some(counters.clone());
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        let config = QuicServerConfig::try_from(config).unwrap();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = ServerConfig::with_crypto(Arc::new(config));
        let server = Endpoint::server(server, any).unwrap();
        let client = Endpoint::client(any).unwrap();

        let connect = async |config: &ClientConfig| -> Result<Connection, ConnectionError> {
            let address = server.local_addr().unwrap();
            let connecting = client.connect_with(config.clone(), address, "localhost");
            let accepting = async { server.accept().await.unwrap().await };
            let (connected, accepted) = tokio::join!(connecting.unwrap(), accepting);
            let (connected, accepted) = (connected?, accepted?);
            // receives the tickets, which come before the stream
            let _ = accepted.open_uni().await?.finish();
            let _ = connected.accept_uni().await?.read_to_end(0).await;
            connected.close(0u8.into(), b"");
            accepted.closed().await;
            Ok(connected)
        };
        let config = |mut config: rustls::ClientConfig| {
            config.observer = Some(counters.clone());
            config.alpn_protocols = vec![PROTOCOL.to_vec()];
            ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).unwrap()))
        };
        let trusting = config(credentials.client_config());
        for _ in 0..2 {
            connect(&trusting).await.unwrap();
        }
        connect(&config(others.client_config())).await.unwrap_err();
        client.wait_idle().await;
        server.wait_idle().await;

        // by default, a server keeps its sessions in memory, which clients do not see
        let sides = [
            ("client", "resumed_by_ticket"),
            ("server", "resumed_by_storage"),
        ];
        for (side, resumed) in sides {
            let snapshot = over(&counters, side, 3).await;
            let quic = [("side", side), ("carrier", "quic")];
            assert_count(&snapshot, "tls_handshakes_begun_total", &quic, 3);
            let finished = [&quic[..], &[("outcome", "finished")]].concat();
            for kind in ["full", resumed] {
                let of_kind = [&finished[..], &[("kind", kind)]].concat();
                assert_count(&snapshot, "tls_handshakes_total", &of_kind, 1);
            }
            assert_count(&snapshot, "tls_connections_open", &[("side", side)], 0);
        }
        let failed = [("label", "invalid_certificate.bad_signature")];
        assert_count(&counters.snapshot(), "tls_failures_total", &failed, 1);
    });
}
