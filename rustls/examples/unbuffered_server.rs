//! Serves the files of a folder over TLS, on the unbuffered API: each worker has one buffer for what is
//! received and one for what is sent, for all connections that it serves one after the other, and allocates
//! nothing after a handshake.
//!
//! ```text
//! cargo run --example unbuffered_server -- CERT_FILE KEY_FILE FOLDER [--address 127.0.0.1:4443]
//! ```
//!
//! A file is read to the place in the outgoing buffer where its bytes lie in the record, and encrypted
//! there. It is never copied:
//!
//! ```text
//!             ┌─ headroom ─┐┌─ payload ─────────────┐┌─ tailroom ─┐┌─ spare ──────────┐
//!  outgoing = │ header     ││ file ──► ciphertext   ││ type, tag  ││ KeyUpdate, alert │
//!             └────────────┘└───────────────────────┘└────────────┘└──────────────────┘
//!             └──────────────── record ──► socket ───────────────┘
//! ```

mod serve;
mod unbuffered;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use rustls::ServerConfig;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, InPlaceError, UnbufferedStatus, WriteTraffic};
use serve::{Client, Files, Options, RequestHead, Response};
use unbuffered::{Incoming, Next, heap};

/// Room for a record of the greatest length, and spare room behind it.
const OUTGOING_LEN: usize = 20 * 1024;

/// The spare room: for what the connection itself sends while a file is being sent, which is less.
const SPARE_LEN: usize = 1024;

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("unbuffered_server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut config = options.config()?;
    // tickets come after the handshake, and a client allocates to keep one
    config.send_tls13_tickets = 0;
    let config = Arc::new(config);
    let files = options.files()?;
    options.serve(|| worker(&config, &files))
}

/// What serves one client after the other.
fn worker(
    config: &Arc<ServerConfig>,
    files: &Files,
) -> impl FnMut(Client) -> Result<(), Box<dyn Error>> {
    let mut worker = Worker {
        config: config.clone(),
        files,
        incoming: Incoming::new(),
        outgoing: vec![0; OUTGOING_LEN],
    };
    move |mut client| {
        let outcome = worker.serve_one(&mut client);
        client.close();
        outcome
    }
}

/// A worker and its two buffers.
struct Worker<'f> {
    config: Arc<ServerConfig>,
    files: &'f Files,
    incoming: Incoming,
    outgoing: Vec<u8>,
}

impl Worker<'_> {
    fn serve_one(&mut self, client: &mut Client) -> Result<(), Box<dyn Error>> {
        let Self {
            config,
            files,
            incoming,
            outgoing,
        } = self;
        incoming.clear();
        let mut conn = UnbufferedServerConnection::new(config.clone())?;
        let mut head = RequestHead::new();
        let mut encoded = 0;
        let mut allocations = None;
        let mut closed = false;
        let mut failure: Option<rustls::Error> = None;

        loop {
            let UnbufferedStatus { discard, state } =
                conn.process_tls_records(incoming.unprocessed());
            let next = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    if let Some(record) = traffic.next_record() {
                        let record = record?;
                        head.receive(record.payload);
                    }
                    Next::Process
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encoded += data.encode_to_vec(outgoing, encoded)?;
                    Next::Process
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    client.write_all(&outgoing[..encoded])?;
                    encoded = 0;
                    data.done();
                    Next::Process
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) if head.is_complete() => {
                    let before = allocations.unwrap_or_else(heap::allocations);
                    let mut response = Response::to(&mut head, files)?;
                    send(&mut traffic, &mut response, outgoing, client)?;
                    close(&mut traffic, outgoing, client)?;
                    let allocations = heap::allocations() - before;
                    eprintln!("{allocations} allocations after the handshake, by all workers");
                    return Ok(());
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) if closed => {
                    close(&mut traffic, outgoing, client)?;
                    return Err("the client closed the connection without a request".into());
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    allocations.get_or_insert_with(heap::allocations);
                    Next::Receive
                }
                Ok(ConnectionState::BlockedHandshake) => Next::Receive,
                // A close_notify: nothing follows. A request that came before it still gets its response.
                Ok(ConnectionState::PeerClosed) => {
                    closed = true;
                    Next::Process
                }
                Ok(state) => return Err(format!("not prepared for {state:?}").into()),
                // go on: the next state hands out the alert that tells the client why
                Err(error) if failure.is_none() => {
                    failure = Some(error);
                    Next::Process
                }
                Err(error) => return Err(failure.unwrap_or(error).into()),
            };
            incoming.discard(discard);

            match next {
                Next::Process => {}
                Next::Receive if incoming.receive(client)? == 0 => {
                    // without a close_notify this may be an attacker's doing
                    return Err("the connection was cut off".into());
                }
                Next::Receive => {}
            }
        }
    }
}

/// Sends the response in records that are made around its bytes.
fn send(
    traffic: &mut WriteTraffic<'_, ServerConnectionData>,
    response: &mut Response,
    outgoing: &mut [u8],
    client: &mut Client,
) -> Result<(), Box<dyn Error>> {
    let (outgoing, spare) = outgoing.split_at_mut(outgoing.len() - SPARE_LEN);
    let room = traffic.in_place_room();
    let start = room.headroom;
    let end = Ord::min(start + room.max_payload, outgoing.len() - room.tailroom);
    loop {
        let len = response.fill(&mut outgoing[start..end])?;
        if len == 0 {
            break;
        }
        let record = match traffic.encrypt_in_place(outgoing, start..start + len) {
            Err(InPlaceError::OutputPending) => {
                // a KeyUpdate goes first; encrypting nothing hands it out
                let pending = traffic.encrypt(&[], spare)?;
                client.write_all(&spare[..pending])?;
                traffic.encrypt_in_place(outgoing, start..start + len)?
            }
            record => record?,
        };
        client.write_all(&outgoing[record])?;
    }
    Ok(())
}

/// Sends a close_notify (RFC 9846 §6.1), which tells the client that the response is complete.
fn close(
    traffic: &mut WriteTraffic<'_, ServerConnectionData>,
    outgoing: &mut [u8],
    client: &mut Client,
) -> Result<(), Box<dyn Error>> {
    let len = traffic.queue_close_notify(outgoing)?;
    client.write_all(&outgoing[..len])?;
    Ok(())
}
