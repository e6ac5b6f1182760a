//! Tests of handshake signatures.

use std::format;
use std::vec::Vec;

use pki_types::CertificateDer;
use rcgen::SigningKey as _;
use rustls_core::codec::Codec as _;
use rustls_upstream as theirs;
use rustls_upstream::internal::msgs::codec::Codec as _;

use super::providers;
use crate as ours;
use crate::enums::SignatureScheme;
use crate::error::{CertificateError, Error, PeerMisbehaved};

/// Encodes the scheme and the signature in wire format.
fn signed(scheme: u16, signature: &[u8]) -> Vec<u8> {
    let len = u16::try_from(signature.len()).unwrap();
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&scheme.to_be_bytes());
    bytes.extend_from_slice(&len.to_be_bytes());
    bytes.extend_from_slice(signature);
    bytes
}

/// Returns the results for TLS 1.2 and 1.3. Ours and upstream's must agree for each provider.
fn verify(message: &[u8], cert: &CertificateDer<'_>, dss: &[u8]) -> [Result<(), Error>; 2] {
    let mut verdicts = None;
    for (our_provider, their_provider) in providers() {
        macro_rules! verdicts {
            ($lib:ident, $provider:expr) => {{
                let dss = $lib::DigitallySignedStruct::read_bytes(dss).unwrap();
                let algorithms = $provider.signature_verification_algorithms;
                // a raw key gets the same result as its certificate
                if let Ok(parsed) = $lib::server::ParsedCertificate::try_from(cert) {
                    let spki = parsed.subject_public_key_info();
                    let by_key = $lib::crypto::verify_tls13_signature_with_raw_key(
                        message,
                        &spki,
                        &dss,
                        &algorithms,
                    );
                    let by_cert =
                        $lib::crypto::verify_tls13_signature(message, cert, &dss, &algorithms);
                    assert_eq!(format!("{by_key:?}"), format!("{by_cert:?}"));
                }
                [
                    $lib::crypto::verify_tls12_signature(message, cert, &dss, &algorithms)
                        .map(|_| ()),
                    $lib::crypto::verify_tls13_signature(message, cert, &dss, &algorithms)
                        .map(|_| ()),
                ]
            }};
        }
        let ours = verdicts!(ours, our_provider);
        let theirs = verdicts!(theirs, their_provider);
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        verdicts = Some(ours);
    }
    verdicts.unwrap()
}

#[test]
fn valid_signatures_are_accepted_and_others_rejected() {
    for (algorithm, scheme) in [
        (
            &rcgen::PKCS_ECDSA_P256_SHA256,
            SignatureScheme::ECDSA_NISTP256_SHA256,
        ),
        (
            &rcgen::PKCS_ECDSA_P384_SHA384,
            SignatureScheme::ECDSA_NISTP384_SHA384,
        ),
        (&rcgen::PKCS_ED25519, SignatureScheme::ED25519),
    ] {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let cert = rcgen::CertificateParams::new([])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let good = signed(scheme.into(), &key.sign(b"message").unwrap());
        assert_eq!(verify(b"message", cert.der(), &good), [Ok(()), Ok(())]);

        let bad = [(); 2].map(|()| Err(CertificateError::BadSignature.into()));
        assert_eq!(verify(b"massage", cert.der(), &good), bad);
        let mut damaged = good.clone();
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(verify(b"message", cert.der(), &damaged), bad);
        assert_eq!(
            verify(b"message", cert.der(), &signed(scheme.into(), &[])),
            bad
        );

        let no_cert = CertificateDer::from(&b"certificate"[..]);
        assert_eq!(
            verify(b"message", &no_cert, &good),
            [(); 2].map(|()| Err(CertificateError::BadEncoding.into()))
        );
    }
}

#[test]
fn every_scheme_verifies_only_its_kind_of_key() {
    let unadvertised = Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());

    for algorithm in [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ED25519,
    ] {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let cert = rcgen::CertificateParams::new([])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        let signature = key.sign(b"message").unwrap();
        for scheme in (0x0200..0x0210)
            .chain(0x0400..0x0410)
            .chain(0x0500..0x0510)
            .chain(0x0600..0x0610)
            .chain(0x0800..0x0810)
            .chain(0x0900..0x0910)
        {
            let verdicts = verify(b"message", cert.der(), &signed(scheme, &signature));
            match SignatureScheme::from(scheme) {
                // these schemes are only for signatures on certificates
                SignatureScheme::RSA_PKCS1_SHA256
                | SignatureScheme::RSA_PKCS1_SHA384
                | SignatureScheme::RSA_PKCS1_SHA512 => assert_eq!(verdicts[1], unadvertised),
                // a TLS 1.2 scheme does not name the curve
                SignatureScheme::ECDSA_NISTP256_SHA256
                    if key.is_compatible(&rcgen::PKCS_ECDSA_P384_SHA384) =>
                {
                    assert_eq!(verdicts[0], Err(CertificateError::BadSignature.into()));
                    assert!(matches!(
                        verdicts[1],
                        Err(Error::InvalidCertificate(
                            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }
                        ))
                    ));
                }
                SignatureScheme::RSA_PKCS1_SHA1
                | SignatureScheme::ECDSA_SHA1_Legacy
                | SignatureScheme::ED448
                | SignatureScheme::Unknown(_) => {
                    assert_eq!(verdicts, [unadvertised.clone(), unadvertised.clone()]);
                }
                _ => {}
            }
        }
    }
}
