//! Serves the files of a folder over TLS, to GET and HEAD requests, one on each connection.
//!
//! ```text
//! cargo run --example server -- CERT_FILE KEY_FILE FOLDER [--address 127.0.0.1:4443]
//! ```
//!
//! Only what is in the folder when the server starts can be fetched, requests are limited in length
//! and time, and the number of connections that are served at once is fixed.

mod serve;

use std::error::Error;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use rustls::{ServerConfig, ServerConnection, Stream};
use serve::{Client, Files, Options, RequestHead, Response};

/// As much as one record carries.
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

/// What serves one client after the other, with a buffer for all of them.
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
            // a close_notify: nothing follows
            break;
        }
        head.receive(&buffer[..len]);
    }

    // a client that closes its side behind the request still gets the response
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

    // RFC 9846 §6.1: a close_notify comes before this side closes. It tells the client that the response is
    // complete, so a response that was cut short gets none.
    tls.conn.send_close_notify();
    tls.flush()?;
    if head.is_complete() {
        Ok(())
    } else {
        Err("the client closed the connection without a request".into())
    }
}

/// Without a close_notify, an attacker may have cut off what the client sent.
fn explain(error: io::Error) -> Box<dyn Error> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection was cut off".into(),
        _ => error.into(),
    }
}
