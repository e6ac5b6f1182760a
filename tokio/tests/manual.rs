// The peer of the program in the manual's chapter `tokio_streams`, which includes this file. So it
// has no inner documentation.

use std::io;

use harness::peers::configs::{KeyType, PROVIDERS, Versions, server_name};
use harness::peers::pairs::this::Configs;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Sends two lines to `serve`, and checks the answer.
#[tokio::main(flavor = "current_thread")]
pub async fn confirms_lines(serve: impl AsyncFnOnce(TlsStream<DuplexStream>) -> io::Result<()>) {
    let provider = PROVIDERS[0].this();
    let configs = Configs::new(Versions::Tls13, provider, KeyType::EcdsaP256);
    let (near, far) = tokio::io::duplex(1000);
    let served = async { serve(TlsAcceptor::from(configs.server).accept(far).await?).await };
    let talk = async {
        let connector = TlsConnector::from(configs.client);
        let mut stream = connector.connect(server_name(), near).await?;
        stream.write_all(b"hello\nyou\n").await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        assert_eq!(answer, "5 bytes\n3 bytes\n");
        io::Result::Ok(())
    };
    tokio::try_join!(served, talk).unwrap();
}
