//! Arbitrary bytes as a certificate whose properties are read.

use std::fmt::Write;

use rustls::certificates::{Certificate, CertificateField, GeneralName, PropertyError};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

/// Reads every property twice, with equal results. Properties that webpki reads as well must agree
/// with it.
pub(super) fn properties(input: &[u8]) {
    let der = CertificateDer::from(input.to_vec());
    let certificate = Certificate::new(der.clone());
    let first = answers(&certificate);
    assert_eq!(answers(&certificate), first);

    if let (Ok(here), Ok(webpki)) = (certificate.public_key(), ParsedCertificate::try_from(&der)) {
        assert_eq!(
            here.subject_public_key_info(),
            webpki.subject_public_key_info()
        );
    }
    // control characters, which could break a line of a log, are escaped
    if let Ok(subject) = certificate.subject() {
        assert!(!subject.to_string().contains(char::is_control));
        // each byte becomes at most three, and an attribute has a short name or an OID
        assert!(subject.to_string().len() <= 64 + 12 * subject.der().len());
    }
    let names = certificate.subject_alt_names().unwrap_or_default();
    assert!(names.len() <= input.len());
    for name in names {
        assert!(!name.to_string().contains(char::is_control));
        // odd names are shown as they are, and never taken for good ones
        if let GeneralName::Dns(text) | GeneralName::Email(text) | GeneralName::Uri(text) = name {
            assert!(text.is_ascii() && !text.contains(char::is_control));
        }
    }
}

/// All properties, or their errors, as text.
fn answers(certificate: &Certificate) -> String {
    let mut text = String::new();
    let mut show = |field, answer: Result<String, PropertyError>| {
        if let Err(error) = &answer {
            let outer = [
                CertificateField::Certificate,
                CertificateField::Version,
                CertificateField::Extensions,
            ];
            assert!(error.field() == field || outer.contains(&error.field()));
        }
        writeln!(text, "{field}: {answer:?}").unwrap();
    };
    macro_rules! show {
        ($field:ident, $answer:expr) => {
            show(
                CertificateField::$field,
                $answer.map(|value| format!("{value:?}")),
            )
        };
    }
    show!(SerialNumber, certificate.serial_number());
    show!(SignatureAlgorithm, certificate.signature_algorithm());
    show!(Issuer, certificate.issuer());
    show!(Validity, certificate.validity());
    show!(Subject, certificate.subject());
    show!(SubjectPublicKeyInfo, certificate.public_key());
    show!(SubjectAltName, certificate.subject_alt_names());
    show!(KeyUsage, certificate.key_usages());
    show!(ExtendedKeyUsage, certificate.extended_key_usages());
    show!(BasicConstraints, certificate.basic_constraints());
    text
}
