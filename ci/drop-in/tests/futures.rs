//! futures-rustls: its acceptor serves and its connector sends requests, over sockets of tokio.

use std::io;
use std::sync::Arc;

use drop_in::{Credentials, moved, page, run};
use futures_rustls::{TlsAcceptor, TlsConnector};
use futures_util::{AsyncReadExt, AsyncWriteExt};
use rustls::pki_types::ServerName;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::compat::TokioAsyncReadCompatExt;

/// Echoes received data until the client closes.
async fn echo(acceptor: TlsAcceptor, listener: &TcpListener) -> io::Result<()> {
    let (socket, _) = listener.accept().await?;
    let mut stream = acceptor.accept(socket.compat()).await?;
    let mut buffer = vec![0; 10_000];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return stream.close().await,
            len => stream.write_all(&buffer[..len]).await?,
        }
        stream.flush().await?;
    }
}

/// Sends a page to an echo server, in both directions at the same time, and closes.
async fn ask(connector: TlsConnector, listener: &TcpListener) -> io::Result<Vec<u8>> {
    let socket = TcpStream::connect(listener.local_addr()?).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(name, socket.compat()).await?;
    let (mut reading, mut writing) = stream.split();
    let sending = async {
        writing.write_all(&page()).await?;
        writing.close().await
    };
    let mut echoed = Vec::new();
    let (sent, received) = tokio::join!(sending, reading.read_to_end(&mut echoed));
    sent?;
    received?;
    Ok(echoed)
}

#[test]
fn the_acceptor_and_connector_of_futures_rustls_work() {
    run(async {
        let credentials = Credentials::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(credentials.server_config()));
        let connector = TlsConnector::from(Arc::new(credentials.client_config()));
        let (served, echoed) = tokio::join!(echo(acceptor, &listener), ask(connector, &listener));
        served.unwrap();
        assert!(echoed.unwrap() == page(), "wrong echo");
        let both = "client and server";
        moved("futures-rustls", both, "an echo", 2 * page().len());
    });
}
