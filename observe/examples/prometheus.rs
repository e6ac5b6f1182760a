//! An HTTPS server with a page for Prometheus: hyper, with the metrics of its TLS connections.
//!
//! ```text
//! cargo run --manifest-path rustls/Cargo.toml --example certificate -- /tmp/demo
//! cargo run -p rustls-observe --example prometheus -- /tmp/demo/server.pem /tmp/demo/server.key
//! curl --cacert /tmp/demo/ca.pem https://localhost:8443
//! curl http://localhost:9898/metrics
//! ```
//!
//! Nothing in the accept loop knows of the metrics: the observer belongs to the configuration. The
//! page is on a separate port without TLS, which only Prometheus should be able to reach.

#[path = "../../rustls/examples/exit/mod.rs"]
mod exit;
#[path = "../../rustls/examples/listen/mod.rs"]
mod listen;
#[cfg(test)]
#[path = "prometheus/tests.rs"]
mod tests;

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use listen::ListenWithKey;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rustls::ServerConfig;
use rustls_observe::Metrics;
use tokio::net::TcpListener;
use tokio::time::{interval, sleep};
use tokio_rustls::TlsAcceptor;

/// The upper bounds of the buckets for durations, in seconds.
const BUCKETS: [f64; 6] = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0];

/// The interval at which durations are moved into their buckets, which bounds their memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// The pause after a failure to accept a connection, probably because file descriptors ran out: an
/// immediate retry would fail too.
const PAUSE: Duration = Duration::from_millis(100);

/// Serve a page over HTTPS, and the metrics of the TLS connections to Prometheus
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    server: ListenWithKey,

    /// Address and port of the page for Prometheus
    #[arg(long, default_value = "127.0.0.1:9898")]
    metrics: SocketAddr,
}

#[tokio::main]
async fn main() {
    exit::on_error(run(&Options::parse()).await);
}

async fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut config = options.server.config()?;
    let pages = observe(&mut config)?;

    let listener = options.server.listen.bind()?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let scrapes = TcpListener::bind(options.metrics).await;
    let scrapes =
        scrapes.map_err(|error| format!("cannot listen on {}: {error}", options.metrics))?;
    println!("listening on https://{}", listener.local_addr()?);
    println!("metrics on http://{}/metrics", scrapes.local_addr()?);
    tokio::spawn(serve_metrics(scrapes, pages));
    serve(listener, config).await;
    Ok(())
}

/// Makes the connections of `config` report to a recorder for Prometheus. Returns a handle that
/// renders its page.
fn observe(config: &mut ServerConfig) -> Result<PrometheusHandle, Box<dyn Error>> {
    let pages = PrometheusBuilder::new()
        .set_buckets(&BUCKETS)?
        .install_recorder()?;
    let metrics = Metrics::new();
    metrics.describe();
    config.observer = Some(Arc::new(metrics));
    Ok(pages)
}

/// Answers requests over HTTPS.
async fn serve(listener: TcpListener, config: ServerConfig) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // the observer has counted the failure
            let Ok(stream) = acceptor.accept(socket).await else {
                return;
            };
            let service = service_fn(async |_| page(StatusCode::OK, "hello\n".into()));
            let http = http1::Builder::new();
            // clients may leave at any time
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Answers Prometheus' requests over HTTP.
async fn serve_metrics(listener: TcpListener, pages: PrometheusHandle) {
    let mut upkeep = interval(UPKEEP);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = upkeep.tick() => {
                pages.run_upkeep();
                continue;
            }
        };
        let Ok((socket, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let pages = pages.clone();
        tokio::spawn(async move {
            let service = service_fn(async |request: Request<Incoming>| {
                let (status, text) = match request.uri().path() {
                    "/metrics" => (StatusCode::OK, pages.render()),
                    _ => (StatusCode::NOT_FOUND, String::new()),
                };
                page(status, text)
            });
            let http = http1::Builder::new();
            let _ = http.serve_connection(TokioIo::new(socket), service).await;
        });
    }
}

fn page(status: StatusCode, text: String) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    Ok(response)
}
