//! The certificate types of a connection: X.509 or raw public keys (RFC 7250). A configuration of
//! the crate has one type for each side. So a client has only one, and a server with several
//! chooses its configuration once it has read the ClientHello.

use rustls::server::ClientHello;

use crate::failure::Failure;
use crate::options::Options;

/// A certificate type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateType {
    X509,
    RawPublicKey,
}

impl CertificateType {
    /// The type with this code point; `None` if it is another one.
    pub(crate) fn named(code_point: u8) -> Option<Self> {
        match code_point {
            0 => Some(Self::X509),
            2 => Some(Self::RawPublicKey),
            _ => None,
        }
    }

    pub(crate) fn is_raw(self) -> bool {
        self == Self::RawPublicKey
    }
}

/// The certificate type of each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) ours: CertificateType,
    pub(crate) peers: CertificateType,
}

impl Types {
    /// # Errors
    ///
    /// Fails if the client must offer more than one type.
    pub(crate) fn of_client(options: &Options) -> Result<Self, Failure> {
        let ours = match options.available_client_types.as_slice() {
            [] => available(options),
            types => types.into(),
        };
        match (ours.as_slice(), options.accepted_peer_types.as_slice()) {
            (&[ours], []) => Ok(Self {
                ours,
                peers: CertificateType::X509,
            }),
            (&[ours], &[peers]) => Ok(Self { ours, peers }),
            _ => Err(Failure::Unsupported(
                "a client offers one type of certificates".into(),
            )),
        }
    }

    /// Chooses for a client that sent `hello`. It is only required if
    /// [`depends_on_hello`](Self::depends_on_hello).
    pub(crate) fn of_server(options: &Options, hello: Option<&ClientHello<'_>>) -> Self {
        let of_server = hello.and_then(|hello| hello.server_cert_types());
        let of_client = hello.and_then(|hello| hello.client_cert_types());
        Self {
            ours: choose(&available(options), of_server.map(code_points)),
            peers: choose(&options.accepted_peer_types, of_client.map(code_points)),
        }
    }

    /// True if the server has several types to choose from.
    pub(crate) fn depends_on_hello(options: &Options) -> bool {
        available(options).len() > 1 || options.accepted_peer_types.len() > 1
    }
}

/// Returns the first of our types that is offered; if none is, our first, so that the library
/// reports the error.
fn choose(ours: &[CertificateType], offered: Option<Vec<u8>>) -> CertificateType {
    // RFC 9846 §4.5.1: the default without the extension is X.509
    let offered = offered.unwrap_or_else(|| vec![0]);
    let is_offered = |typ: &&CertificateType| {
        let of_type = |&code_point: &u8| CertificateType::named(code_point) == Some(**typ);
        offered.iter().any(of_type)
    };
    let chosen = ours.iter().find(is_offered).or_else(|| ours.first());
    chosen.copied().unwrap_or(CertificateType::X509)
}

fn code_points<T: Copy + Into<u8>>(types: &[T]) -> Vec<u8> {
    types.iter().map(|&typ| typ.into()).collect()
}

/// The types of the credentials, most preferred first. X.509 if there are none.
fn available(options: &Options) -> Vec<CertificateType> {
    let credentials = options.credentials.iter();
    let credentials = credentials.chain([&options.default_credential]);
    let mut types = Vec::new();
    for typ in credentials.filter_map(|credential| credential.typ()) {
        if !types.contains(&typ) {
            types.push(typ);
        }
    }
    if types.is_empty() {
        types.push(CertificateType::X509);
    }
    types
}
