//! Fetches a page over TLS with the unbuffered API.
//!
//! With the example `server` or `unbuffered_server` running:
//!
//! ```text
//! cargo run --example unbuffered_client -- localhost /tmp/demo/ca.pem
//! ```
//!
//! The connection has no buffers and does no I/O. Its state tells the program what to do next, and
//! the program owns one receive buffer and one send buffer. Only storing a ticket allocates after
//! the handshake.
//!
//! ```text
//!   socket ──► incoming ──► process_tls_records ──┬─► BlockedHandshake   receive more
//!                                                 ├─► EncodeTlsData      into outgoing
//!                                                 ├─► TransmitTlsData    outgoing ──► socket
//!                                                 ├─► WriteTraffic       request ──► outgoing
//!                                                 └─► ReadTraffic        the page, in incoming
//! ```

mod exit;
mod fetch;
mod heap;
mod http;
mod unbuffered;

use std::error::Error;
use std::io::Write;

use clap::Parser;
use fetch::{Options, Response};
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use unbuffered::{Incoming, Outgoing};

/// The initial length of the send buffer, enough for the usual flights of a client's handshake.
const OUTGOING_LEN: usize = 4 * 1024;

fn main() {
    exit::on_error(run(&Options::parse()).map_err(fetch::explain));
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut conn = UnbufferedClientConnection::new(options.config()?.into(), options.name()?)?;
    let mut sock = options.connect()?;
    let mut response = Response::new();
    let request = options.request();
    let mut incoming = Incoming::new();
    let mut outgoing = Outgoing::new(OUTGOING_LEN);
    // the count at the end of the handshake, which is set when the request is sent
    let mut allocations = None;
    let mut closed = false;
    loop {
        let UnbufferedStatus { discard, state } = conn.process_tls_records(incoming.unprocessed());
        let mut receive = false;
        match outgoing.handle(state, &mut sock)? {
            None => {}
            Some(ConnectionState::ReadTraffic(mut traffic)) => {
                if let Some(record) = traffic.next_record() {
                    response.receive(record?.payload)?;
                }
            }
            Some(ConnectionState::WriteTraffic(mut traffic)) if closed => {
                // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the
                // server may have closed already, and the page is complete.
                let len = traffic.queue_close_notify_to_vec(&mut outgoing.bytes, 0)?;
                let _ = sock.write_all(&outgoing.bytes[..len]);
                break;
            }
            Some(ConnectionState::WriteTraffic(mut traffic)) if allocations.is_none() => {
                allocations = Some(heap::allocations());
                let len = traffic.encrypt_to_vec(&request, &mut outgoing.bytes, 0)?;
                sock.write_all(&outgoing.bytes[..len])?;
            }
            Some(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => {
                receive = true;
            }
            Some(ConnectionState::PeerClosed) => closed = true,
            Some(state) => return Err(format!("unexpected state {state:?}").into()),
        }
        incoming.discard(discard);
        if receive && incoming.receive(&mut sock)? == 0 {
            break;
        }
    }
    let allocations = heap::allocations() - allocations.unwrap_or_else(heap::allocations);
    eprintln!("unbuffered_client: {allocations} allocations after the handshake");
    response.finish(closed)
}
