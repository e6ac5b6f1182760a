//! HTTP/3 with h3 over quinn: its client, and its server, which also serves reqwest if that is
//! built with HTTP/3.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use drop_in::{Credentials, moved, page, run};
use h3::server::RequestResolver;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig};

const PROTOCOL: &[u8] = b"h3";

fn listen(credentials: &Credentials) -> Endpoint {
    let mut config = credentials.server_config();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    let config = Arc::new(QuicServerConfig::try_from(config).unwrap());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Endpoint::server(ServerConfig::with_crypto(config), address).unwrap()
}

/// Answers `requests` requests of one connection with their bodies.
async fn serve(endpoint: &Endpoint, requests: usize) {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let connection = h3_quinn::Connection::new(connection);
    let mut connection = h3::server::Connection::new(connection).await.unwrap();
    for _ in 0..requests {
        answer(connection.accept().await.unwrap().unwrap()).await;
    }
    // the client has finished when it closes
    while let Ok(Some(_)) = connection.accept().await {}
}

async fn answer(request: RequestResolver<h3_quinn::Connection, Bytes>) {
    let (request, mut stream) = request.resolve_request().await.unwrap();
    assert_eq!(
        (request.method().as_str(), request.uri().path()),
        ("POST", "/")
    );
    let mut body = Vec::new();
    while let Some(mut data) = stream.recv_data().await.unwrap() {
        body.extend(data.copy_to_bytes(data.remaining()));
    }
    stream.send_response(http::Response::new(())).await.unwrap();
    stream.send_data(body.into()).await.unwrap();
    stream.finish().await.unwrap();
}

const REQUESTS: usize = 3;

#[test]
fn h3_requests_and_serves_a_page() {
    run(async {
        let credentials = Credentials::new();
        let server = listen(&credentials);
        let mut config = credentials.client_config();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        let config = Arc::new(QuicClientConfig::try_from(config).unwrap());
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut client = Endpoint::client(any).unwrap();
        client.set_default_client_config(ClientConfig::new(config));

        let asking = async {
            let connecting = client.connect(server.local_addr().unwrap(), "localhost");
            let connection = h3_quinn::Connection::new(connecting.unwrap().await.unwrap());
            let (mut driver, mut client) = h3::client::new(connection).await.unwrap();
            let asking = async {
                for _ in 0..REQUESTS {
                    let request = http::Request::post("https://localhost/").body(()).unwrap();
                    let mut stream = client.send_request(request).await.unwrap();
                    stream.send_data(page().into()).await.unwrap();
                    stream.finish().await.unwrap();
                    assert_eq!(stream.recv_response().await.unwrap().status(), 200);
                    let mut body = Vec::new();
                    while let Some(mut data) = stream.recv_data().await.unwrap() {
                        body.extend(data.copy_to_bytes(data.remaining()));
                    }
                    assert!(body == page(), "wrong page");
                }
                // the driver closes after the last client is dropped
                drop(client);
            };
            tokio::join!(driver.wait_idle(), asking);
        };
        tokio::join!(serve(&server, REQUESTS), asking);
        moved(
            "h3-quinn",
            "client, server",
            "HTTP/3",
            2 * REQUESTS * page().len(),
        );
    });
}

#[cfg(feature = "http3")]
#[test]
fn reqwest_requests_a_page() {
    use reqwest::{Certificate, Client, Version};

    run(async {
        let credentials = Credentials::new();
        let server = listen(&credentials);
        let port = server.local_addr().unwrap().port();
        let authority = Certificate::from_der(&credentials.authority).unwrap();
        let client = Client::builder()
            .tls_certs_only([authority])
            .http3_prior_knowledge()
            .build()
            .unwrap();
        let asking = async {
            for _ in 0..REQUESTS {
                let request = client.post(format!("https://localhost:{port}/"));
                let request = request.version(Version::HTTP_3).body(page());
                let response = request.send().await.unwrap();
                let (status, version) = (response.status().as_u16(), response.version());
                assert_eq!((status, version), (200, Version::HTTP_3));
                assert!(response.bytes().await.unwrap() == page(), "wrong page");
            }
            drop(client);
        };
        tokio::join!(serve(&server, REQUESTS), asking);
        moved("reqwest", "client", "HTTP/3.0", 2 * REQUESTS * page().len());
    });
}
