//! A server that accepts any client certificate. Without the verification, its other costs become
//! visible.

use pki_types::{CertificateDer, UnixTime};
use tls::client::danger::HandshakeSignatureValid;
use tls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use tls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::tls;

#[derive(Debug)]
pub(super) struct AcceptAnyClient {
    /// Signatures in handshakes are still verified.
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AcceptAnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
