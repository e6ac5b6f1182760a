//! HTTP servers with their own acceptors: actix-web and axum-server. reqwest is the client, with
//! HTTP/1.1 and HTTP/2.

use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread;

use drop_in::{Credentials, moved, page, run};
use reqwest::{Certificate, Client, ClientBuilder, Version};

/// Posts a page to the echo of `package` twice over one connection, with each version of HTTP.
async fn ask(package: &str, credentials: &Credentials, port: u16) {
    type Limit = fn(ClientBuilder) -> ClientBuilder;
    let versions: [(Limit, Version); 2] = [
        (|client| client, Version::HTTP_2),
        (ClientBuilder::http1_only, Version::HTTP_11),
    ];
    for (limit, version) in versions {
        let authority = Certificate::from_der(&credentials.authority).unwrap();
        let client = limit(Client::builder().tls_certs_only([authority]));
        let client = client.build().unwrap();
        for _ in 0..2 {
            let request = client.post(format!("https://localhost:{port}/"));
            let response = request.body(page()).send().await.unwrap();
            assert_eq!(
                (response.status().as_u16(), response.version()),
                (200, version)
            );
            assert!(response.bytes().await.unwrap() == page(), "wrong page");
        }
        moved(package, "server", &format!("{version:?}"), 4 * page().len());
    }
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn actix_web_serves() {
    use actix_web::web::{Bytes, PayloadConfig, post};
    use actix_web::{App, HttpServer, rt};

    let credentials = Credentials::new();
    let config = credentials.server_config();
    let (listener, port) = listen();
    let (send, handle) = mpsc::channel();
    let serving = thread::spawn(move || {
        rt::System::new().block_on(async {
            let app = || {
                App::new()
                    .app_data(PayloadConfig::new(page().len()))
                    .route("/", post().to(async |body: Bytes| body))
            };
            let server = HttpServer::new(app)
                .workers(1)
                .disable_signals()
                .listen_rustls_0_23(listener, config)
                .unwrap()
                .run();
            send.send(server.handle()).unwrap();
            server.await
        })
    });
    let handle = handle.recv().unwrap();
    run(async {
        ask("actix-web", &credentials, port).await;
        handle.stop(false).await;
    });
    serving.join().unwrap().unwrap();
}

#[test]
fn axum_server_serves() {
    use axum::Router;
    use axum::body::Bytes;
    use axum::extract::DefaultBodyLimit;
    use axum::routing::post;
    use axum_server::Handle;
    use axum_server::tls_rustls::{RustlsConfig, from_tcp_rustls};

    run(async {
        let app = Router::new()
            .route("/", post(async |body: Bytes| body))
            .layer(DefaultBodyLimit::disable());
        let (first, second) = (Credentials::new(), Credentials::new());
        let config = RustlsConfig::from_pem(
            first.certificate_pem.clone().into(),
            first.key_pem.clone().into(),
        );
        let config = config.await.unwrap();
        let (listener, port) = listen();
        listener.set_nonblocking(true).unwrap();
        let handle = Handle::new();
        let server = from_tcp_rustls(listener, config.clone())
            .unwrap()
            .handle(handle.clone());
        let asking = async {
            ask("axum-server", &first, port).await;
            // replace the configuration while it serves
            let mut replaced = second.server_config();
            replaced.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            config.reload_from_config(Arc::new(replaced));
            ask("axum-server", &second, port).await;
            handle.shutdown();
        };
        let (served, ()) = tokio::join!(server.serve(app.into_make_service()), asking);
        served.unwrap();
    });
}
