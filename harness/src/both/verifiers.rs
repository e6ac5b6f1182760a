//! A verifier, for one crate.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pki_types::{CertificateDer, ServerName, UnixTime};

use super::tls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use super::tls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use super::tls::server::danger::{ClientCertVerified, ClientCertVerifier};
use super::tls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use crate::peers::configs::Versions;

// Passes a signature on to a verifier for either side.
macro_rules! signature_by {
    ($verifier:ident, $it:ident) => {{
        let (message, signer, signature) = ($it.message, $it.signer, $it.signature);
        let verified = match $it.is_tls12 {
            true => $verifier.verify_tls12_signature(message, signer, signature),
            false => $verifier.verify_tls13_signature(message, signer, signature),
        };
        verified.map(drop)
    }};
}

// Methods that check a signature in the given version with `check_signature`.
macro_rules! signatures {
    ($($name:ident of $is_tls12:literal),*) => {$(
        fn $name(
            &self,
            message: &[u8],
            signer: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let is_tls12 = $is_tls12;
            self.check_signature(&Signed {
                is_tls12,
                message,
                signer,
                signature,
            })
        }
    )*};
}

// The methods that exist in the verifiers for both sides.
macro_rules! signatures_and_schemes {
    () => {
        signatures!(verify_tls12_signature of true, verify_tls13_signature of false);

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.schemes.clone()
        }

        fn requires_raw_public_keys(&self) -> bool {
            self.wants_raw_keys
        }
    };
}

/// A certificate to verify.
pub struct Presented<'a> {
    pub end_entity: &'a CertificateDer<'a>,
    pub intermediates: &'a [CertificateDer<'a>],
    /// The name that the client requested, or `None` on a server.
    pub server_name: Option<&'a ServerName<'a>>,
    pub ocsp_response: &'a [u8],
    pub now: UnixTime,
}

impl Presented<'_> {
    pub fn verify_server_by(&self, it: &dyn ServerCertVerifier) -> Result<(), Error> {
        let (chain, ocsp) = (self.intermediates, self.ocsp_response);
        let name = self.server_name.expect("a client verifies");
        it.verify_server_cert(self.end_entity, chain, name, ocsp, self.now)
            .map(drop)
    }

    pub fn verify_client_by(&self, it: &dyn ClientCertVerifier) -> Result<(), Error> {
        it.verify_client_cert(self.end_entity, self.intermediates, self.now)
            .map(drop)
    }
}

/// A signature to verify.
pub struct Signed<'a> {
    pub is_tls12: bool,
    pub message: &'a [u8],
    pub signer: &'a CertificateDer<'a>,
    pub signature: &'a DigitallySignedStruct,
}

