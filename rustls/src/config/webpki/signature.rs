//! Verification of handshake signatures with a certificate's key.

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use rustls_core::crypto::WebPkiSupportedAlgorithms;
use webpki::{EndEntityCert, Error as WebPkiError, RawPublicKeyEntity};

use crate::certificates::certificate_error;
use crate::config::verify::HandshakeSignatureValid;
use crate::enums::SignatureScheme;
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::certificate_verify::DigitallySignedStruct;

/// Verifies `signature` over `message` with the key of the certificate `signer`, according to TLS
/// 1.3.
///
/// A TLS 1.3 scheme stands for one algorithm: the first that `supported_schemes` lists for the
/// scheme.
///
/// # Errors
///
/// - [`PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme`] if `supported_schemes` or TLS 1.3
///   lacks the scheme;
/// - [`Error::InvalidCertificate`] if the certificate cannot be parsed, its key is of the wrong
///   kind, or the signature is invalid.
pub fn verify_tls13_signature(
    message: &[u8],
    signer: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithms = tls13_algorithms(signature.scheme, supported_schemes)?;
    let cert = EndEntityCert::try_from(signer).map_err(certificate_error)?;
    verify_by(algorithms, |algorithm| {
        cert.verify_signature(algorithm, message, signature.signature())
    })
}

/// Verifies like [`verify_tls13_signature`], with a raw public key (RFC 7250) instead of a
/// certificate.
///
/// # Errors
///
/// Returns the errors of [`verify_tls13_signature`].
pub fn verify_tls13_signature_with_raw_key(
    message: &[u8],
    spki: &SubjectPublicKeyInfoDer<'_>,
    signature: &DigitallySignedStruct,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithms = tls13_algorithms(signature.scheme, supported_schemes)?;
    let key = RawPublicKeyEntity::try_from(spki).map_err(certificate_error)?;
    verify_by(algorithms, |algorithm| {
        key.verify_signature(algorithm, message, signature.signature())
    })
}

/// Verifies `signature` over `message` with the key of the certificate `signer`, according to TLS
/// 1.2.
///
/// An ECDSA scheme of TLS 1.2 names a hash function but no curve. So the algorithms that
/// `supported_schemes` lists for the scheme are tried until one fits the key.
///
/// # Errors
///
/// - [`PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme`] if `supported_schemes` or TLS 1.2
///   lacks the scheme;
/// - [`Error::InvalidCertificate`] if the certificate cannot be parsed, its key is of the wrong
///   kind, or the signature is invalid.
pub fn verify_tls12_signature(
    message: &[u8],
    signer: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    if !is_supported_in_tls12(signature.scheme) {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    let algorithms = algorithms(signature.scheme, supported_schemes)?;
    let cert = EndEntityCert::try_from(signer).map_err(certificate_error)?;
    verify_by(algorithms, |algorithm| {
        cert.verify_signature(algorithm, message, signature.signature())
    })
}

/// True if `scheme` is allowed for signatures in TLS 1.2 handshakes.
pub(crate) fn is_supported_in_tls12(scheme: SignatureScheme) -> bool {
    // draft-ietf-tls-mldsa §4: ML-DSA is for TLS 1.3 only
    !matches!(
        scheme,
        SignatureScheme::ML_DSA_44 | SignatureScheme::ML_DSA_65 | SignatureScheme::ML_DSA_87
    )
}

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// Returns the algorithm for `scheme` in TLS 1.3, as a slice with one element.
fn tls13_algorithms(
    scheme: SignatureScheme,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<Algorithms, Error> {
    // RFC 9846 §4.5.2: the scheme must be one for CertificateVerify, so no RSASSA-PKCS1-v1_5
    if !scheme.supported_in_tls13() {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    Ok(&algorithms(scheme, supported_schemes)?[..1])
}

/// Returns the algorithms for `scheme`; at least one.
fn algorithms(
    scheme: SignatureScheme,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<Algorithms, Error> {
    supported_schemes
        .mapping
        .iter()
        .find(|(supported, algorithms)| *supported == scheme && !algorithms.is_empty())
        .map(|(_, algorithms)| *algorithms)
        // RFC 9846 §4.5.2: the scheme must have been offered
        .ok_or_else(|| PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
}

/// Calls `verify` with each algorithm until one fits the key, and returns the result for that
/// algorithm.
fn verify_by(
    algorithms: Algorithms,
    verify: impl Fn(&dyn SignatureVerificationAlgorithm) -> Result<(), WebPkiError>,
) -> Result<HandshakeSignatureValid, Error> {
    let mut unfit = None;
    for algorithm in algorithms {
        match verify(*algorithm) {
            Ok(()) => return Ok(HandshakeSignatureValid::assertion()),
            Err(err @ WebPkiError::UnsupportedSignatureAlgorithmForPublicKeyContext(_)) => {
                unfit = Some(err);
            }
            Err(err) => return Err(certificate_error(err)),
        }
    }
    Err(match unfit {
        Some(err) => certificate_error(err),
        None => PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into(),
    })
}
