//! A TLS server whose private key is in a hardware module, or in SoftHSM2, a module in software.
//!
//! On Debian, as a user in the group `softhsm`, or with `SOFTHSM2_CONF` set to a file that names
//! another folder for tokens:
//!
//! ```text
//! apt install softhsm2
//! cargo run --example certificate -- /tmp/demo
//! softhsm2-util --init-token --free --label demo --so-pin 1234 --pin 1234
//! softhsm2-util --import /tmp/demo/server.key --token demo --label server --id 01 --pin 1234
//! rm /tmp/demo/server.key
//! PKCS11_PIN=1234 cargo run --manifest-path rustls/examples/pkcs11_key/Cargo.toml -- \
//!     /tmp/demo/server.pem /usr/lib/softhsm/libsofthsm2.so --token demo --label server
//! openssl s_client -quiet -connect localhost:8443 -CAfile /tmp/demo/ca.pem
//! ```
//!
//! A module is a C library whose calls wait for the hardware. [`Offload`] runs the calls on a few
//! threads, while the thread of a handshake serves other connections:
//!
//! ```text
//!   handshake ── sign_async ──► Offload ──► queue ──► thread ── C_Sign ──► module
//!       ▲                                               one session each
//!       └── signature
//! ```
//!
//! A handshake whose signature fails sends the alert internal_error. One that waits too long ends
//! with the time limit of `tokio_io`. The server continues: it opens new sessions after errors, and
//! logs in again if the token was away. It tries a wrong PIN only once, because tokens count wrong
//! PINs and lock themselves. For the same reason, a service manager should limit the restarts of
//! this program.
//!
//! A module that must be initialised again after a failure needs a restart of the server. Keys that
//! demand the PIN for each signature (`CKA_ALWAYS_AUTHENTICATE`) are not supported.

#[path = "../../exit/mod.rs"]
mod exit;
#[path = "../../greet/mod.rs"]
mod greet;
mod key;
#[path = "../../listen/mod.rs"]
mod listen;
#[cfg(test)]
mod tests;
mod token;
#[path = "../../tokio_io/mod.rs"]
mod tokio_io;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use clap::Parser;
use cryptoki::types::AuthPin;
use key::ModuleKey;
use listen::Listen;
use rustls::operation::{Job, Offload, Spawn};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use token::{Failure, Token};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The number of signatures that may be in progress or waiting for a thread. Further handshakes
/// fail, so that memory use stays bounded if the module hangs.
const QUEUE: usize = 1024;

/// The environment variable with the PIN.
const PIN_VARIABLE: &str = "PKCS11_PIN";

/// Greet clients over TLS, with a private key in a PKCS#11 module
///
/// The PIN of the token is in the environment variable PKCS11_PIN, or in a file. Command lines are
/// visible to other users.
#[derive(Parser)]
struct Options {
    #[command(flatten)]
    listen: Listen,

    /// The module, a shared library
    module: PathBuf,

    /// The label of the token
    #[arg(long)]
    token: String,

    /// The label of the private key, which is for ECDSA with P-256, or for RSA
    #[arg(long)]
    label: String,

    /// File with the PIN of the token, instead of PKCS11_PIN
    #[arg(long)]
    pin_file: Option<PathBuf>,

    /// The number of signatures that the module makes at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
}

fn main() {
    exit::on_error(run(&Options::parse()));
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let key = find_key(options).map_err(|error| -> Box<dyn Error> { error })?;
    let key = Arc::new(Offload::new(key, blocking_threads()));
    let config = options.listen.config(key, rustls::DEFAULT_VERSIONS)?;
    // Only calls to the module run on blocking threads.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(options.threads.into())
        .build()?;
    runtime.block_on(greet::greet_all(config, options.listen.bind()?))
}

/// Returns a function that runs signatures on the blocking threads of the runtime. If the queue is
/// full, it drops the job, which fails the handshake.
fn blocking_threads() -> impl Spawn + 'static {
    let permits = Arc::new(Semaphore::new(QUEUE));
    move |job: Job| {
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            spawn_blocking(move || {
                job();
                drop(permit);
            });
        }
    }
}

/// Finds the key and checks that it matches the certificate.
fn find_key(options: &Options) -> Result<ModuleKey, Failure> {
    let file = &options.listen.cert_file;
    let certificate = CertificateDer::from_pem_file(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let pin = pin(options.pin_file.as_deref())?;
    let token = Token::new(&options.module, options.token.clone(), pin)?;
    let key = ModuleKey::find(token, options.label.clone())?;
    key.check(&certificate)?;
    Ok(key)
}

/// Returns the PIN in `file`, or in the environment.
fn pin(file: Option<&Path>) -> Result<AuthPin, String> {
    let mut pin = match file {
        Some(file) => fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?,
        None => env::var(PIN_VARIABLE)
            .map_err(|_| format!("no PIN: set {PIN_VARIABLE}, or use --pin-file"))?,
    };
    while pin.ends_with(['\r', '\n']) {
        pin.pop();
    }
    Ok(pin.into())
}
