//! Servers of this crate and of upstream, built alike and spoken to in bytes.

use core::mem;
use std::borrow::ToOwned;
use std::boxed::Box;
use std::io::{Read, Write};
use std::string::String;
use std::sync::{Arc, Mutex};
use std::vec::Vec;
use std::{format, vec};

use pki_types::{CertificateDer, PrivateKeyDer};
use rustls_upstream as theirs;

use crate as ours;
use crate::enums::{AlertDescription, ContentType, HandshakeType};
use crate::sign::SigningKey;

// One text for two crates: their types have the same names and are not the same.

macro_rules! provider {
    ($lib:ident, $provider:expr) => {
        Arc::new(match $provider {
            #[cfg(feature = "aws_lc_rs")]
            Provider::AwsLc => $lib::crypto::aws_lc_rs::default_provider(),
            #[cfg(feature = "ring")]
            Provider::Ring => $lib::crypto::ring::default_provider(),
        })
    };
}

macro_rules! config {
    ($lib:ident, $setup:expr) => {{
        let provider = provider!($lib, $setup.provider);
        let builder = $lib::ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&$lib::version::TLS13])
            .unwrap();
        let builder = match $setup.client_certs.is_empty() {
            true => builder.with_no_client_auth(),
            false => {
                let mut roots = $lib::RootCertStore::empty();
                roots.add_parsable_certificates($setup.client_certs.iter().cloned());
                let mut verifier = $lib::server::WebPkiClientVerifier::builder_with_provider(
                    Arc::new(roots),
                    provider,
                );
                if $setup.client_auth_optional {
                    verifier = verifier.allow_unauthenticated();
                }
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let mut config = builder
            .with_single_cert_with_ocsp(
                $setup.identity.chain(),
                $setup.identity.key(),
                $setup.ocsp.clone(),
            )
            .unwrap();
        if $setup.resolves_nothing {
            config.cert_resolver = Arc::new(Nothing($setup.seen.clone()));
        }
        config.alpn_protocols = $setup.alpn.clone();
        config.ignore_client_order = $setup.ignore_client_order;
        config.send_half_rtt_data = $setup.send_half_rtt_data;
        config.send_tls13_tickets = $setup.send_tls13_tickets;
        config.key_log = $setup.secrets.clone();
        config
    }};
}

/// A certificate that signs itself, with its key.
pub(super) struct Identity {
    pub(super) cert: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    pub(super) fn new() -> Self {
        Self::with_algorithm(&rcgen::PKCS_ECDSA_P256_SHA256)
    }

    pub(super) fn with_algorithm(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        use rcgen::PublicKeyData as _;

        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        // a name of its own, so that no certificate looks like another's issuer
        let name = format!("{:x?}", key.subject_public_key_info());
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        let cert = params.self_signed(&key).unwrap();
        Self {
            cert: cert.der().to_vec().into(),
            key: key.serialize_der(),
        }
    }

    pub(super) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.cert.clone()]
    }

    pub(super) fn signing_key(&self) -> Arc<dyn SigningKey> {
        let provider = PROVIDERS[0].ours();
        provider.key_provider.load_private_key(self.key()).unwrap()
    }

    pub(super) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone().into())
    }
}

/// What a server is to be like.
pub(super) struct Setup {
    pub(super) provider: Provider,
    pub(super) identity: Identity,
    pub(super) alpn: Vec<Vec<u8>>,
    pub(super) ocsp: Vec<u8>,
    /// Certificates to accept of clients.
    pub(super) client_certs: Vec<CertificateDer<'static>>,
    pub(super) client_auth_optional: bool,
    /// The resolver has no certificate to give.
    pub(super) resolves_nothing: bool,
    /// What the resolver that has none saw.
    pub(super) seen: Arc<Mutex<Option<String>>>,
    pub(super) ignore_client_order: bool,
    pub(super) send_half_rtt_data: bool,
    pub(super) send_tls13_tickets: usize,
    pub(super) secrets: Arc<Secrets>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Provider {
    #[cfg(feature = "aws_lc_rs")]
    AwsLc,
    #[cfg(feature = "ring")]
    Ring,
}

pub(super) const PROVIDERS: &[Provider] = &[
    #[cfg(feature = "aws_lc_rs")]
    Provider::AwsLc,
    #[cfg(feature = "ring")]
    Provider::Ring,
];

impl Setup {
    pub(super) fn new(provider: Provider) -> Self {
        Self {
            provider,
            identity: Identity::new(),
            alpn: vec![],
            ocsp: vec![],
            client_certs: vec![],
            client_auth_optional: false,
            resolves_nothing: false,
            seen: Arc::default(),
            ignore_client_order: false,
            send_half_rtt_data: false,
            send_tls13_tickets: 2,
            secrets: Arc::default(),
        }
    }

    pub(super) fn ours(&self) -> ours::ServerConnection {
        ours::ServerConnection::new(Arc::new(self.our_config())).unwrap()
    }

    pub(super) fn our_config(&self) -> ours::ServerConfig {
        config!(ours, self)
    }

