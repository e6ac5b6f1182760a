//! Certificate verifiers. The runner determines their verdict; signatures are really verified.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use crate::failure::Failure;
use crate::observed::{Observed, Verdict};
use crate::options::Options;

/// The schemes of a connection whose options name none: those that the runner assumes and that are
/// still fit for use.
const DEFAULT_SCHEMES: [SignatureScheme; 8] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA512,
];

/// The rules of a verifier for one connection.
#[derive(Debug)]
pub(crate) struct Rules {
    algorithms: WebPkiSupportedAlgorithms,
    schemes: Vec<SignatureScheme>,
    /// True if the peer has a raw public key instead of a chain.
    is_raw: bool,
    /// True to accept the peer's chain.
    good: bool,
    /// True to accept an OCSP response, present or not.
    ocsp_good: bool,
    /// True if the handshake depends on the verdict.
    enforced: bool,
    observed: Arc<Mutex<Observed>>,
}

impl Rules {
    /// # Errors
    ///
    /// Fails if the options name a scheme that the provider cannot verify.
    pub(crate) fn new(
        options: &Options,
        is_raw: bool,
        algorithms: WebPkiSupportedAlgorithms,
        observed: Arc<Mutex<Observed>>,
    ) -> Result<Self, Failure> {
        let supported = algorithms.supported_schemes();
        let allowed = options.policy.and_then(|policy| policy.allowed().schemes);
        let schemes: Vec<SignatureScheme> = match (options.verify_prefs.as_slice(), allowed) {
            ([], None) => DEFAULT_SCHEMES.into(),
            ([], Some(allowed)) => allowed.into(),
            (preferred, _) => preferred.iter().map(|&scheme| scheme.into()).collect(),
        };
        if let Some(other) = schemes.iter().find(|scheme| !supported.contains(scheme)) {
            return Err(Failure::Unsupported(format!("signatures by {other:?}")));
        }
        Ok(Self {
            algorithms,
            schemes,
            is_raw,
            good: !options.verify_fail,
            ocsp_good: !(options.ocsp_callback.installed && options.ocsp_callback.fails),
            // only the application can vouch for a raw public key
            enforced: is_raw || options.verify_peer || options.require_client_certificate,
            observed,
        })
    }

    fn judge(&self, name: Option<&ServerName<'_>>, ocsp_response: &[u8]) -> Result<(), Error> {
        Observed::note(&self.observed, |o| {
            o.verdict = Some(Verdict {
                good: self.good,
                name: name.map(|name| name.to_str().into()),
                ocsp_response: ocsp_response.into(),
            });
        });
        if !self.ocsp_good {
            return Err(CertificateError::InvalidOcspResponse.into());
        }
        if self.good || !self.enforced {
            return Ok(());
        }
        Err(CertificateError::Other(OtherError(Arc::new(Refused))).into())
    }

    fn verify_tls12(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note_scheme(signature);
        verify_tls12_signature(message, signer, signature, &self.algorithms)
    }

    fn verify_tls13(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.note_scheme(signature);
        if self.is_raw {
            let key = SubjectPublicKeyInfoDer::from(signer.as_ref());
            return verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms);
        }
        verify_tls13_signature(message, signer, signature, &self.algorithms)
    }

    fn note_scheme(&self, signature: &DigitallySignedStruct) {
        Observed::note(&self.observed, |o| {
            o.peer_signature_algorithm = Some(signature.scheme.into());
        });
    }
}

/// The error of a verifier that must reject.
#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("certificate refused by the application")
    }
}

impl std::error::Error for Refused {}

/// A client's verifier. All connections of the process share it, because a session belongs to the
/// verifier of its first connection.
#[derive(Debug)]
pub(crate) struct ServersVerifier {
    current: Mutex<Rules>,
}

impl ServersVerifier {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            current: Mutex::new(rules),
        }
    }

    /// Sets the rules of the next connection.
    pub(crate) fn set(&self, rules: Rules) {
        *self.current.lock().unwrap() = rules;
    }
}

impl ServerCertVerifier for ServersVerifier {
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current.lock().unwrap().schemes.clone()
    }

    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.current
            .lock()
            .unwrap()
            .judge(Some(server_name), ocsp_response)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let rules = self.current.lock().unwrap();
        rules.verify_tls12(message, signer, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let rules = self.current.lock().unwrap();
        rules.verify_tls13(message, signer, signature)
    }
    fn requires_raw_public_keys(&self) -> bool {
        self.current.lock().unwrap().is_raw
    }
}

/// A server's verifier.
#[derive(Debug)]
pub(crate) struct ClientsVerifier {
    pub(crate) rules: Rules,
    pub(crate) mandatory: bool,
    pub(crate) authorities: Vec<DistinguishedName>,
}

impl ClientCertVerifier for ClientsVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.rules.schemes.clone()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.authorities
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.rules.judge(None, &[])?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.rules.verify_tls12(message, signer, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        signer: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.rules.verify_tls13(message, signer, signature)
    }
    fn requires_raw_public_keys(&self) -> bool {
        self.rules.is_raw
    }
}
