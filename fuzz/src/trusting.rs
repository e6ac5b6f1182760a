//! Ends that accept any certificate and any signature, for connections whose authentication is not
//! fuzzed. Public key operations take longer than the rest of a handshake.

use std::sync::Arc;

use harness::peers::configs::{ClientAuth, Identity, KeyType, Versions};
use harness::providers::transparent::Setup;
use harness::providers::transparent::this::Configs;
use harness::verifiers::this::Verifier;
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, Signer, SigningKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, Error, ServerConfig, SignatureAlgorithm, SignatureScheme};

/// The configurations of `setup` without authentication. Both sides have a fake OCSP response,
/// which servers staple.
pub(super) fn trusting(setup: Setup) -> Configs {
    let Configs { client, server } = Configs::new(setup);
    let identities = KeyType::Ed25519.identities();
    let mut client = ClientConfig::clone(&client);
    let is_optional = setup.auth != ClientAuth::Required;
    let schemes = [SignatureScheme::ED25519, SignatureScheme::RSA_PSS_SHA256];
    let verifier =
        Verifier::accepting(Versions::Both, &schemes).optional_while(Arc::new(is_optional.into()));
    let verifier = Arc::new(verifier);
    client
        .dangerous()
        .set_certificate_verifier(verifier.clone());
    if setup.auth.is_presented() {
        client.client_auth_cert_resolver = unsigned(&identities.client);
    }
    let mut server = trusting_server(&server, setup, verifier);
    if setup.compresses {
        client.cert_decompressors = rustls::compress::default_cert_decompressors().to_vec();
        server.cert_decompressors = client.cert_decompressors.clone();
    }
    Configs {
        client: Arc::new(client),
        server: Arc::new(server),
    }
}

fn trusting_server(server: &ServerConfig, setup: Setup, verifier: Arc<Verifier>) -> ServerConfig {
    let verifier = match setup.auth {
        ClientAuth::None => WebPkiClientVerifier::no_client_auth(),
        _ => verifier,
    };
    let mut trusting = ServerConfig::builder_with_provider(server.crypto_provider().clone())
        .with_protocol_versions(&setup.versions[1].choose(&TLS12, &TLS13))
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(unsigned(&KeyType::Ed25519.identities().server));
    trusting.alpn_protocols = server.alpn_protocols.clone();
    trusting.session_storage = server.session_storage.clone();
    trusting.ticketer = server.ticketer.clone();
    trusting.time_provider = server.time_provider.clone();
    trusting.send_tls13_tickets = server.send_tls13_tickets;
    trusting.max_early_data_size = server.max_early_data_size;
    trusting.cert_compressors = server.cert_compressors.clone();
    trusting.cert_decompressors = server.cert_decompressors.clone();
    trusting
}

fn unsigned(identity: &Identity) -> Arc<SingleCertAndKey> {
    let mut key = CertifiedKey::new(identity.chain.clone(), Arc::new(NoKey));
    key.ocsp = Some(b"an OCSP response".to_vec());
    Arc::new(SingleCertAndKey::from(key))
}

/// A key that signs with zeros.
#[derive(Debug)]
struct NoKey;

impl SigningKey for NoKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let signer: Box<dyn Signer> = Box::new(Self);
        offered.contains(&self.scheme()).then_some(signer)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for NoKey {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(vec![0; 64])
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
