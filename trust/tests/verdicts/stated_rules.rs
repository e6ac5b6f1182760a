//! A verifier with rules around one without.

use std::sync::Arc;
use std::time::Duration;

use harness::peers::configs::Provider;
use pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier, VerifierRules,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// States the rules of a verifier whose verdict depends on neither time nor name.
#[derive(Debug)]
pub(crate) struct StatedRules<V: ?Sized> {
    rules: VerifierRules,
    inner: Arc<V>,
}

impl<V: ?Sized> StatedRules<V> {
    /// `trusted` is everything that the verdict of `inner` depends on.
    pub(crate) fn new(inner: Arc<V>, trusted: &[u8], provider: Provider) -> Self {
        let suites = provider.this().cipher_suites;
        let hash = suites
            .iter()
            .filter_map(|suite| suite.tls13())
            .map(|suite| suite.common.hash_provider)
            .find(|hash| hash.output_len() == VerifierRules::LEN)
            .unwrap();
        let digest = hash.hash(&[b"one raw public key 1", trusted].concat());
        Self {
            rules: VerifierRules::from_digest(digest.as_ref().try_into().unwrap()),
            inner,
        }
    }
}

const NEVER: UnixTime = UnixTime::since_unix_epoch(Duration::MAX);

/// The methods that both traits have.
macro_rules! forwarded {
    () => {
        fn rules(&self) -> Option<VerifierRules> {
            Some(self.rules)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.inner.supported_verify_schemes()
        }

        fn requires_raw_public_keys(&self) -> bool {
            self.inner.requires_raw_public_keys()
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.inner
                .verify_tls12_signature(message, signer, signature)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.inner
                .verify_tls13_signature(message, signer, signature)
        }
    };
}

impl ServerCertVerifier for StatedRules<dyn ServerCertVerifier> {
    forwarded!();

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        Ok(ServerCertVerified::assertion_until(self.rules, NEVER))
    }

    fn recheck_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> bool {
        true
    }
}

impl ClientCertVerifier for StatedRules<dyn ClientCertVerifier> {
    forwarded!();

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.inner
            .verify_client_cert(end_entity, intermediates, now)?;
        Ok(ClientCertVerified::assertion_until(self.rules, NEVER))
    }

    fn recheck_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> bool {
        true
    }
}
