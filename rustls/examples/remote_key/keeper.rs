//! The process with the key.

use std::error::Error;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use rustls::SignatureScheme;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::wire::{DESCRIPTION, Description, FAILURE, Message, SUCCESS};

/// The servers that are connected at the same time. Others wait.
const SERVERS: usize = 64;

/// The signatures that are made for a server at the same time.
const AT_ONCE: usize = 64;

pub(crate) fn load(key_file: &Path) -> Result<Arc<dyn SigningKey>, Box<dyn Error>> {
    let key = PrivateKeyDer::from_pem_file(key_file)
        .map_err(|error| format!("cannot read a key from {}: {error}", key_file.display()))?;
    Ok(default_provider().key_provider.load_private_key(key)?)
}

/// Listens on the Unix socket `path`, and replaces an earlier one.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|old| old.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

/// Signs for all servers that connect.
pub(crate) async fn keep(key: Arc<dyn SigningKey>, listener: UnixListener) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(SERVERS));
    loop {
        let permit = permits.clone().acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, _)) => {
                let key = key.clone();
                tokio::spawn(async move {
                    match sign_for(key, stream).await {
                        // A server ends the connection when it likes.
                        Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
                            eprintln!("remote_key: {error}");
                        }
                        _ => {}
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                eprintln!("remote_key: cannot accept a connection: {error}");
                // Probably out of file descriptors: an immediate retry would fail too.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Answers the requests of one server until either direction of its connection ends.
async fn sign_for(key: Arc<dyn SigningKey>, stream: UnixStream) -> io::Result<()> {
    let (requests, answers) = stream.into_split();
    let (done, results) = mpsc::channel(AT_ONCE);
    tokio::select! {
        ended = sign_all(key, requests, done) => ended,
        ended = send(results, answers) => ended,
    }
}

/// Answers each request as soon as its signature is there.
async fn sign_all(
    key: Arc<dyn SigningKey>,
    mut requests: OwnedReadHalf,
    done: mpsc::Sender<Message>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let request = Message::read(&mut requests).await?;
        // A server that does not read its answers is not read from either.
        let permit = permits.clone().acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        let (key, done) = (key.clone(), done.clone());
        tokio::spawn(async move {
            // RSA takes a while.
            if let Ok(answer) = spawn_blocking(move || answer(&*key, &request)).await {
                // The server may be gone.
                let _ = done.send(answer).await;
            }
            drop(permit);
        });
    }
}

async fn send(mut results: mpsc::Receiver<Message>, mut answers: OwnedWriteHalf) -> io::Result<()> {
    while let Some(answer) = results.recv().await {
        answer.write(&mut answers).await?;
    }
    Ok(())
}

/// Returns the answer to a request.
pub(crate) fn answer(key: &dyn SigningKey, request: &Message) -> Message {
    let result = match request.code {
        DESCRIPTION => Ok(describe(key).encode()),
        scheme => sign(key, scheme.into(), &request.body),
    };
    let (code, body) = match result {
        Ok(body) => (SUCCESS, body),
        Err(error) => (FAILURE, error.into()),
    };
    let id = request.id;
    Message { id, code, body }
}

fn sign(key: &dyn SigningKey, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, String> {
    if !is_certificate_verify(message) {
        return Err("not the message of a server's CertificateVerify".into());
    }
    let signer = key.choose_scheme(&[scheme]);
    let signer = signer.ok_or_else(|| format!("the key does not sign with {scheme:?}"))?;
    signer.sign(message).map_err(|error| error.to_string())
}

/// RFC 9846 §4.5.2: 64 spaces, a text, a zero, and the hash of the transcript.
fn is_certificate_verify(message: &[u8]) -> bool {
    const TEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";
    let rest = message.strip_prefix(&[b' '; 64]);
    let hash = rest.and_then(|rest| rest.strip_prefix(TEXT));
    hash.is_some_and(|hash| [32, 48].contains(&hash.len()))
}

fn describe(key: &dyn SigningKey) -> Description {
    let mut others = default_provider()
        .signature_verification_algorithms
        .supported_schemes();
    let mut schemes = Vec::new();
    while let Some(signer) = key.choose_scheme(&others) {
        schemes.push(signer.scheme());
        others.retain(|other| *other != signer.scheme());
    }
    let public_key = key.public_key();
    Description {
        algorithm: key.algorithm(),
        schemes,
        public_key: public_key.map_or_else(Vec::new, |key| key.to_vec()),
    }
}
