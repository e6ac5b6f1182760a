//! How a client answers a CertificateRequest (RFC 5246 §7.4.4, §7.4.6, §7.4.8).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::client::ResolvesClientCert;
use crate::enums::{ClientCertificateType, SignatureAlgorithm, SignatureScheme};
use crate::msgs::tls12::certificate_request::CertificateRequest;
use crate::sign::{CertifiedKey, Signer};

/// How the client answers a CertificateRequest.
pub(super) enum ClientAuth {
    /// With a certificate and a signature by its key.
    Certificate(Arc<CertifiedKey>, Box<dyn Signer>),
    /// With a Certificate message that holds none.
    Empty,
}

impl ClientAuth {
    pub(super) fn choose(resolver: &dyn ResolvesClientCert, request: &CertificateRequest) -> Self {
        // a raw public key is not the certificate that TLS 1.2 takes it for
        if resolver.only_raw_public_keys() {
            return Self::Empty;
        }
        let schemes = usable_schemes(request);
        let authorities: Vec<&[u8]> = request.authorities.iter().map(AsRef::as_ref).collect();
        let certified_key = resolver
            .resolve(&authorities, &schemes)
            // RFC 5246 §7.4.8: no CertificateVerify follows a Certificate that is empty
            .filter(|certified_key| !certified_key.cert.is_empty());
        let Some(certified_key) = certified_key else {
            return Self::Empty;
        };
        // RFC 5246 §7.4.8: the scheme is one that the request names
        match certified_key.key.choose_scheme(&schemes) {
            Some(signer) => Self::Certificate(certified_key, signer),
            None => Self::Empty,
        }
    }
}

/// RFC 5246 §7.4.4: the schemes of the request, as far as a key for them is of one of its types.
fn usable_schemes(request: &CertificateRequest) -> Vec<SignatureScheme> {
    let takes = |scheme: &SignatureScheme| {
        let typ = match scheme.algorithm() {
            SignatureAlgorithm::RSA => ClientCertificateType::RsaSign,
            // RFC 8422 §5.5: ecdsa_sign covers EdDSA
            SignatureAlgorithm::ECDSA | SignatureAlgorithm::ED25519 | SignatureAlgorithm::ED448 => {
                ClientCertificateType::EcdsaSign
            }
            _ => return false,
        };
        request.certificate_types.contains(&typ)
    };
    let schemes = request.signature_schemes.iter().copied();
    schemes.filter(takes).collect()
}
