//! Echoes the data of clients over TLS, reading and writing each connection at the same time.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example split_echo -- /tmp/demo/server.pem /tmp/demo/server.key
//! openssl s_client -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! One thread owns the receiving half of the connection, another the sending half. A short queue
//! between them limits the data that waits for a client that does not read the echo:
//!
//! ```text
//!   socket ─► Receiver ─► queue of data ─► Sender ─► socket
//! ```

#[cfg(test)]
mod echo_tests;
mod exit;
mod listen;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender, sync_channel};
use std::thread;

use clap::Parser;
use listen::ListenWithKey;
use rustls::server::ServerConnectionData;
use rustls::split::{Receiver, Sender};
use rustls::{ServerConfig, ServerConnection};

/// The number of pieces of data that can wait between the two threads.
const QUEUE_LEN: usize = 16;

/// Echo the data of clients over TLS, with a reading and a writing thread per connection
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    server: ListenWithKey,
}

fn main() {
    exit::on_error(run(&Options::parse().server));
}

fn run(server: &ListenWithKey) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(server.config()?);
    let listener = server.listen.bind()?;
    println!("listening on {}", listener.local_addr()?);
    for socket in listener.incoming() {
        let config = config.clone();
        thread::spawn(move || {
            if let Err(error) = socket.and_then(|socket| echo_one(config, socket)) {
                eprintln!("split_echo: {error}");
            }
        });
    }
    Ok(())
}

/// Serves one client until it closes its side.
fn echo_one(config: Arc<ServerConfig>, mut socket: TcpStream) -> io::Result<()> {
    let mut conn = ServerConnection::new(config).map_err(io::Error::other)?;
    while conn.is_handshaking() {
        conn.complete_io(&mut socket)?;
    }
    let (sender, receiver) = conn.into_split().map_err(io::Error::other)?;

    let (to_writer, queue) = sync_channel(QUEUE_LEN);
    let outgoing = socket.try_clone()?;
    let writer = thread::spawn(move || write_all(sender, queue, outgoing));
    let received = read_all(receiver, &to_writer, socket);
    // This ends the writing thread, after it has sent the queued data or the alert.
    drop(to_writer);
    let panicked = |_| Err(io::Error::other("the writing thread panicked"));
    let sent = writer.join().unwrap_or_else(panicked);
    received.and(sent)
}

fn read_all(
    mut receiver: Receiver<ServerConnectionData>,
    to_writer: &SyncSender<Vec<u8>>,
    mut socket: TcpStream,
) -> io::Result<()> {
    // The writing thread ends early only after an error, which `echo_one` also returns.
    let ended = |_| io::ErrorKind::BrokenPipe;
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
                    to_writer.send(data).map_err(ended)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The stream ended without a close_notify: an attacker may have cut it off.
                Err(error) => return Err(error),
            }
        }
        receiver.read_tls(&mut socket)?;
        let processed = receiver.process_new_packets();
        // The sending half itself has output, such as a KeyUpdate or the alert for an error. An
        // empty piece makes the writing thread send it.
        if receiver.sender_wants_write() {
            to_writer.send(Vec::new()).map_err(ended)?;
        }
        processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
}

fn write_all(
    mut sender: Sender,
    queue: mpsc::Receiver<Vec<u8>>,
    mut socket: TcpStream,
) -> io::Result<()> {
    for data in queue {
        sender.writer().write_all(&data)?;
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

/// The number of bytes that test clients send after a forged record.
#[cfg(test)]
const UNREAD: u64 = 0;
