//! The messages between server and keeper. Requests and answers have the same form:
//!
//! ```text
//!   ┌────────┬────────┬────────┬ ─ ─ ─ ─
//!   │ length │   id   │  code  │ body
//!   └────────┴────────┴────────┴ ─ ─ ─ ─
//!    4 bytes  8 bytes  2 bytes
//! ```
//!
//! | message | code | body |
//! |---|---|---|
//! | request of a signature | the scheme | the message to sign |
//! | request of the description | 0 | |
//! | answer | 0 | the signature; the description of the key |
//! | failure | 1 | the reason |
//!
//! An answer has the id of its request. Answers come in any order.

use std::io::{self, ErrorKind};

use rustls::{SignatureAlgorithm, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub(crate) const DESCRIPTION: u16 = 0;
pub(crate) const SUCCESS: u16 = 0;
pub(crate) const FAILURE: u16 = 1;

/// Longer than any signature, public key or message of TLS 1.3.
const MAX_BODY: usize = 1 << 14;

/// A request or an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) code: u16,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let len = stream.read_u32().await? as usize;
        let body_len = len.checked_sub(10).filter(|len| *len <= MAX_BODY);
        let body_len = body_len.ok_or(ErrorKind::InvalidData)?;
        let (id, code) = (stream.read_u64().await?, stream.read_u16().await?);
        let mut body = vec![0; body_len];
        stream.read_exact(&mut body).await?;
        Ok(Self { id, code, body })
    }

    pub(crate) async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let len = 10 + self.body.len() as u32;
        let (id, code) = (self.id.to_be_bytes(), self.code.to_be_bytes());
        let bytes = [&len.to_be_bytes()[..], &id, &code, &self.body].concat();
        stream.write_all(&bytes).await
    }
}

/// The properties of a key that servers need.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Description {
    pub(crate) algorithm: SignatureAlgorithm,
    /// The preferred scheme first.
    pub(crate) schemes: Vec<SignatureScheme>,
    /// A SubjectPublicKeyInfo; empty if unknown.
    pub(crate) public_key: Vec<u8>,
}

impl Description {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.algorithm.into(), self.schemes.len() as u8];
        for scheme in &self.schemes {
            bytes.extend(u16::from(*scheme).to_be_bytes());
        }
        bytes.extend(&self.public_key);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[algorithm, count], rest) = bytes.split_first_chunk()?;
        let (schemes, public_key) = rest.split_at_checked(2 * usize::from(count))?;
        let schemes = schemes
            .chunks_exact(2)
            .map(|scheme| u16::from_be_bytes([scheme[0], scheme[1]]).into());
        Some(Self {
            algorithm: algorithm.into(),
            schemes: schemes.collect(),
            public_key: public_key.to_vec(),
        })
    }
}