type CheckCertificate = dyn Fn(&Presented<'_>) -> Result<(), Error> + Send + Sync;
type CheckSignature = dyn Fn(&Signed<'_>) -> Result<(), Error> + Send + Sync;

pub struct Verifier {
    /// The versions of the handshakes; a signature in another version causes a panic.
    versions: Versions,
    certificates: Box<CheckCertificate>,
    signatures: Box<CheckSignature>,
    schemes: Vec<SignatureScheme>,
    hints: Option<Vec<DistinguishedName>>,
    /// The number of further calls that return no hints.
    empty_hints: AtomicUsize,
    is_optional: Arc<AtomicBool>,
    wants_raw_keys: bool,
}

impl Verifier {
    /// Accepts every certificate, and every signature in handshakes of `versions`.
    pub fn accepting(versions: Versions, schemes: &[SignatureScheme]) -> Self {
        Self {
            versions,
            certificates: Box::new(|_| Ok(())),
            signatures: Box::new(|_| Ok(())),
            schemes: schemes.to_vec(),
            hints: None,
            empty_hints: AtomicUsize::new(0),
            is_optional: Arc::default(),
            wants_raw_keys: false,
        }
    }

    /// Accepts every certificate, but only valid signatures.
    pub fn checking_signatures(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self::accepting(Versions::Both, &algorithms.supported_schemes()).with_signatures(
            move |it| {
                let verify = match it.is_tls12 {
                    true => verify_tls12_signature,
                    false => verify_tls13_signature,
                };
                verify(it.message, it.signer, it.signature, &algorithms).map(drop)
            },
        )
    }

    /// Creates a verifier that returns the results of `inner`.
    pub fn like_server_verifier(inner: Arc<dyn ServerCertVerifier>) -> Self {
        let other = inner.clone();
        Self {
            hints: inner.root_hint_subjects().map(<[_]>::to_vec),
            wants_raw_keys: inner.requires_raw_public_keys(),
            ..Self::accepting(Versions::Both, &inner.supported_verify_schemes())
        }
        .with_certificates(move |it| it.verify_server_by(&*inner))
        .with_signatures(move |it| signature_by!(other, it))
    }

    /// Creates a verifier that returns the results of `inner`, but always offers client
    /// authentication.
    pub fn like_client_verifier(inner: Arc<dyn ClientCertVerifier>) -> Self {
        let other = inner.clone();
        let is_optional = !inner.client_auth_mandatory();
        Self {
            hints: Some(inner.root_hint_subjects().to_vec()),
            wants_raw_keys: inner.requires_raw_public_keys(),
            is_optional: Arc::new(AtomicBool::new(is_optional)),
            ..Self::accepting(Versions::Both, &inner.supported_verify_schemes())
        }
        .with_certificates(move |it| it.verify_client_by(&*inner))
        .with_signatures(move |it| signature_by!(other, it))
    }

    /// Lets `check` decide whether certificates are accepted.
    pub fn with_certificates(
        mut self,
        check: impl Fn(&Presented<'_>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.certificates = Box::new(check);
        self
    }

    /// Lets `check` decide whether signatures are accepted.
    pub fn with_signatures(
        mut self,
        check: impl Fn(&Signed<'_>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.signatures = Box::new(check);
        self
    }

    /// Returns these authorities as hints, but none in the first `empty` calls.
    pub fn with_hints(mut self, hints: Vec<DistinguishedName>, empty: usize) -> Self {
        (self.hints, self.empty_hints) = (Some(hints), AtomicUsize::new(empty));
        self
    }

    /// Requires no client certificate while the flag is set.
    pub fn optional_while(mut self, is_optional: Arc<AtomicBool>) -> Self {
        self.is_optional = is_optional;
        self
    }

    /// Requires no client certificate.
    pub fn optional(self) -> Self {
        self.optional_while(Arc::new(AtomicBool::new(true)))
    }

    pub fn of_raw_keys(mut self) -> Self {
        self.wants_raw_keys = true;
        self
    }

    fn hints(&self) -> Option<&[DistinguishedName]> {
        let less = |left: usize| left.checked_sub(1);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.empty_hints.fetch_update(set, fetch, less) {
            Ok(_) => self.hints.as_ref().map(|_| &[][..]),
            Err(_) => self.hints.as_deref(),
        }
    }

    fn check_signature(&self, signed: &Signed<'_>) -> Result<HandshakeSignatureValid, Error> {
        let versions = self.versions.choose(true, false);
        assert!(versions.contains(&signed.is_tls12), "another version");
        (self.signatures)(signed)?;
        Ok(HandshakeSignatureValid::assertion())
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

impl ServerCertVerifier for Verifier {
    signatures_and_schemes!();

    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        (self.certificates)(&Presented {
            end_entity,
            intermediates,
            server_name: Some(server_name),
            ocsp_response,
            now,
        })?;
        Ok(ServerCertVerified::assertion())
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.hints()
    }
}

impl ClientCertVerifier for Verifier {
    signatures_and_schemes!();

    fn client_auth_mandatory(&self) -> bool {
        !self.is_optional.load(Ordering::SeqCst)
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.hints().unwrap_or_default()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        (self.certificates)(&Presented {
            end_entity,
            intermediates,
            server_name: None,
            ocsp_response: &[],
            now,
        })?;
        Ok(ClientCertVerified::assertion())
    }
}
