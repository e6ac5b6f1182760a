//! Signatures over handshakes, verified with the key of a certificate.

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{EndEntityCert, Error as WebPkiError, RawPublicKeyEntity};

use super::error::certificate_error;
use crate::crypto::WebPkiSupportedAlgorithms;
use crate::enums::SignatureScheme;
use crate::error::{Error, PeerMisbehaved};
use crate::msgs::certificate_verify::DigitallySignedStruct;
use crate::verify::HandshakeSignatureValid;

/// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS 1.3.
///
/// A scheme names one algorithm there: the first that `supported_schemes` lists for it.
///
/// # Errors
///
/// - [`PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme`] when `supported_schemes` lacks the
///   scheme, or TLS 1.3 does;
/// - [`Error::InvalidCertificate`] when the certificate cannot be parsed, its key is of the wrong kind,
///   or the signature is wrong.
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

/// As [`verify_tls13_signature`], by a raw public key (RFC 7250) instead of a certificate's.
///
/// # Errors
///
/// As for [`verify_tls13_signature`].
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

/// Verifies the `signature` over `message` by the key of the certificate `signer`, by the rules of TLS 1.2.
///
/// There an ECDSA scheme names a hash function but no curve, so each algorithm that
/// `supported_schemes` lists for the scheme is tried.
///
/// # Errors
///
/// - [`PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme`] when `supported_schemes` lacks the
///   scheme, or TLS 1.2 does;
/// - [`Error::InvalidCertificate`] when the certificate cannot be parsed, its key is of the wrong kind,
///   or the signature is wrong.
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

/// True if handshakes of TLS 1.2 may be signed with `scheme`.
pub(crate) fn is_supported_in_tls12(scheme: SignatureScheme) -> bool {
    // draft-ietf-tls-mldsa §4: ML-DSA is for TLS 1.3 only
    !matches!(
        scheme,
        SignatureScheme::ML_DSA_44 | SignatureScheme::ML_DSA_65 | SignatureScheme::ML_DSA_87
    )
}

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// The one algorithm that verifies signatures of this `scheme` in TLS 1.3.
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

/// The algorithms that verify signatures of this `scheme`; at least one.
fn algorithms(
    scheme: SignatureScheme,
    supported_schemes: &WebPkiSupportedAlgorithms,
) -> Result<Algorithms, Error> {
    supported_schemes
        .mapping
        .iter()
        .find(|(supported, algorithms)| *supported == scheme && !algorithms.is_empty())
        .map(|(_, algorithms)| *algorithms)
        // RFC 9846 §4.5.2: the scheme must be one of those offered
        .ok_or_else(|| PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
}

/// Has `verify` try `algorithms` until one fits the key; that one decides.
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
