//! Greets clients over TLS, and follows its files while it runs: its certificate, the authorities of its clients, and
//! who of these was revoked.
//!
//! ```text
//! cargo run --features x509 --example reloading_server -- CERT_FILE KEY_FILE \
//!     [--clients CA_FILE [--revoked CRL_FILE]] [--address 127.0.0.1:4443] [--every 10]
//! ```
//!
//! Files that are no good change nothing but what is printed.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::Parser;
use rustls::certificates::{
    CertifiedKeyFiles, CrlSource, PeerIdentity, Reload, ReloadError, ReloadingCertifiedKeys,
    ReloadingClientVerifier, RootSource,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ServerConfig, ServerConnection, Stream};

/// How long a client may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// Greets clients over TLS, and follows its files while it runs
#[derive(Parser)]
struct Options {
    /// A file of PEM certificates: the server's, and behind it those that lead to its authority
    cert_file: PathBuf,

    /// A file with the PEM private key of the server's certificate
    key_file: PathBuf,

    /// A file of PEM certificates of authorities: clients need a certificate of one of them
    #[arg(long)]
    clients: Option<PathBuf>,

    /// A file of their revocation lists
    #[arg(long, requires = "clients")]
    revoked: Option<PathBuf>,

    /// Where to wait for connections; port 0 chooses a free one
    #[arg(long, default_value = "127.0.0.1:4443")]
    address: SocketAddr,

    /// How often to look at the files, in seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reloading_server: {error}");
            ExitCode::FAILURE
        }
    }
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

    // files may be slow, so this is done where nobody waits for it
    let every = Duration::from_secs(options.every);
    thread::spawn(move || {
        loop {
            thread::sleep(every);
            report("the certificate", keys.reload_if_changed());
            if let Some(verifier) = &verifier {
                report("whom to trust", verifier.reload_if_changed());
            }
        }
    });

    let listener = TcpListener::bind(options.address)?;
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

fn report(what: &str, outcome: Result<Reload, Arc<ReloadError>>) {
    match outcome {
        Ok(Reload::Replaced) => println!("{what}: replaced"),
        Ok(_) => {}
        Err(error) => eprintln!("{what}: {error}"),
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

    // until the client closes its side, too
    stream.shutdown(Shutdown::Write)?;
    match stream.read(&mut [0; 64]) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error.into()),
        _ => Ok(()),
    }
}
