//! Serves the files of a folder over TLS: GET and HEAD requests, one per connection.
//!
//! ```text
//! cargo run --example certificate -- /tmp/demo
//! cargo run --example server -- /tmp/demo/server.pem /tmp/demo/server.key .
//! ```
//!
//! The files are listed once at startup. Requests are limited in length and time, and the number of
//! connections served at the same time is fixed.

mod listen;
mod serve;

use std::error::Error;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use rustls::{ServerConfig, ServerConnection, Stream};
use serve::{Client, Files, Options, RequestHead, Response};

/// The plaintext of a full record.
const CHUNK_LEN: usize = 16 * 1024;

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let config = Arc::new(options.config()?);
    let files = options.files()?;
    options.serve(|| worker(&config, &files))
}

/// Returns a function that serves a client. All its clients share one buffer.
fn worker(
    config: &Arc<ServerConfig>,
    files: &Files,
) -> impl FnMut(Client) -> Result<(), Box<dyn Error>> {
    let mut buffer = [0; CHUNK_LEN];
    move |mut client| {
        let mut conn = ServerConnection::new(config.clone())?;
        let outcome = serve_one(&mut conn, files, &mut client, &mut buffer);
        client.close();
        outcome
    }
}

fn serve_one(
    conn: &mut ServerConnection,
    files: &Files,
    client: &mut Client,
    buffer: &mut [u8],
) -> Result<(), Box<dyn Error>> {
    while conn.is_handshaking() {
        conn.complete_io(client)?;
    }

    let mut tls = Stream::new(conn, client);
    let mut head = RequestHead::new();
    while !head.is_complete() {
        let len = tls.read(buffer).map_err(explain)?;
        if len == 0 {
            // A close_notify: the client sends nothing more.
            break;
        }
        head.receive(&buffer[..len]);
    }

    // A client that closes its side after the request still gets the response.
    if head.is_complete() {
        let mut response = Response::to(&mut head, files)?;
        loop {
            let len = response.fill(buffer)?;
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
    if head.is_complete() {
        Ok(())
    } else {
        Err("the client closed the connection without a request".into())
    }
}

/// Names the lack of a close_notify: an attacker may have cut off the client's data.
fn explain(error: io::Error) -> Box<dyn Error> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection was cut off".into(),
        _ => error.into(),
    }
}
