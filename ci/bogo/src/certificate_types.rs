//! Which types of certificates a connection is about: X.509, or raw public keys (RFC 7250). A configuration of the crate
//! is for one type of each side's. So a client has but one, and a server that has more chooses its configuration once it
//! has read the ClientHello.

use rustls::server::ClientHello;

use crate::failure::Failure;
use crate::options::Options;

/// A type of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateType {
    X509,
    RawPublicKey,
}

impl CertificateType {
    /// The type that has this code point, if it is one of these.
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

/// The type of each side's certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) ours: CertificateType,
    pub(crate) peers: CertificateType,
}

impl Types {
    /// # Errors
    ///
    /// The client is to offer more than one type.
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

    /// The server's choice for a client that sent `hello`; it need not be there unless
    /// [`depends_on_hello`](Self::depends_on_hello).
    pub(crate) fn of_server(options: &Options, hello: Option<&ClientHello<'_>>) -> Self {
        let of_server = hello.and_then(|hello| hello.server_cert_types());
        let of_client = hello.and_then(|hello| hello.client_cert_types());
        Self {
            ours: choose(&available(options), of_server.map(code_points)),
            peers: choose(&options.accepted_peer_types, of_client.map(code_points)),
        }
    }

    /// The server has more than one type to choose from.
    pub(crate) fn depends_on_hello(options: &Options) -> bool {
        available(options).len() > 1 || options.accepted_peer_types.len() > 1
    }
}

/// The first of ours whose code point is offered. If none is, the library has to say so.
fn choose(ours: &[CertificateType], offered: Option<Vec<u8>>) -> CertificateType {
    // RFC 9846 §4.5.1: without the extension it is X.509
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

/// The types of the credentials, most preferred first; X.509 if there are none.
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
