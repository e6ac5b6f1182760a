//! The process with the key.
//!
//! For each request, a server opens a connection, sends the request, shuts down its sending side
//! and reads the whole response:
//!
//! ```text
//!   request:  scheme (2 bytes) ‖ message     answer:  0 ‖ signature
//!             0 (2 bytes)                             0 ‖ schemes, 0 (2 bytes each) ‖ public key
//!                                                     1 ‖ reason of a failure
//! ```

use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::sign::SigningKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::tokio_io::accept_all;

/// The maximum length of a request in bytes. No signed message of a CertificateVerify is that long.
const MAX_REQUEST: u64 = 1024;

/// Listens on the Unix socket `path`, and replaces an earlier one.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|old| old.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// Signs for all servers that connect.
pub(crate) async fn keep(key: Arc<dyn SigningKey>, listener: UnixListener) -> ! {
    let serve = |stream| {
        let signed = timeout(Duration::from_secs(10), sign_for(key.clone(), stream));
        async { signed.await? }
    };
    accept_all(|task| listener.poll_accept(task), serve).await
}

async fn sign_for(key: Arc<dyn SigningKey>, mut stream: UnixStream) -> io::Result<()> {
    let mut request = Vec::new();
    let mut limited = (&mut stream).take(MAX_REQUEST);
    limited.read_to_end(&mut request).await?;
    // RSA signatures take some time.
    let answer = spawn_blocking(move || answer(&*key, &request)).await?;
    stream.write_all(&answer).await
}

/// Returns the response to a request.
pub(crate) fn answer(key: &dyn SigningKey, request: &[u8]) -> Vec<u8> {
    let result = match request {
        [0, 0] => Ok(describe(key)),
        [a, b, message @ ..] if is_certificate_verify(message) => {
            sign(key, u16::from_be_bytes([*a, *b]).into(), message)
        }
        _ => Err("not the message of a server's CertificateVerify".into()),
    };
    match result {
        Ok(body) => [&[0], &body[..]].concat(),
        Err(reason) => [&[1], reason.as_bytes()].concat(),
    }
}

fn sign(key: &dyn SigningKey, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, String> {
    let signer = key.choose_scheme(&[scheme]);
    let signer = signer.ok_or_else(|| format!("the key does not sign with {scheme:?}"))?;
    signer.sign(message).map_err(|error| error.to_string())
}

/// True for a message that a TLS 1.3 server signs (RFC 9846 §4.5.2): 64 spaces, a text, a zero, and
/// the hash of the transcript.
fn is_certificate_verify(message: &[u8]) -> bool {
    const TEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";
    let rest = message.strip_prefix(&[b' '; 64]);
    let hash = rest.and_then(|rest| rest.strip_prefix(TEXT));
    hash.is_some_and(|hash| [32, 48].contains(&hash.len()))
}

/// Returns the schemes of the key, the preferred one first, a zero, and its public key.
fn describe(key: &dyn SigningKey) -> Vec<u8> {
    let algorithms = default_provider().signature_verification_algorithms;
    let mut offered = algorithms.supported_schemes();
    let mut description = Vec::new();
    while let Some(signer) = key.choose_scheme(&offered) {
        description.extend(u16::from(signer.scheme()).to_be_bytes());
        offered.retain(|scheme| *scheme != signer.scheme());
    }
    description.extend([0, 0]);
    description.extend(key.public_key().iter().flat_map(|key| key.iter()));
    description
}
