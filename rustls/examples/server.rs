//! Serves a file over TLS: GET and HEAD requests for `/`, one per connection.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example server -- /tmp/demo/server.pem /tmp/demo/server.key README.md
//! ```
//!
//! Requests are limited in length and time, and the number of connections served at the same time
//! is fixed.

mod exit;
mod http;
mod listen;
mod serve;

use std::error::Error;
use std::io::{self, Read, Write};

use clap::Parser;
use http::Head;
use rustls::{ServerConnection, Stream};
use serve::{Client, Options, Response, Site};

fn main() {
    exit::on_error(Options::parse().run(2, serve));
}

fn serve(site: &Site, client: &mut Client) -> Result<(), Box<dyn Error>> {
    let mut conn = ServerConnection::new(site.config.clone())?;
    while conn.is_handshaking() {
        conn.complete_io(client)?;
    }

    let mut tls = Stream::new(&mut conn, client);
    // the plaintext of a full record
    let mut buffer = [0; 16 * 1024];
    let mut head = Head::new();
    while !head.is_over() {
        match tls.read(&mut buffer) {
            // A close_notify: the client sends nothing more.
            Ok(0) => break,
            Ok(len) => _ = head.receive(&buffer[..len]),
            // Without a close_notify, an attacker may have cut off the client's data.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err("the connection was cut off".into());
            }
            Err(error) => return Err(error.into()),
        }
    }

    // A client that closes its side after the request still gets the response.
    if head.is_over() {
        let mut response = Response::to(&head, &site.file)?;
        loop {
            let len = response.fill(&mut buffer)?;
            if len == 0 {
                break;
            }
            tls.write_all(&buffer[..len])?;
        }
    }

    // RFC 9846 §6.1: send a close_notify before closing. It confirms that the response is complete,
    // so it must not follow a partial response.
    tls.conn.send_close_notify();
    tls.flush()?;
    if !head.is_over() {
        return Err("the client closed the connection without a request".into());
    }
    Ok(())
}
