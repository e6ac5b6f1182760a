//! Prints the resident memory of an idle HTTP/1.1 connection of hyper:
//!
//! ```text
//!   cargo test --release ... --test resident -- --ignored --nocapture
//! ```
//!
//! The server is a process of its own, which this one starts.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::{env, fs};

use drop_in::{Credentials, run};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const CONNECTIONS: usize = 5000;

/// The connections before the first measurement, because of what is allocated only once.
const EARLIER: usize = 500;

async fn hello(
    _: Request<Incoming>,
) -> Result<Response<http_body_util::Full<Bytes>>, hyper::Error> {
    Ok(Response::new(Bytes::from_static(b"hello").into()))
}

/// Serves until the process is killed. Prints the port.
async fn serve(certificate: &str, key: &str) {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let accepting = acceptor.accept(socket);
        spawn(async move {
            let stream = TokioIo::new(accepting.await.unwrap());
            let server = auto::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(stream, service_fn(hello)).await;
        });
    }
}

fn resident(server: &Child) -> usize {
    let pages = fs::read_to_string(format!("/proc/{}/statm", server.id())).unwrap();
    4096 * pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[test]
#[ignore = "a measurement"]
fn print_resident_memory() {
    let credentials = Credentials::new();
    if let Ok(certificate) = env::var("CERTIFICATE") {
        run(async { serve(&certificate, &env::var("KEY").unwrap()).await });
    }
    let mut server = Command::new(env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "print_resident_memory",
            "--nocapture",
        ])
        .env("CERTIFICATE", &credentials.certificate_pem)
        .env("KEY", &credentials.key_pem)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let port = lines
        .map_while(Result::ok)
        .find_map(|line| line.split_once("port ")?.1.parse::<u16>().ok())
        .unwrap();
    run(async {
        let connector = TlsConnector::from(Arc::new(credentials.client_config()));
        let mut open = Vec::new();
        let mut before = 0;
        for number in 0..EARLIER + CONNECTIONS {
            if number == EARLIER {
                before = resident(&server);
            }
            let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let name = "localhost".try_into().unwrap();
            let mut stream = connector.connect(name, socket).await.unwrap();
            let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\nhello") {
                assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
            }
            open.push(stream);
        }
        let bytes = (resident(&server) - before) / CONNECTIONS;
        println!("{bytes} bytes resident for each of {CONNECTIONS} idle connections");
    });
    server.kill().unwrap();
    server.wait().unwrap();
}