    pub(super) fn theirs(&self) -> theirs::ServerConnection {
        let config = config!(theirs, self);
        theirs::ServerConnection::new(Arc::new(config)).unwrap()
    }

    /// A server of this crate, and one of upstream.
    pub(super) fn both(&self) -> [Box<dyn Server>; 2] {
        [Box::new(self.ours()), Box::new(self.theirs())]
    }
}

impl Provider {
    pub(super) fn ours(self) -> Arc<ours::crypto::CryptoProvider> {
        provider!(ours, self)
    }

    pub(super) fn theirs(self) -> theirs::crypto::CryptoProvider {
        Arc::unwrap_or_clone(provider!(theirs, self))
    }
}

/// Resolves no certificate, and keeps what it was asked.
#[derive(Debug)]
struct Nothing(Arc<Mutex<Option<String>>>);

macro_rules! impl_resolver {
    ($lib:ident) => {
        impl $lib::server::ResolvesServerCert for Nothing {
            fn resolve(
                &self,
                hello: $lib::server::ClientHello<'_>,
            ) -> Option<Arc<$lib::sign::CertifiedKey>> {
                let authorities = hello.certificate_authorities();
                let seen = format!(
                    "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                    hello.server_name(),
                    hello.signature_schemes(),
                    hello.alpn().map(|names| names.collect::<Vec<_>>()),
                    hello.cipher_suites(),
                    hello.server_cert_types(),
                    hello.client_cert_types(),
                    authorities.map(|names| names
                        .iter()
                        .map(|n| n.as_ref().to_vec())
                        .collect::<Vec<_>>()),
                    hello.named_groups(),
                );
                *self.0.lock().unwrap() = Some(seen);
                None
            }
        }
    };
}

impl_resolver!(ours);
impl_resolver!(theirs);

/// A key log.
#[derive(Debug, Default)]
pub(super) struct Secrets(Mutex<Vec<Logged>>);

/// Label, client random, secret.
type Logged = (String, Vec<u8>, Vec<u8>);

impl Secrets {
    fn push(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let entry = (label.to_owned(), client_random.to_vec(), secret.to_vec());
        self.0.lock().unwrap().push(entry);
    }

    /// What was logged since the last time, sorted.
    pub(super) fn take(&self) -> Vec<Logged> {
        let mut entries = mem::take(&mut *self.0.lock().unwrap());
        entries.sort();
        entries
    }
}

impl ours::KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.push(label, client_random, secret);
    }
}

impl theirs::KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.push(label, client_random, secret);
    }
}

/// A server, spoken to in bytes.
pub(super) trait Server {
    /// Takes in `bytes`; an error as it prints, which for both crates' should be the same.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), String>;

    fn write(&mut self, plaintext: &[u8]);

    /// What the server wants to send.
    fn output(&mut self) -> Vec<u8>;

    /// The application data that has come.
    fn plaintext(&mut self) -> Vec<u8>;

    fn is_done(&self) -> bool;

    fn client_chain(&self) -> Option<Vec<CertificateDer<'static>>>;
}

macro_rules! impl_server {
    ($typ:ty) => {
        impl Server for $typ {
            fn feed(&mut self, mut bytes: &[u8]) -> Result<(), String> {
                while !bytes.is_empty() {
                    self.read_tls(&mut bytes).unwrap();
                    self.process_new_packets()
                        .map_err(|error| format!("{error:?}"))?;
                }
                Ok(())
            }

            fn output(&mut self) -> Vec<u8> {
                let mut bytes = vec![];
                while self.wants_write() {
                    self.write_tls(&mut bytes).unwrap();
                }
                bytes
            }

            fn write(&mut self, plaintext: &[u8]) {
                self.writer().write_all(plaintext).unwrap();
            }

            fn plaintext(&mut self) -> Vec<u8> {
                let mut bytes = vec![];
                // while the peer has not closed it ends with WouldBlock
                let _ = self.reader().read_to_end(&mut bytes);
                bytes
            }

            fn client_chain(&self) -> Option<Vec<CertificateDer<'static>>> {
                self.peer_certificates().map(<[_]>::to_vec)
            }

            fn is_done(&self) -> bool {
                !self.is_handshaking()
            }
        }
    };
}

impl_server!(ours::ServerConnection);
impl_server!(theirs::ServerConnection);

/// What a server did, as far as it can be seen from outside.
#[derive(Debug, PartialEq)]
pub(super) enum Sent {
    Handshake(HandshakeType),
    Alert(AlertDescription),
    ChangeCipherSpec,
    Encrypted,
}

/// What is in `bytes`, record by record.
pub(super) fn records(mut bytes: &[u8]) -> Vec<Sent> {
    let mut sent = vec![];
    while let [typ, _, _, high, low, rest @ ..] = bytes {
        let (payload, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        sent.push(match ContentType::from(*typ) {
            ContentType::Handshake => Sent::Handshake(payload[0].into()),
            ContentType::Alert => Sent::Alert(payload[1].into()),
            ContentType::ChangeCipherSpec => Sent::ChangeCipherSpec,
            _ => Sent::Encrypted,
        });
        bytes = rest;
    }
    sent
}
