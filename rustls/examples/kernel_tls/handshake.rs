//! A client's handshake, after which no received bytes are left in the program.

use std::error::Error;
use std::io::{self, Read, Write};

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

/// Completes the handshake. Appends data that the server sent with it to `early`.
///
/// It reads record by record. Otherwise the connection could hold the first part of a record, and
/// the kernel would get only the rest.
pub(crate) fn handshake(
    conn: &mut UnbufferedClientConnection,
    socket: &mut (impl Read + Write),
    early: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let mut incoming = Vec::new();
    let mut outgoing = Vec::new();
    let mut failure: Option<rustls::Error> = None;
    loop {
        let received = incoming.len();
        let UnbufferedStatus { discard, state } = conn.process_tls_records(&mut incoming);
        let mut receive = false;
        match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                if let Some(record) = traffic.next_record() {
                    early.extend_from_slice(record?.payload);
                }
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => {
                let len = outgoing.len();
                outgoing.resize(len + 16 * 1024, 0);
                let encoded = data.encode(&mut outgoing[len..])?;
                outgoing.truncate(len + encoded);
            }
            Ok(ConnectionState::TransmitTlsData(data)) => {
                socket.write_all(&outgoing)?;
                outgoing.clear();
                data.done();
            }
            // What is left is the beginning of a message in several records.
            Ok(ConnectionState::WriteTraffic(_)) if discard == received => return Ok(()),
            Ok(ConnectionState::WriteTraffic(_) | ConnectionState::BlockedHandshake) => {
                receive = true;
            }
            Ok(state) => return Err(format!("unexpected state {state:?}").into()),
            // Continue once: the next state returns the alert for the server.
            Err(error) if failure.is_none() => failure = Some(error),
            Err(error) => return Err(failure.unwrap_or(error).into()),
        }
        incoming.drain(..discard);
        if receive {
            receive_record(socket, &mut incoming)?;
        }
    }
}

/// Appends the next record.
fn receive_record(socket: &mut impl Read, incoming: &mut Vec<u8>) -> io::Result<()> {
    let mut header = [0; 5];
    socket.read_exact(&mut header)?;
    incoming.extend_from_slice(&header);
    let start = incoming.len();
    let len = u16::from_be_bytes([header[3], header[4]]);
    incoming.resize(start + usize::from(len), 0);
    socket.read_exact(&mut incoming[start..])
}
