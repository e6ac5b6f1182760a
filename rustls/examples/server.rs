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
use std::io::{Read, Write};
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
    options.serve(|| {
        let mut buffer = [0; CHUNK_LEN];
        let (config, files) = (&config, &files);
        move |client| serve_one(config, files, client, &mut buffer)
    })
}

fn serve_one(
    config: &Arc<ServerConfig>,
    files: &Files,
    mut client: Client,
    buffer: &mut [u8],
) -> Result<(), Box<dyn Error>> {
    let mut conn = ServerConnection::new(config.clone())?;
    while conn.is_handshaking() {
        conn.complete_io(&mut client)?;
    }

    let mut tls = Stream::new(&mut conn, &mut client);
    let mut head = RequestHead::new();
    while !head.is_complete() {
        let len = tls.read(buffer)?;
        if len == 0 {
            return Err("the client closed the connection without a request".into());
        }
        head.receive(&buffer[..len]);
    }

    let mut response = Response::to(&mut head, files)?;
    loop {
        let len = response.fill(buffer)?;
        if len == 0 {
            break;
        }
        tls.write_all(&buffer[..len])?;
    }
    tls.flush()?;

    // without it the client could not tell the end from a cut-off
    conn.send_close_notify();
    while conn.wants_write() {
        conn.write_tls(&mut client)?;
    }
    client.close();
    Ok(())
}
