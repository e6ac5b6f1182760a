//! Servers of this crate and of upstream with the same settings.

use std::sync::{Arc, Mutex};

use harness::peers::callbacks::{self, KeyLines};
use harness::peers::configs::Provider;
use harness::peers::endpoints::{Endpoint, ThisBuffered, ThisUnbuffered, UpstreamBuffered};
use harness::{describe_hello, wire};
use rustls as ours;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::SigningKey;
use rustls::{AlertDescription, ContentType, HandshakeType};
use rustls_upstream as theirs;

/// Both providers. The first one is that of the enabled features, and most tests use it.
pub(crate) const PROVIDERS: [Provider; 2] = if cfg!(feature = "aws_lc_rs") {
    [Provider::AwsLc, Provider::Ring]
} else {
    [Provider::Ring, Provider::AwsLc]
};

// The same code for both crates, whose types are distinct but have the same names.

macro_rules! config {
    ($lib:ident, $module:ident, $provider:expr, $setup:expr) => {{
        let provider = Arc::new($provider);
        let builder = $lib::ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&$lib::version::TLS13])
            .unwrap();
        let builder = if $setup.client_certs.is_empty() {
            builder.with_no_client_auth()
        } else {
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
        };
        let mut config = builder
            .with_single_cert_with_ocsp(
                $setup.identity.chain(),
                $setup.identity.key(),
                $setup.ocsp.clone(),
            )
            .unwrap();
        if $setup.resolves_nothing {
            config.cert_resolver = {
                let seen = $setup.seen.clone();
                callbacks::$module::ServerKey::by(move |hello| {
                    *seen.lock().unwrap() = Some(describe_hello!(hello));
                    None
                })
            };
        }
        config.alpn_protocols = $setup.alpn.clone();
        config.key_log = $setup.key_log.clone();
        config.ignore_client_order = $setup.ignore_client_order;
        config.send_half_rtt_data = $setup.send_half_rtt_data;
        config
    }};
}

/// A self-signed certificate and its key.
pub(crate) struct Identity {
    pub(crate) cert: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    pub(crate) fn new() -> Self {
        Self::with_algorithm(&rcgen::PKCS_ECDSA_P256_SHA256)
    }

    pub(crate) fn with_algorithm(algorithm: &'static rcgen::SignatureAlgorithm) -> Self {
        use rcgen::PublicKeyData as _;

        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        // a distinct name, so that no certificate looks like another's issuer
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

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.cert.clone()]
    }

    pub(crate) fn signing_key(&self) -> Arc<dyn SigningKey> {
        let key_provider = PROVIDERS[0].this().key_provider;
        key_provider.load_private_key(self.key()).unwrap()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone().into())
    }
}

/// The settings of a server.
pub(crate) struct Setup {
    pub(crate) provider: Provider,
    /// The provider for this crate, which tests may change.
    pub(crate) crypto: ours::crypto::CryptoProvider,
    pub(crate) identity: Identity,
    pub(crate) alpn: Vec<Vec<u8>>,
    pub(crate) ocsp: Vec<u8>,
    /// Client certificates to accept.
    pub(crate) client_certs: Vec<CertificateDer<'static>>,
    pub(crate) client_auth_optional: bool,
    /// True if the resolver has no certificate.
    pub(crate) resolves_nothing: bool,
    /// The hello that the resolver without a certificate received.
    pub(crate) seen: Arc<Mutex<Option<String>>>,
    pub(crate) key_log: Arc<KeyLines>,
    pub(crate) ignore_client_order: bool,
    pub(crate) send_half_rtt_data: bool,
}

impl Setup {
    pub(crate) fn new(provider: Provider) -> Self {
        Self {
            provider,
            crypto: provider.this(),
            identity: Identity::new(),
            alpn: vec![],
            ocsp: vec![],
            client_certs: vec![],
            client_auth_optional: false,
            resolves_nothing: false,
            seen: Arc::default(),
            key_log: Arc::default(),
            ignore_client_order: false,
            send_half_rtt_data: false,
        }
    }

    pub(crate) fn ours(&self) -> ThisBuffered {
        ours_with(self.our_config())
    }

    pub(crate) fn our_config(&self) -> ours::ServerConfig {
        config!(ours, this, self.crypto.clone(), self)
    }

    pub(crate) fn theirs(&self) -> UpstreamBuffered {
        let config = config!(theirs, upstream, self.provider.upstream(), self);
        UpstreamBuffered::server(config)
    }

    /// Creates a server of this crate in each API.
    pub(crate) fn both_apis(&self) -> [Box<dyn Endpoint>; 2] {
        let unbuffered = ThisUnbuffered::server(self.our_config());
        [Box::new(self.ours()), Box::new(unbuffered)]
    }

    /// Creates a server of this crate in each API, and one of upstream.
    pub(crate) fn all(&self) -> [Box<dyn Endpoint>; 3] {
        let [buffered, unbuffered] = self.both_apis();
        [buffered, unbuffered, Box::new(self.theirs())]
    }

    /// Creates a server of this crate and one of upstream.
    pub(crate) fn both(&self) -> [Box<dyn Endpoint>; 2] {
        [Box::new(self.ours()), Box::new(self.theirs())]
    }
}

/// Creates a server of this crate with this configuration.
pub(crate) fn ours_with(config: ours::ServerConfig) -> ThisBuffered {
    ThisBuffered::server(config)
}

/// A record that a server sent, as observers see it.
#[derive(Debug, PartialEq)]
pub(crate) enum Sent {
    Handshake(HandshakeType),
    Alert(AlertDescription),
    ChangeCipherSpec,
    Encrypted,
}

/// Describes `bytes` record by record.
pub(crate) fn records(bytes: &[u8]) -> Vec<Sent> {
    let records = wire::records(bytes).into_iter();
    let sent = records.map(|record| match ContentType::from(record.typ) {
        ContentType::Handshake => Sent::Handshake(record.payload[0].into()),
        ContentType::Alert => Sent::Alert(record.payload[1].into()),
        ContentType::ChangeCipherSpec => Sent::ChangeCipherSpec,
        _ => Sent::Encrypted,
    });
    sent.collect()
}
