//! Serves the files of a folder over TLS with the unbuffered API.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example unbuffered_server -- /tmp/demo/server.pem /tmp/demo/server.key .
//! ```
//!
//! Each worker serves one connection after the other, with one receive buffer and one send buffer
//! for all of them. Nothing is allocated after a handshake.
//!
//! A file is read to its place inside the record and encrypted there. It is never copied:
//!
//! ```text
//!             ┌─ headroom ─┐┌─ payload ─────────────┐┌─ tailroom ─┐┌─ spare ──────────┐
//!  outgoing = │ header     ││ file ──► ciphertext   ││ type, tag  ││ KeyUpdate, alert │
//!             └────────────┘└───────────────────────┘└────────────┘└──────────────────┘
//!             └──────────────── record ──► socket ───────────────┘
//! ```

mod listen;
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

/// Room for a full record, and the spare room after it.
const OUTGOING_LEN: usize = 20 * 1024;

/// Room for a KeyUpdate or an alert, which the connection may send between two records of a file.
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
    // A client that stores a ticket allocates after the handshake.
    config.send_tls13_tickets = 0;
    let config = Arc::new(config);
    let files = options.files()?;
    options.serve(|| worker(&config, &files))
}

/// Returns a function that serves a client. All its clients share the buffers.
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
                // A close_notify: the client sends nothing more. An earlier request is still
                // answered.
                Ok(ConnectionState::PeerClosed) => {
                    closed = true;
                    Next::Process
                }
                Ok(state) => return Err(format!("unexpected state {state:?}").into()),
                // Continue once: the next state returns the alert for the client.
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
                    // Without a close_notify, an attacker may have cut off the stream.
                    return Err("the connection was cut off".into());
                }
                Next::Receive => {}
            }
        }
    }
}

/// Sends the response in records that are built around its bytes.
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
                // A KeyUpdate has to be sent first. Encrypting an empty slice returns it.
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

/// Sends a close_notify (RFC 9846 §6.1), which confirms that the response is complete.
fn close(
    traffic: &mut WriteTraffic<'_, ServerConnectionData>,
    outgoing: &mut [u8],
    client: &mut Client,
) -> Result<(), Box<dyn Error>> {
    let len = traffic.queue_close_notify(outgoing)?;
    client.write_all(&outgoing[..len])?;
    Ok(())
}
