//! Echoes the data of clients over TLS, reading and writing each connection at the same time.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example split_echo -- /tmp/demo/server.pem /tmp/demo/server.key
//! openssl s_client -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! One thread owns the receiving half of the connection, another the sending half. A short queue
//! between them limits how far a client can get ahead that does not read the echo:
//!
//! ```text
//!   socket ─► Receiver ─► queue: data, output, the end ─► Sender ─► socket
//! ```

mod listen;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::net::{Shutdown, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread;

use clap::Parser;
use listen::Listen;
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};
use rustls::{ServerConfig, ServerConnection};

/// The number of pieces of data that can wait between the two threads.
const QUEUE_LEN: usize = 16;

/// Echo the data of clients over TLS, with a reading and a writing thread per connection
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    listen: Listen,
}

/// Work of the reading thread for the writing one. The end of the queue is the end of the data.
enum Work {
    Echo(Vec<u8>),
    /// The sending half has output of its own: an alert or a KeyUpdate.
    Flush,
}

fn main() -> ExitCode {
    match run(&Options::parse().listen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("split_echo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(listen: &Listen) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(listen.config()?);
    let listener = listen.bind()?;
    println!("listening on {}", listener.local_addr()?);
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
    // This ends the writing thread, after it has sent the queued data or the alert.
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
        // The client's first data may have arrived together with the end of the handshake, so queue
        // received data before waiting for more.
        loop {
            match receiver.reader().fill_buf() {
                // A close_notify: the client sends nothing more.
                Ok([]) => return Ok(()),
                Ok(chunk) => {
                    let data = chunk.to_vec();
                    receiver.reader().consume(data.len());
                    queue(to_writer, Work::Echo(data))?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The stream ended without a close_notify: an attacker may have cut it off.
                Err(error) => return Err(error),
            }
        }
        receiver.read_tls(&mut socket)?;
        let processed = receiver.process_new_packets();
        // Check this before the error: the output may be its alert.
        if receiver.sender_wants_write() {
            queue(to_writer, Work::Flush)?;
        }
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
}

fn queue(to_writer: &SyncSender<Work>, work: Work) -> io::Result<()> {
    // The writing thread ends early only after an error, which `echo` returns as well.
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
        if let Work::Echo(data) = work {
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
    use std::net::TcpListener;

    use harness::peers::configs::{self, ClientAuth, KeyType, Provider, server_name};
    use rustls::{ClientConnection, StreamOwned};

    use super::*;

    /// Connects a client to a server. Returns the client and the thread that serves it.
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
    fn data_is_echoed() {
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

    /// The server may read the data together with the end of the handshake.
    #[test]
    fn data_sent_with_the_finished_is_echoed() {
        let (mut client, served) = client();
        while client.conn.is_handshaking() {
            while client.conn.wants_write() {
                client.conn.write_tls(&mut client.sock).unwrap();
            }
            client.conn.read_tls(&mut client.sock).unwrap();
            client.conn.process_new_packets().unwrap();
        }
        client.conn.writer().write_all(b"early bird").unwrap();
        let mut output = Vec::new();
        while client.conn.wants_write() {
            client.conn.write_tls(&mut output).unwrap();
        }
        client.sock.write_all(&output).unwrap();
        let mut echo = [0; 10];
        client.read_exact(&mut echo).unwrap();
        assert_eq!(&echo, b"early bird");
        client.conn.send_close_notify();
        client.flush().unwrap();
        assert_eq!(served.join().unwrap(), Ok(()));
    }

    /// The alert is sent although the server has no data to write.
    #[test]
    fn forged_record_is_answered_with_an_alert() {
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
