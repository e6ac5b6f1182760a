//! A client's handshake, after which no received bytes are left in the program.

use std::io::{Cursor, Read, Write};

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::ConnectionState as State;

use crate::unbuffered::Outgoing;

/// Completes the handshake. Returns data that the server sent with it.
///
/// Reads record by record. Otherwise the connection could hold the first part of a record, and the
/// kernel would get only the rest.
pub(crate) fn handshake(
    conn: &mut UnbufferedClientConnection,
    socket: &mut (impl Read + Write),
) -> Result<Cursor<Vec<u8>>, Box<dyn std::error::Error>> {
    let (mut early, mut incoming, mut discard) = (Vec::new(), Vec::new(), 0);
    let mut outgoing = Outgoing::new(16 * 1024);
    loop {
        incoming.drain(..discard);
        let received = incoming.len();
        let status = conn.process_tls_records(&mut incoming);
        discard = status.discard;
        match outgoing.handle(status.state, socket)? {
            None => {}
            Some(State::ReadTraffic(mut traffic)) => {
                if let Some(record) = traffic.next_record() {
                    early.extend_from_slice(record?.payload);
                }
            }
            // Otherwise part of a record is left, because the stream has ended within it.
            Some(State::WriteTraffic(_)) if discard == received => return Ok(Cursor::new(early)),
            Some(State::WriteTraffic(_) | State::BlockedHandshake) => {
                let mut header = [0; 5];
                socket.read_exact(&mut header)?;
                incoming.extend_from_slice(&header);
                let len = u16::from_be_bytes([header[3], header[4]]);
                // if the stream ends in the record, reading the next header fails
                let mut rest = Read::by_ref(socket).take(len.into());
                rest.read_to_end(&mut incoming)?;
            }
            Some(state) => return Err(format!("unexpected state {state:?}").into()),
        }
    }
}
