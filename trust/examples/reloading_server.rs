//! Greets clients over TLS and reloads changed files while it runs: its certificate and key, the
//! authorities of its clients, and their revocation lists.
//!
//! ```text
//! cargo run --manifest-path rustls/Cargo.toml --example certificate -- /tmp/demo
//! cargo run -p rustls-trust --example reloading_server -- \
//!     /tmp/demo/server.pem /tmp/demo/server.key --every 1
//! openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! Invalid files are reported once, and the previous ones stay in use.

#[path = "../../rustls/examples/exit/mod.rs"]
mod exit;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Parser;
use rustls::certificates::PeerIdentity;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ServerConfig, ServerConnection, Stream};
use rustls_trust::{
    CertifiedKeyFiles, CrlSource, Reload, ReloadError, ReloadStatus, ReloadingCertifiedKeys,
    ReloadingClientVerifier, RootSource,
};

/// The longest time to wait for a client in each read and write.
const PATIENCE: Duration = Duration::from_secs(10);

/// Greet clients over TLS, and reload certificates when their files change
#[derive(Parser)]
struct Options {
    /// PEM file with the server's certificate chain, the server's own certificate first
    cert_file: PathBuf,

    /// PEM file with the private key of the server's certificate
    key_file: PathBuf,

    /// Address and port to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8443")]
    address: SocketAddr,

    /// PEM file with the authorities of clients; requires a certificate from one of them
    #[arg(long, value_name = "CA_FILE")]
    clients: Option<PathBuf>,

    /// File with the revocation lists of these authorities
    #[arg(long, value_name = "CRL_FILE", requires = "clients")]
    revoked: Option<PathBuf>,

    /// Seconds between two checks of the files
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
}

fn main() {
    exit::on_error(run(&Options::parse()));
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let provider = Arc::new(default_provider());
    let files = CertifiedKeyFiles::new(&options.cert_file, &options.key_file);
    let keys = ReloadingCertifiedKeys::new(files, provider.clone())?;
    let verifier = match &options.clients {
        None => None,
        Some(authorities) => {
            let roots = RootSource::PemFile(authorities.clone());
            let mut builder = ReloadingClientVerifier::builder(roots, provider.clone());
            if let Some(revoked) = &options.revoked {
                builder = builder.with_crls(CrlSource::File(revoked.clone()));
            }
            Some(builder.build()?)
        }
    };

    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match &verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
        None => builder.with_no_client_auth(),
    };
    let config = Arc::new(builder.with_cert_resolver(keys.clone()));

    // Reading files can block, so a thread that serves no connection does it.
    let every = Duration::from_secs(options.every);
    thread::spawn(move || {
        print_flaws("certificate", &keys.status());
        loop {
            thread::sleep(every);
            report("certificate", keys.reload_if_changed(), &keys.status());
            if let Some(verifier) = &verifier {
                let outcome = verifier.reload_if_changed();
                report("client authorities", outcome, &verifier.status());
            }
        }
    });

    let listener = TcpListener::bind(options.address)
        .map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let config = config.clone();
        thread::spawn(move || {
            if let Err(error) = stream.map_err(Into::into).and_then(|it| greet(config, it)) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// Prints what a reload has changed, and the first of several failures: the next one comes soon.
fn report(what: &str, outcome: Result<Reload, Arc<ReloadError>>, status: &ReloadStatus) {
    match outcome {
        Ok(Reload::Replaced) => {
            println!("{what}: reloaded");
            print_flaws(what, status);
        }
        Err(error) if status.failing.as_ref().is_none_or(|it| it.attempts == 1) => {
            eprintln!("{what}: the old content stays in use: {error}");
        }
        _ => {}
    }
}

fn print_flaws(what: &str, status: &ReloadStatus) {
    for flaw in &status.flaws {
        eprintln!("{what}: in use, but {flaw}");
    }
}

fn greet(config: Arc<ServerConfig>, mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut connection = ServerConnection::new(config)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    let mut tls = Stream::new(&mut connection, &mut stream);
    let client = tls.conn.peer_identity().and_then(PeerIdentity::certificate);
    let greeting = match client {
        Some(client) => format!("Hello {}\n", client.subject()?),
        None => "Hello\n".into(),
    };
    tls.write_all(greeting.as_bytes())?;
    tls.conn.send_close_notify();
    tls.flush()?;

    // Wait for the client to close its side: closing with unread input would reset the connection.
    stream.shutdown(Shutdown::Write)?;
    let _ = stream.read(&mut [0; 64]);
    Ok(())
}
