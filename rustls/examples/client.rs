//! Fetches a page over TLS.
//!
//! With the example `server` running:
//!
//! ```text
//! cargo run --example client -- localhost /tmp/demo/ca.pem /README.md
//! ```
//!
//! The page goes to standard output, notes about the connection to standard error. The exit status
//! is 0 only if the server is authentic and the page is complete.

mod fetch;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use clap::Parser;
use fetch::{Options, Response};
use rustls::{ClientConnection, Stream};

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let mut conn = ClientConnection::new(options.config()?, options.server_name()?)?;
    let mut sock = options.connect()?;

    while conn.is_handshaking() {
        conn.complete_io(&mut sock)
            .map_err(|error| format!("no TLS connection: {}", options.explain(&error)))?;
    }
    eprintln!(
        "client: {:?}, {:?}",
        conn.protocol_version().ok_or("no version was negotiated")?,
        conn.negotiated_cipher_suite()
            .ok_or("no cipher suite was negotiated")?
            .suite(),
    );

    let mut tls = Stream::new(&mut conn, &mut sock);
    tls.write_all(&options.request())?;
    tls.flush()?;

    let mut response = Response::new(io::stdout().lock());
    let closed = loop {
        if response.is_complete() {
            break true;
        }
        // The chunk is the plaintext of a record in the receive buffer: it is not copied.
        let chunk = match tls.fill_buf() {
            Ok([]) => break true,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break false,
            Err(error) => return Err(options.explain(&error).into()),
        };
        response.receive(chunk)?;
        let len = chunk.len();
        tls.consume(len);
    };
    // RFC 9846 §6.1: send a close_notify before closing. An error does not matter: the server may
    // have closed already, and the page is complete.
    tls.conn.send_close_notify();
    let _ = tls.flush();
    response.finish(closed)?;
    Ok(())
}
