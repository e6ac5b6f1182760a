//! HTTP/1.1 and HTTP/2 with hyper: a server over tokio-rustls, with the clients hyper-rustls and
//! reqwest.

use std::io;
use std::sync::Arc;

use drop_in::{Credentials, moved, page, run};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::{JoinSet, spawn};
use tokio_rustls::TlsAcceptor;

/// The number of concurrent requests. Over HTTP/2 they share a connection.
const REQUESTS: usize = 4;

/// Starts an echo server that offers the protocols `alpn`. Returns its URL.
async fn serve(credentials: &Credentials, alpn: &[&[u8]]) -> String {
    let mut config = credentials.server_config();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let accepting = acceptor.accept(socket);
            spawn(async move {
                let stream = accepting.await.unwrap();
                auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service_fn(echo))
                    .await
                    .unwrap();
            });
        }
    });
    format!("https://localhost:{port}/")
}

async fn echo(request: Request<Incoming>) -> Result<Response<Incoming>, io::Error> {
    Ok(Response::new(request.into_body()))
}

type HyperClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

fn hyper_client(credentials: &Credentials) -> HyperClient {
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(credentials.client_config())
        .https_only()
        .enable_all_versions()
        .build();
    Client::builder(TokioExecutor::new()).build(connector)
}

/// Posts a page. Returns the echo and the version of HTTP.
async fn ask_by_hyper(client: HyperClient, url: String) -> (Version, Bytes) {
    let request = Request::post(url).body(Full::from(page())).unwrap();
    let response = client.request(request).await.unwrap();
    let version = response.version();
    let body = response.into_body().collect().await.unwrap();
    (version, body.to_bytes())
}

fn reqwest_client(credentials: &Credentials) -> reqwest::Client {
    let authority = reqwest::Certificate::from_der(&credentials.authority).unwrap();
    reqwest::Client::builder()
        .tls_certs_only([authority])
        .build()
        .unwrap()
}

async fn ask_by_reqwest(client: reqwest::Client, url: String) -> (Version, Bytes) {
    let response = client.post(url).body(page()).send().await.unwrap();
    (response.version(), response.bytes().await.unwrap())
}

/// Sends several requests at once to a server that should use `expected`.
async fn ask<F>(package: &str, expected: Version, post: impl Fn() -> F)
where
    F: Future<Output = (Version, Bytes)> + Send + 'static,
{
    let mut asked: JoinSet<_> = (0..REQUESTS).map(|_| post()).collect();
    while let Some(answer) = asked.join_next().await {
        let (version, body) = answer.unwrap();
        assert_eq!(version, expected);
        assert!(body == page(), "wrong page");
    }
    let traffic = format!("{expected:?}");
    let bytes = REQUESTS * 2 * page().len();
    moved(package, "client", &traffic, bytes);
    moved("hyper", "server", &traffic, bytes);
}

/// Protocols that a server offers by ALPN, and the resulting versions.
const PROTOCOLS: [(&[&[u8]], Version); 3] = [
    (&[b"h2", b"http/1.1"], Version::HTTP_2),
    (&[b"http/1.1"], Version::HTTP_11),
    (&[], Version::HTTP_11),
];

#[test]
fn hyper_rustls_posts_a_page() {
    run(async {
        for (alpn, expected) in PROTOCOLS {
            let credentials = Credentials::new();
            let url = serve(&credentials, alpn).await;
            let client = hyper_client(&credentials);
            let post = || ask_by_hyper(client.clone(), url.clone());
            ask("hyper-rustls", expected, post).await;
        }
    });
}

#[test]
fn reqwest_posts_a_page() {
    run(async {
        for (alpn, expected) in PROTOCOLS {
            let credentials = Credentials::new();
            let url = serve(&credentials, alpn).await;
            let client = reqwest_client(&credentials);
            let post = || ask_by_reqwest(client.clone(), url.clone());
            ask("reqwest", expected, post).await;
        }
    });
}

#[test]
fn reqwest_trusts_no_other_authority() {
    run(async {
        let url = serve(&Credentials::new(), &[b"h2"]).await;
        // an authority with the same name and another key
        let client = reqwest_client(&Credentials::new());
        let error = client.get(url).send().await.unwrap_err();
        assert!(format!("{error:?}").contains("BadSignature"), "{error:?}");
    });
}
