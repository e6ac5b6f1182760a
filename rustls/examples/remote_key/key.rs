//! The key as the server sees it: a [`SigningKey`] whose signatures the keeper makes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::operation::BoxFuture;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

/// The longest time that a handshake waits for its signature.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The time between two attempts to connect. The keeper may be restarting.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum length of a response in bytes. No signature or public key is that long.
const MAX_ANSWER: u64 = 1 << 14;

/// A private key in another process.
#[derive(Clone, Debug)]
pub(crate) struct RemoteKey {
    keeper: Arc<Path>,
    patience: Duration,
    /// The preferred scheme first.
    schemes: Vec<SignatureScheme>,
    /// A SubjectPublicKeyInfo; empty if unknown.
    public_key: Vec<u8>,
}

impl RemoteKey {
    /// Gets the properties of the key from the keeper that listens on the Unix socket `path`. This
    /// call and each handshake wait at most `patience` for the keeper.
    ///
    /// Restart the server if the keeper gets another key: its signatures would not match the
    /// certificate.
    pub(crate) async fn connect(path: &Path, patience: Duration) -> Result<Self, Error> {
        let mut key = Self {
            keeper: path.into(),
            patience,
            schemes: Vec::new(),
            public_key: Vec::new(),
        };
        let description = key.call(&[0, 0]).await?;
        let mut rest = &description[..];
        while let Some((&number, after)) = rest.split_first_chunk() {
            rest = after;
            match u16::from_be_bytes(number) {
                0 => break,
                scheme => key.schemes.push(scheme.into()),
            }
        }
        key.public_key = rest.to_vec();
        match key.schemes.is_empty() {
            true => Err(failed("it does not describe its key")),
            false => Ok(key),
        }
    }

    /// Sends a request to the keeper, which may be restarting. Returns the body of the response.
    async fn call(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let answered = timeout(self.patience, async {
            loop {
                match exchange(&self.keeper, request).await {
                    Ok(answer) if !answer.is_empty() => return answer,
                    // Signing twice does no harm.
                    _ => sleep(PAUSE).await,
                }
            }
        });
        let answer = answered.await.map_err(|_| failed("no answer in time"))?;
        match answer.split_first() {
            Some((0, body)) => Ok(body.to_vec()),
            _ => Err(failed(&String::from_utf8_lossy(&answer[1..]))),
        }
    }
}

/// Returns the response of the keeper. It is empty if the keeper has ended.
async fn exchange(keeper: &Path, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(keeper).await?;
    stream.write_all(request).await?;
    stream.shutdown().await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn failed(reason: &str) -> Error {
    Error::General(format!("the keeper of the key: {reason}"))
}

impl SigningKey for RemoteKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let mut schemes = self.schemes.iter().copied();
        let scheme = schemes.find(|scheme| offered.contains(scheme))?;
        Some(Box::new(RemoteSigner(scheme, self.clone())))
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        let public_key = &self.public_key[..];
        (!public_key.is_empty()).then(|| public_key.into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.schemes[0].algorithm()
    }
}

/// A [`RemoteKey`] with the scheme of one handshake.
#[derive(Debug)]
struct RemoteSigner(SignatureScheme, RemoteKey);

impl Signer for RemoteSigner {
    fn sign_async(&self, message: &[u8]) -> Option<BoxFuture<Result<Vec<u8>, Error>>> {
        let request = [&u16::from(self.0).to_be_bytes(), message].concat();
        let key = self.1.clone();
        Some(Box::pin(async move { key.call(&request).await }))
    }

    /// Fails: a connection without `set_async` would block its thread until the keeper responds.
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Err(Error::General("this key needs `set_async`".into()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0
    }
}
