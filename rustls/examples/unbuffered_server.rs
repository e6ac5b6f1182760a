//! Serves a file over TLS with the unbuffered API.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example unbuffered_server -- /tmp/demo/server.pem /tmp/demo/server.key README.md
//! ```
//!
//! Each connection has one receive buffer and one send buffer. Nothing is allocated after a
//! handshake.
//!
//! The file is read directly into the record and encrypted there. It is never copied:
//!
//! ```text
//!             ┌─ headroom ─┐┌─ payload ─────────────┐┌─ tailroom ─┐┌─ spare ──────────┐
//!  outgoing = │ header     ││ file ──► ciphertext   ││ type, tag  ││ KeyUpdate, alert │
//!             └────────────┘└───────────────────────┘└────────────┘└──────────────────┘
//!             └──────────────── record ──► socket ───────────────┘
//! ```

mod exit;
mod heap;
mod http;
mod listen;
mod serve;
mod unbuffered;

use std::error::Error;
use std::io::Write;

use clap::Parser;
use http::Head;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, InPlaceError, UnbufferedStatus, WriteTraffic};
use serve::{Client, Options, Response, Site};
use unbuffered::{Incoming, Outgoing};

/// The length of a full record and the spare room after it.
const OUTGOING_LEN: usize = 20 * 1024;

/// The length of the spare room, for a KeyUpdate or an alert that the connection may send between
/// two records of a file.
const SPARE_LEN: usize = 1024;

fn main() {
    // No tickets are sent, because a client that stores one allocates after the handshake.
    exit::on_error(Options::parse().run(0, serve));
}

fn serve(site: &Site, client: &mut Client) -> Result<(), Box<dyn Error>> {
    let mut conn = UnbufferedServerConnection::new(site.config.clone())?;
    let mut incoming = Incoming::new();
    let mut outgoing = Outgoing::new(OUTGOING_LEN);
    let mut head = Head::new();
    // the count at the end of the handshake
    let mut allocations = None;
    let mut closed = false;
    loop {
        let UnbufferedStatus { discard, state } = conn.process_tls_records(incoming.unprocessed());
        let mut receive = false;
        match outgoing.handle(state, client)? {
            None => {}
            Some(ConnectionState::ReadTraffic(mut traffic)) => {
                if let Some(record) = traffic.next_record() {
                    head.receive(record?.payload);
                }
            }
            Some(ConnectionState::WriteTraffic(mut traffic)) if head.is_over() => {
                let before = allocations.unwrap_or_else(heap::allocations);
                let mut response = Response::to(&head, &site.file)?;
                send(&mut traffic, &mut response, &mut outgoing.bytes, client)?;
                // RFC 9846 §6.1: a close_notify confirms that the response is complete
                let len = traffic.queue_close_notify(&mut outgoing.bytes)?;
                client.write_all(&outgoing.bytes[..len])?;
                let allocations = heap::allocations() - before;
                eprintln!("{allocations} allocations after the handshake, by all workers");
                return Ok(());
            }
            Some(ConnectionState::WriteTraffic(mut traffic)) if closed => {
                let len = traffic.queue_close_notify(&mut outgoing.bytes)?;
                client.write_all(&outgoing.bytes[..len])?;
                return Err("the client closed the connection without a request".into());
            }
            Some(ConnectionState::WriteTraffic(_)) => {
                allocations.get_or_insert_with(heap::allocations);
                receive = true;
            }
            Some(ConnectionState::BlockedHandshake) => receive = true,
            // A close_notify: the client sends nothing more. An earlier request is still answered.
            Some(ConnectionState::PeerClosed) => closed = true,
            Some(state) => return Err(format!("unexpected state {state:?}").into()),
        }
        incoming.discard(discard);
        if receive && incoming.receive(client)? == 0 {
            // Without a close_notify, an attacker may have cut off the stream.
            return Err("the connection was cut off".into());
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
            return Ok(());
        }
        let record = match traffic.encrypt_in_place(outgoing, start..start + len) {
            Err(InPlaceError::OutputPending) => {
                // A KeyUpdate must be sent first. Encrypting an empty slice returns it.
                let pending = traffic.encrypt(&[], spare)?;
                client.write_all(&spare[..pending])?;
                traffic.encrypt_in_place(outgoing, start..start + len)?
            }
            record => record?,
        };
        client.write_all(&outgoing[record])?;
    }
}
