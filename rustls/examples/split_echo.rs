//! A server that sends back what it receives, reading and writing each connection at the same time.
//!
//! ```text
//! cargo run --example split_echo -- CERT_FILE KEY_FILE [--address 127.0.0.1:4444]
//! ```
//!
//! One thread has the connection's receiving half, another its sending half. Between them is a short queue, so that a
//! client that does not read what comes back is not read from any more:
//!
//! ```text
//!   socket ─► Receiver ─► queue: data, "look", the end ─► Sender ─► socket
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread;

use clap::Parser;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};
use rustls::{ServerConfig, ServerConnection};

/// How many pieces of data may wait between the two threads.
const QUEUE_LEN: usize = 16;

#[derive(Parser)]
struct Options {
    /// The certificate chain in PEM
    cert_file: PathBuf,

    /// Its key in PEM
    key_file: PathBuf,

    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:4444")]
    address: SocketAddr,
}

/// What the reading thread has for the writing one. When it hangs up, nothing more will come.
enum Work {
    SendBack(Vec<u8>),
    /// The sending half has something to send of its own.
    Look,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let chain = CertificateDer::pem_file_iter(&options.cert_file)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&options.key_file)?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind(options.address)?;
    println!("echoing on {}", listener.local_addr()?);
    for socket in listener.incoming() {
        let config = config.clone();
        thread::spawn(move || {
            if let Err(error) = socket.map_err(Into::into).and_then(|s| echo(config, s)) {
                eprintln!("split_echo: {error}");
            }
        });
    }
    Ok(())
}

/// Serves one client until it closes its side.
fn echo(
    config: Arc<ServerConfig>,
    mut socket: TcpStream,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut conn = ServerConnection::new(config)?;
    while conn.is_handshaking() {
        conn.complete_io(&mut socket)?;
    }
    let (sender, receiver) = conn.into_split()?;

    let (to_writer, work) = sync_channel(QUEUE_LEN);
    let outgoing = socket.try_clone()?;
    let writer = thread::spawn(move || write_all(sender, work, outgoing));
    let received = read_all(receiver, &to_writer, socket);
    // the writer sends what waits, or the alert, and ends
    drop(to_writer);
    let sent = writer.join().map_err(|_| "the writing thread panicked")?;
    Ok(received.and(sent)?)
}

fn read_all(
    mut receiver: Receiver<ServerConnectionData>,
    to_writer: &SyncSender<Work>,
    mut socket: TcpStream,
) -> io::Result<()> {
    loop {
        receiver.read_tls(&mut socket)?;
        let processed = receiver.process_new_packets();
        // after an error, too: then it is the alert
        if receiver.sender_wants_write() {
            hand_over(to_writer, Work::Look)?;
        }
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        loop {
            match receiver.reader().fill_buf() {
                // a close_notify
                Ok([]) => return Ok(()),
                Ok(chunk) => {
                    let data = chunk.to_vec();
                    receiver.reader().consume(data.len());
                    hand_over(to_writer, Work::SendBack(data))?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // the end of the stream without one, which may be an attack
                Err(error) => return Err(error),
            }
        }
    }
}

fn hand_over(to_writer: &SyncSender<Work>, work: Work) -> io::Result<()> {
    // a writer that has gone has met an error, which is reported
    to_writer
        .send(work)
        .map_err(|_| io::ErrorKind::BrokenPipe.into())
}

fn write_all(
    mut sender: Sender,
    work: mpsc::Receiver<Work>,
    mut socket: TcpStream,
) -> io::Result<()> {
    for work in work {
        if let Work::SendBack(data) = work {
            sender.writer().write_all(&data)?;
        }
        flush(&mut sender, &mut socket)?;
    }
    sender.send_close_notify();
    flush(&mut sender, &mut socket)?;
    socket.shutdown(Shutdown::Write)
}

fn flush(sender: &mut Sender, socket: &mut TcpStream) -> io::Result<()> {
    while sender.wants_write() {
        sender.write_tls(socket)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use harness::configs::{self, ClientAuth, KeyType, Provider, server_name};
    use rustls::{ClientConnection, StreamOwned};

    use super::*;

    /// A client of the server, and what becomes of serving it.
    fn client() -> (
        StreamOwned<ClientConnection, TcpStream>,
        thread::JoinHandle<Result<(), String>>,
    ) {
        let (provider, key) = (Provider::AwsLc.this(), KeyType::EcdsaP256);
        let server = configs::this::server(provider.clone(), key, ClientAuth::None);
        let client = configs::this::client(provider, key, ClientAuth::None);
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let served =
            thread::spawn(move || echo(Arc::new(server), far).map_err(|error| error.to_string()));
        let conn = ClientConnection::new(Arc::new(client), server_name()).unwrap();
        (StreamOwned::new(conn, near), served)
    }

    #[test]
    fn what_is_sent_comes_back() {
        let (mut client, served) = client();
        for len in [1, 1000, 100_000] {
            let data = vec![len as u8; len];
            client.write_all(&data).unwrap();
            client.conn.refresh_traffic_keys().unwrap();
            let mut back = vec![0; len];
            client.read_exact(&mut back).unwrap();
            assert_eq!(back, data);
        }
        client.conn.send_close_notify();
        client.flush().unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty());
        assert_eq!(served.join().unwrap(), Ok(()));
    }

    /// The alert comes although the server had nothing to write.
    #[test]
    fn a_client_is_told_of_its_mistake() {
        let (mut client, served) = client();
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        client
            .sock
            .write_all(b"\x17\x03\x03\x00\x11not what was sealed"[..22].as_ref())
            .unwrap();
        let error = client.read(&mut [0]).unwrap_err();
        assert!(error.to_string().contains("BadRecordMac"), "{error}");
        assert!(served.join().unwrap().is_err());
    }
}
