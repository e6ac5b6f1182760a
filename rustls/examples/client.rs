//! Fetches a page over TLS.
//!
//! With the example `server` running:
//!
//! ```text
//! cargo run --example client -- localhost /tmp/demo/ca.pem
//! ```
//!
//! The page goes to standard output, notes about the connection to standard error. The exit status
//! is 0 only if the server is authentic and the page is complete.

mod exit;
mod fetch;
mod http;

use std::error::Error;
use std::io::Write;

use clap::Parser;
use fetch::Options;
use rustls::{ClientConnection, Stream};

fn main() {
    exit::on_error(run(&Options::parse()).map_err(fetch::explain));
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut conn = ClientConnection::new(options.config()?.into(), options.name()?)?;
    let mut sock = options.connect()?;
    while conn.is_handshaking() {
        conn.complete_io(&mut sock)?;
    }
    let (version, suite) = (conn.protocol_version(), conn.negotiated_cipher_suite());
    eprintln!("client: {version:?}, {suite:?}");

    let mut tls = Stream::new(&mut conn, &mut sock);
    tls.write_all(&options.request())?;
    tls.flush()?;
    let received = options.receive(&mut tls);
    // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the server may
    // have closed already, and the page is complete.
    tls.conn.send_close_notify();
    let _ = tls.flush();
    received
}
