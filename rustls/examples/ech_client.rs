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

mod exit;
mod fetch;
mod http;

use std::error::Error;
use std::io::{self, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use clap::Parser;
use fetch::Options;
use rustls::client::{EchConfig, EchConfigPayload, EchGreaseConfig, EchMode};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::aws_lc_rs::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
use rustls::crypto::hpke::Hpke;
use rustls::{ClientConfig, ClientConnection, PeerIncompatible, StreamOwned};

/// Fetch a page over TLS with an encrypted ClientHello and print it
#[derive(Parser)]
struct EchOptions {
    /// File with the server's ECHConfigList
    #[arg(long, value_name = "FILE")]
    ech: Option<PathBuf>,

    #[command(flatten)]
    fetch: Options,
}

fn main() {
    exit::on_error(run(&EchOptions::parse()).map_err(fetch::explain));
}

fn run(options: &EchOptions) -> Result<(), Box<dyn Error>> {
    let mode = match &options.ech {
        Some(file) => {
            let list = std::fs::read(file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            EchMode::Enable(EchConfig::new(list.into(), ALL_SUPPORTED_SUITES)?)
        }
        None => {
            let suite = DH_KEM_X25519_HKDF_SHA256_AES_128;
            let (placeholder_key, _) = suite.generate_key_pair()?;
            EchMode::Grease(EchGreaseConfig::new(suite, placeholder_key))
        }
    };
    let options = &options.fetch;
    let mut tls = match handshake(options, mode) {
        Err(error) => match rejection(&*error) {
            Some(Some(retry_configs)) => {
                eprintln!("ech_client: retrying with the configurations that the server sent");
                let config = EchConfig::for_retry(retry_configs, ALL_SUPPORTED_SUITES)?;
                // RFC 9849 §6.1.6: after a second rejection, do not try again
                handshake(options, EchMode::Enable(config))?
            }
            Some(None) => {
                return Err("the server does not support ECH; connect without --ech".into());
            }
            None => return Err(error),
        },
        Ok(tls) => tls,
    };
    tls.write_all(&options.request())?;
    tls.flush()?;
    let received = options.receive(&mut tls);
    tls.conn.send_close_notify();
    let _ = tls.flush();
    received
}

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn handshake(options: &Options, mode: EchMode) -> Result<Tls, Box<dyn Error>> {
    let config = ClientConfig::builder_with_provider(default_provider().into())
        .with_ech(mode)?
        .with_root_certificates(options.roots()?)
        .with_no_client_auth();
    let conn = ClientConnection::new(config.into(), options.name()?)?;
    let mut tls = StreamOwned::new(conn, options.connect()?);
    while tls.conn.is_handshaking() {
        tls.conn.complete_io(&mut tls.sock)?;
    }
    eprintln!("ech_client: ECH {:?}", tls.conn.ech_status());
    Ok(tls)
}

/// Returns `Some` if `error` means that the server rejected ECH, with the configurations that it
/// sent, if any.
fn rejection<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Option<Vec<EchConfigPayload>>> {
    use PeerIncompatible::ServerRejectedEncryptedClientHello as Rejected;

    let error = error.downcast_ref::<io::Error>()?.get_ref()?;
    match error.downcast_ref()? {
        rustls::Error::PeerIncompatible(Rejected(configs)) => Some(configs),
        _ => None,
    }
}
