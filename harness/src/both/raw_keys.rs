//! Raw public keys, and verifiers that trust one, for one crate.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;

use super::tls::client::AlwaysResolvesClientRawPublicKeys;
use super::tls::crypto::verify_tls13_signature_with_raw_key;
use super::tls::server::AlwaysResolvesServerRawPublicKeys;
use super::tls::sign::CertifiedKey;
use super::tls::{CertificateError, ClientConfig, ServerConfig};
use super::verifiers::Verifier;
use crate::peers::configs::{Identity, Provider, Versions};

/// Returns the key of `identity` without its certificate.
pub fn raw_key(identity: &Identity, provider: Provider) -> Arc<CertifiedKey> {
    let loader = super::provider(provider).key_provider;
    let key = loader.load_private_key(identity.key()).unwrap();
    let spki = key.public_key().unwrap().to_vec();
    Arc::new(CertifiedKey::new(vec![spki.into()], key))
}

/// Lets a client trust only the key of this server.
pub fn trust_server(config: &mut ClientConfig, server: &Identity, provider: Provider) {
    let verifier = Arc::new(verifier(server, provider));
    config.dangerous().set_certificate_verifier(verifier);
}

/// Gives a client the key of `identity`.
pub fn present_client(config: &mut ClientConfig, identity: &Identity, provider: Provider) {
    let key = raw_key(identity, provider);
    config.client_auth_cert_resolver = Arc::new(AlwaysResolvesClientRawPublicKeys::new(key));
}

/// Gives a server the key of `identity`.
pub fn present_server(config: &mut ServerConfig, identity: &Identity, provider: Provider) {
    let key = raw_key(identity, provider);
    config.cert_resolver = Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
}

pub fn verifier(identity: &Identity, provider: Provider) -> Verifier {
    trusting(raw_key(identity, provider).cert[0].to_vec(), provider)
}

/// Creates a verifier that trusts one raw public key.
pub fn trusting(trusted: Vec<u8>, provider: Provider) -> Verifier {
    let algorithms = super::provider(provider).signature_verification_algorithms;
    Verifier::accepting(Versions::Tls13, &algorithms.supported_schemes())
        .of_raw_keys()
        .with_certificates(move |presented| {
            assert!(presented.intermediates.is_empty());
            match presented.end_entity.as_ref() == trusted {
                true => Ok(()),
                false => Err(CertificateError::UnknownIssuer.into()),
            }
        })
        .with_signatures(move |signed| {
            let key = SubjectPublicKeyInfoDer::from(signed.signer.as_ref());
            let (message, signature) = (signed.message, signed.signature);
            verify_tls13_signature_with_raw_key(message, &key, signature, &algorithms).map(drop)
        })
}
