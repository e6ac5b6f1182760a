//! Fetches a page over TLS with an encrypted ClientHello (RFC 9849).
//!
//! ```text
//! cargo run --example ech_client -- HOST CA_FILE --port 443 --ech FILE
//! ```
//!
//! FILE holds the server's ECHConfigList. The application has to get it, usually from the HTTPS
//! record of the server's name in DNS:
//!
//! ```text
//! dig +short -t HTTPS HOST | sed -n 's/.*ech=\([^ ]*\).*/\1/p' | base64 -d > FILE
//! ```
//!
//! Without `--ech` the ClientHello is sent in the clear, with an extension that looks like ECH
//! (GREASE). With the example `server` running:
//!
//! ```text
//! cargo run --example ech_client -- localhost /tmp/demo/ca.pem
//! ```
//!
//! A server that rejects the configuration can send others. The client then retries once with
//! these.

mod fetch;

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use fetch::{Options, Response};
use rustls::client::{EchConfig, EchConfigPayload, EchGreaseConfig, EchMode};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::aws_lc_rs::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
use rustls::crypto::hpke::Hpke;
use rustls::pki_types::EchConfigListBytes;
use rustls::{ClientConfig, ClientConnection, PeerIncompatible, Stream};

/// Fetch a page over TLS with an encrypted ClientHello and print it
#[derive(Parser)]
struct EchOptions {
    /// File with the server's ECHConfigList
    #[arg(long, value_name = "FILE")]
    ech: Option<PathBuf>,

    #[command(flatten)]
    fetch: Options,
}

fn main() -> ExitCode {
    match run(&EchOptions::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ech_client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &EchOptions) -> Result<(), Box<dyn Error>> {
    let mode = match &options.ech {
        Some(file) => EchMode::Enable(read_config(file)?),
        None => {
            let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
            let (placeholder_key, _) = suite.generate_key_pair()?;
            EchMode::Grease(EchGreaseConfig::new(suite, placeholder_key))
        }
    };
    let options = &options.fetch;
    let (conn, sock) = match handshake(options, mode)? {
        Attempt::Connected(conn, sock) => (conn, sock),
        Attempt::Rejected(None) => {
            return Err("the server does not support ECH; connect without --ech".into());
        }
        Attempt::Rejected(Some(retry_configs)) => {
            eprintln!("ech_client: retrying with the configurations that the server sent");
            let config = EchConfig::for_retry(&retry_configs, ALL_SUPPORTED_SUITES)?;
            match handshake(options, EchMode::Enable(config))? {
                Attempt::Connected(conn, sock) => (conn, sock),
                // RFC 9849 §6.1.6: a second rejection ends the attempts
                Attempt::Rejected(_) => {
                    return Err("the server rejects the configurations that it sent".into());
                }
            }
        }
    };
    fetch_page(options, *conn, sock)
}

fn read_config(file: &Path) -> Result<EchConfig, Box<dyn Error>> {
    let list =
        std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(EchConfig::new(
        EchConfigListBytes::from(list),
        ALL_SUPPORTED_SUITES,
    )?)
}

enum Attempt {
    /// The handshake is complete.
    Connected(Box<ClientConnection>, TcpStream),
    /// The server rejected ECH, and sent its own configurations if it has any.
    Rejected(Option<Vec<EchConfigPayload>>),
}

fn handshake(options: &Options, mode: EchMode) -> Result<Attempt, Box<dyn Error>> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_ech(mode)?
        .with_root_certificates(options.roots()?)
        .with_no_client_auth();
    let mut conn = ClientConnection::new(Arc::new(config), options.server_name()?)?;
    let mut sock = options.connect()?;

    while conn.is_handshaking() {
        if let Err(error) = conn.complete_io(&mut sock) {
            return match rejection(&error) {
                Some(configs) => Ok(Attempt::Rejected(configs)),
                None => Err(format!("no TLS connection: {}", options.explain(&error)).into()),
            };
        }
    }
    eprintln!("ech_client: ECH {:?}", conn.ech_status());
    Ok(Attempt::Connected(Box::new(conn), sock))
}

/// Returns the configurations that the server sent if `error` means that it rejected ECH.
fn rejection(error: &io::Error) -> Option<Option<Vec<EchConfigPayload>>> {
    match error.get_ref()?.downcast_ref()? {
        rustls::Error::PeerIncompatible(PeerIncompatible::ServerRejectedEncryptedClientHello(
            configs,
        )) => Some(configs.clone()),
        _ => None,
    }
}

fn fetch_page(
    options: &Options,
    mut conn: ClientConnection,
    mut sock: TcpStream,
) -> Result<(), Box<dyn Error>> {
    let mut tls = Stream::new(&mut conn, &mut sock);
    tls.write_all(&options.request())?;
    tls.flush()?;

    let mut response = Response::new(io::stdout().lock());
    let mut closed = true;
    while !response.is_complete() {
        let len = match tls.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => {
                response.receive(chunk)?;
                chunk.len()
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                closed = false;
                break;
            }
            Err(error) => return Err(options.explain(&error).into()),
        };
        tls.consume(len);
    }
    tls.conn.send_close_notify();
    let _ = tls.flush();
    response.finish(closed)?;
    Ok(())
}
