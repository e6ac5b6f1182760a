//! The properties of a certificate: read by another library, for the first time, and again.

use core::hint::black_box;

use pki_types::CertificateDer;
use rustls::certificates::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectAltName};
use x509_cert::{Certificate as Bare, TbsCertificate};

use super::clients::Authority;
use super::{Contest, Row, Run, Way};
use crate::cli::Provider;
use crate::measure::Operation;
use crate::primitives::{Hash, Primitive};
use crate::workload::Result;

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    let client = Authority::new()?.client(0)?;
    let der = client.chain.first().ok_or("a chain without certificates")?;
    let mut rows = Vec::new();
    for property in &PROPERTIES {
        rows.extend(run.measure(&contest(property, der, provider))?);
    }
    rows.extend(run.measure(&fingerprint(der, provider))?);
    Ok(rows)
}

/// A property, as the other library and [`Certificate`] return it.
struct Property {
    name: &'static str,
    bare: fn(&TbsCertificate) -> Result<()>,
    kept: fn(&Certificate) -> Result<()>,
}

static PROPERTIES: [Property; 10] = [
    Property {
        name: "subject",
        bare: |tbs| consume(tbs.subject()),
        kept: |certificate| consume(certificate.subject()?),
    },
    Property {
        name: "issuer",
        bare: |tbs| consume(tbs.issuer()),
        kept: |certificate| consume(certificate.issuer()?),
    },
    Property {
        name: "serial number",
        bare: |tbs| consume(tbs.serial_number()),
        kept: |certificate| consume(certificate.serial_number()?),
    },
    Property {
        name: "validity",
        bare: |tbs| consume(tbs.validity()),
        kept: |certificate| consume(certificate.validity()?),
    },
    Property {
        name: "public key",
        bare: |tbs| consume(tbs.subject_public_key_info()),
        kept: |certificate| consume(certificate.public_key()?),
    },
    Property {
        name: "signature algorithm",
        bare: |tbs| consume(tbs.signature()),
        kept: |certificate| consume(certificate.signature_algorithm()?),
    },
    Property {
        name: "subject alternative names",
        bare: |tbs| consume(tbs.get_extension::<SubjectAltName>()?),
        kept: |certificate| consume(certificate.subject_alt_names()?),
    },
    Property {
        name: "key usages",
        bare: |tbs| consume(tbs.get_extension::<KeyUsage>()?),
        kept: |certificate| consume(certificate.key_usages()?),
    },
    Property {
        name: "extended key usages",
        bare: |tbs| consume(tbs.get_extension::<ExtendedKeyUsage>()?),
        kept: |certificate| consume(certificate.extended_key_usages()?),
    },
    Property {
        name: "basic constraints",
        bare: |tbs| consume(tbs.get_extension::<BasicConstraints>()?),
        kept: |certificate| consume(certificate.basic_constraints()?),
    },
];

/// Uses `value`, so that it must be computed.
fn consume<T>(value: T) -> Result<()> {
    black_box(value);
    Ok(())
}

const TOPIC: &str = "properties of a certificate";

fn contest<'a>(
    property: &'static Property,
    der: &'a CertificateDer<'static>,
    provider: Provider,
) -> Contest<'a> {
    let first = move || -> Result<Operation> {
        let der = der.clone();
        Ok(Box::new(move || {
            (property.kept)(&Certificate::new(black_box(&der).clone()))
        }))
    };
    let again = move || -> Result<Operation> {
        let certificate = Certificate::new(der.clone());
        Ok(Box::new(move || (property.kept)(black_box(&certificate))))
    };
    let bare = move || -> Result<Operation> {
        let der = der.clone();
        Ok(Box::new(move || {
            let certificate = Bare::from_der(black_box(&der))?;
            (property.bare)(certificate.tbs_certificate())
        }))
    };
    Contest {
        topic: TOPIC,
        work: property.name.to_owned(),
        provider,
        ways: vec![
            Way::repeating("this", "the first time", first),
            Way::repeating("this", "again", again),
            Way::repeating("x509-cert", "each time", bare),
        ],
    }
}

/// The fingerprint, compared with the provider's bare hash.
fn fingerprint<'a>(der: &'a CertificateDer<'static>, provider: Provider) -> Contest<'a> {
    let first = move || -> Result<Operation> {
        let (der, crypto) = (der.clone(), provider.in_harness().this());
        Ok(Box::new(move || {
            let certificate = Certificate::new(black_box(&der).clone());
            consume(certificate.sha256_fingerprint(&crypto)?)
        }))
    };
    let again = move || -> Result<Operation> {
        let crypto = provider.in_harness().this();
        let certificate = Certificate::new(der.clone());
        Ok(Box::new(move || {
            consume(black_box(&certificate).sha256_fingerprint(&crypto)?)
        }))
    };
    let hash = Primitive::Hash(Hash::Sha256, vec![der.len()]);
    Contest {
        topic: TOPIC,
        work: "SHA-256 fingerprint".to_owned(),
        provider,
        ways: vec![
            Way::repeating("this", "the first time", first),
            Way::repeating("this", "again", again),
            Way::repeating(provider.name(), "each time", move || hash.of(provider)),
        ],
    }
}
