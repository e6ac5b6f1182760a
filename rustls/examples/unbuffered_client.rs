//! Fetches a page over TLS with the unbuffered API.
//!
//! With the example `server` or `unbuffered_server` running:
//!
//! ```text
//! cargo run --example unbuffered_client -- localhost /tmp/demo/ca.pem /README.md
//! ```
//!
//! The connection has no buffers and does no I/O. Its state says what it needs, and this program
//! owns one receive buffer and one send buffer. Only storing a ticket allocates after the
//! handshake.
//!
//! ```text
//!   socket ──► incoming ──► process_tls_records ──┬─► BlockedHandshake   receive more
//!                                                 ├─► EncodeTlsData      into outgoing
//!                                                 ├─► TransmitTlsData    outgoing ──► socket
//!                                                 ├─► WriteTraffic       request ──► outgoing
//!                                                 └─► ReadTraffic        the page, in incoming
//! ```

mod fetch;
mod unbuffered;

use std::error::Error;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Parser;
use fetch::{Options, Response};
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use unbuffered::{Incoming, Next, heap};

/// Room for a client's longest output, which is a flight of the handshake.
const OUTGOING_LEN: usize = 4 * 1024;

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("unbuffered_client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut conn = UnbufferedClientConnection::new(options.config()?, options.server_name()?)?;
    let mut sock = options.connect()?;
    let mut response = Response::new(io::stdout().lock());
    let request = options.request();
    let mut before = 0;
    let closed = exchange(&mut conn, &mut sock, &request, &mut response, &mut before)
        .map_err(|error| options.explain(error.as_ref()))?;
    let allocations = heap::allocations() - before;
    eprintln!("unbuffered_client: {allocations} allocations after the handshake");
    response.finish(closed)?;
    Ok(())
}

/// Sends the request and receives the response.
///
/// Returns false if the server ended the connection without a close_notify. Sets `allocations` to
/// the count at the end of the handshake.
fn exchange(
    conn: &mut UnbufferedClientConnection,
    sock: &mut (impl Read + Write),
    request: &[u8],
    response: &mut Response<impl Write>,
    allocations: &mut usize,
) -> Result<bool, Box<dyn Error>> {
    let mut incoming = Incoming::new();
    let mut outgoing = vec![0; OUTGOING_LEN];
    let mut encoded = 0;
    let mut request_sent = false;
    let mut closed = false;
    let mut failure: Option<rustls::Error> = None;

    loop {
        let UnbufferedStatus { discard, state } = conn.process_tls_records(incoming.unprocessed());
        let next = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                if let Some(record) = traffic.next_record() {
                    let record = record?;
                    response.receive(record.payload)?;
                }
                Next::Process
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                encoded += data.encode_to_vec(&mut outgoing, encoded)?;
                Next::Process
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                sock.write_all(&outgoing[..encoded])?;
                encoded = 0;
                data.done();
                Next::Process
            }
            Ok(ConnectionState::WriteTraffic(mut traffic)) if closed || response.is_complete() => {
                // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the
                // server may have closed already, and the page is complete.
                let len = traffic.queue_close_notify_to_vec(&mut outgoing, 0)?;
                let _ = sock.write_all(&outgoing[..len]);
                return Ok(true);
            }
            Ok(ConnectionState::WriteTraffic(mut traffic)) if !request_sent => {
                *allocations = heap::allocations();
                let len = traffic.encrypt_to_vec(request, &mut outgoing, 0)?;
                sock.write_all(&outgoing[..len])?;
                request_sent = true;
                Next::Process
            }
            Ok(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => {
                Next::Receive
            }
            Ok(ConnectionState::PeerClosed) => {
                closed = true;
                Next::Process
            }
            Ok(state) => return Err(format!("unexpected state {state:?}").into()),
            // Continue once: the next state returns the alert for the server.
            Err(error) if failure.is_none() => {
                failure = Some(error);
                Next::Process
            }
            Err(error) => return Err(failure.unwrap_or(error).into()),
        };
        incoming.discard(discard);

        match next {
            Next::Process => {}
            Next::Receive if incoming.receive(sock)? != 0 => {}
            Next::Receive if request_sent => return Ok(false),
            Next::Receive => {
                return Err("the server closed the connection during the handshake".into());
            }
        }
    }
}
