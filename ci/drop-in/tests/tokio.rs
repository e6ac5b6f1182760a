//! tokio-rustls: its acceptors serve and its connector sends requests.

use std::io::{self, Read};
use std::sync::Arc;

use drop_in::{Credentials, moved, page, run};
use rustls::ServerConfig;
use rustls::pki_types::ServerName;
use rustls::server::Acceptor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor, TlsConnector};

/// Echoes received data until the client closes.
async fn echo(mut stream: TlsStream<TcpStream>) -> io::Result<()> {
    let (mut buffer, mut total) = (vec![0; 10_000], 0);
    loop {
        match stream.read(&mut buffer).await? {
            0 => break,
            len => {
                total += len;
                stream.write_all(&buffer[..len]).await?;
                stream.flush().await?;
            }
        }
    }
    assert_eq!(total, page().len());
    stream.shutdown().await
}

/// Sends a page to an echo server, in both directions at the same time, and closes.
async fn ask(credentials: &Credentials, listener: &TcpListener) -> io::Result<()> {
    let connector = TlsConnector::from(Arc::new(credentials.client_config()));
    let socket = TcpStream::connect(listener.local_addr()?).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, socket).await?;
    let (mut reading, mut writing) = tokio::io::split(stream);
    let sending = async {
        writing.write_all(&page()).await?;
        writing.shutdown().await
    };
    let mut echoed = Vec::new();
    let (sent, received) = tokio::join!(sending, reading.read_to_end(&mut echoed));
    sent?;
    received?;
    assert!(echoed == page(), "wrong echo");
    Ok(())
}

#[test]
fn the_acceptor_and_connector_of_tokio_rustls_work() {
    run(async {
        let credentials = Credentials::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(credentials.server_config()));
        let serving = async {
            let (socket, _) = listener.accept().await?;
            echo(acceptor.accept(socket).await?).await
        };
        let (served, asked) = tokio::join!(serving, ask(&credentials, &listener));
        served.unwrap();
        asked.unwrap();
        let both = "client and server";
        moved("tokio-rustls", both, "an echo", 2 * page().len());
    });
}

/// Accepts a connection, and chooses the configuration by the client's server name.
async fn accept_lazily(
    listener: &TcpListener,
    config: Arc<ServerConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let (socket, _) = listener.accept().await?;
    let start = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
    assert_eq!(start.client_hello().server_name(), Some("localhost"));
    start.into_stream(config).await
}

#[test]
fn the_lazy_acceptor_of_tokio_rustls_works() {
    run(async {
        let credentials = Credentials::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let config = Arc::new(credentials.server_config());
        let serving = async { echo(accept_lazily(&listener, config).await?).await };
        let (served, asked) = tokio::join!(serving, ask(&credentials, &listener));
        served.unwrap();
        asked.unwrap();
        let traffic = "an echo, LazyConfigAcceptor";
        moved("tokio-rustls", "server", traffic, 2 * page().len());
    });
}

#[test]
fn the_lazy_acceptor_sends_the_client_an_alert() {
    run(async {
        let credentials = Credentials::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        // data that is not TLS
        let serving = async {
            let (socket, _) = listener.accept().await.unwrap();
            let refused = LazyConfigAcceptor::new(Acceptor::default(), socket).await;
            refused.err().unwrap()
        };
        let asking = async {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await.unwrap();
            answer
        };
        let (error, answer) = tokio::join!(serving, asking);
        assert!(error.to_string().contains("InvalidContentType"), "{error}");
        assert_eq!(answer[..5], [21, 3, 3, 0, 2], "an alert");

        // a ClientHello that the chosen configuration rejects
        let mut config = credentials.server_config();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = credentials.client_config();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        let serving = accept_lazily(&listener, Arc::new(config));
        let asking = async {
            let socket = TcpStream::connect(address).await.unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let connector = TlsConnector::from(Arc::new(client));
            connector.connect(name, socket).await.err().unwrap()
        };
        let (refused, error) = tokio::join!(serving, asking);
        refused.unwrap_err();
        assert!(
            error.to_string().contains("NoApplicationProtocol"),
            "{error}"
        );
    });
}

/// The first connection yields tickets. The second sends its request with its first flight.
#[test]
fn tokio_rustls_sends_early_data() {
    run(async {
        let credentials = Credentials::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = credentials.server_config();
        config.max_early_data_size = 1000;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut config = credentials.client_config();
        config.enable_early_data = true;
        let connector = TlsConnector::from(Arc::new(config)).early_data(true);

        for early in [false, true] {
            let serving = async {
                let (socket, _) = listener.accept().await.unwrap();
                let mut stream = acceptor.accept(socket).await.unwrap();
                let mut question = [0; 8];
                if early {
                    let (_, connection) = stream.get_mut();
                    let mut data = connection.early_data().unwrap();
                    data.read_exact(&mut question).unwrap();
                } else {
                    stream.read_exact(&mut question).await.unwrap();
                }
                assert_eq!(&question, b"question");
                stream.write_all(b"answer").await.unwrap();
                stream.shutdown().await.unwrap();
            };
            let asking = async {
                let socket = TcpStream::connect(address).await.unwrap();
                let name = ServerName::try_from("localhost").unwrap();
                let mut stream = connector.connect(name, socket).await.unwrap();
                stream.write_all(b"question").await.unwrap();
                stream.flush().await.unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).await.unwrap();
                assert_eq!(answer, b"answer");
                let (_, connection) = stream.get_ref();
                assert_eq!(connection.is_early_data_accepted(), early);
            };
            tokio::join!(serving, asking);
        }
        let both = "client and server";
        moved("tokio-rustls", both, "early data", b"question".len());
    });
}
