//! What parsing once saves: properties of a certificate, and verifiers with a long revocation list.

use core::hint::black_box;

use pki_types::CertificateRevocationListDer;
use rcgen::{
    CertificateRevocationListParams, CertifiedIssuer, KeyIdMethod, KeyPair, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use rustls::certificates::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{KeyUsage, SubjectAltName};
use x509_cert::{Certificate as Bare, TbsCertificate};

use super::authority::{Authority, authority};
use super::{Comparison, Way};
use crate::measure::Operation;
use crate::row::Row;
use crate::workload::Result;
use crate::{this, upstream};

/// A property, as another library and [`Certificate`] return it.
struct Property {
    name: &'static str,
    bare: fn(&TbsCertificate) -> Result<()>,
    kept: fn(&Certificate) -> Result<()>,
}

static PROPERTIES: [Property; 4] = [
    Property {
        name: "subject",
        bare: |tbs| consume(tbs.subject()),
        kept: |certificate| consume(certificate.subject()?),
    },
    Property {
        name: "validity",
        bare: |tbs| consume(tbs.validity()),
        kept: |certificate| consume(certificate.validity()?),
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
];

/// Uses `value`, so that it must be computed.
fn consume<T>(value: T) -> Result<()> {
    black_box(value);
    Ok(())
}

/// Reads properties of a certificate: for the first time, again, and by another library.
pub(super) fn properties(comparison: &Comparison, authority: &Authority) -> Result<Vec<Row>> {
    let client = authority.client(0)?;
    let der = client.chain.first().ok_or("a chain without certificates")?;
    let mut rows = Vec::new();
    for property in &PROPERTIES {
        let first = || -> Result<Operation> {
            let der = der.clone();
            Ok(Box::new(move || {
                (property.kept)(&Certificate::new(black_box(&der).clone()))
            }))
        };
        let again = || -> Result<Operation> {
            let certificate = Certificate::new(der.clone());
            Ok(Box::new(move || (property.kept)(black_box(&certificate))))
        };
        let bare = || -> Result<Operation> {
            let der = der.clone();
            Ok(Box::new(move || {
                (property.bare)(Bare::from_der(black_box(&der))?.tbs_certificate())
            }))
        };
        let ways = [
            Way::repeating("this", "first time", first),
            Way::repeating("this", "again", again),
            Way::repeating("x509-cert", "each time", bare),
        ];
        rows.extend(comparison.rows("properties of a certificate", property.name, &ways)?);
    }
    Ok(rows)
}

/// A revocation list and its issuer.
pub(crate) struct List {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) ca: pki_types::CertificateDer<'static>,
}

impl List {
    fn new(entries: usize) -> Result<Self> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let ca = CertifiedIssuer::self_signed(authority("issuer of a list")?, key)?;
        let revoked = (0..entries).map(|number| RevokedCertParams {
            serial_number: serial(number).to_vec().into(),
            revocation_time: date_time_ymd(2026, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2026, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(Self {
            der: list.signed_by(&ca)?.into(),
            ca: ca.der().to_vec().into(),
        })
    }
}

/// The serial number of entry `number`: sixteen bytes that look random, like those of real
/// authorities.
fn serial(number: usize) -> [u8; 16] {
    // an odd factor makes distinct numbers; with a clear sign bit, DER needs no padding
    let mixed = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let mut serial = mixed.to_be_bytes();
    serial[0] = serial[0] & 0x3f | 0x40;
    serial
}

/// Creates verifiers that use a long revocation list.
pub(super) fn revocation(comparison: &Comparison) -> Result<Vec<Row>> {
    let entries = comparison.scaled(100_000, 500);
    let provider = comparison.provider;
    // a list without another user is parsed each time, so there are two lists
    let (alone, held) = (&List::new(entries)?, &List::new(entries)?);
    let of_this = || this::connection::certificates::verifier(alone, provider);
    let of_upstream = || upstream::connection::certificates::verifier(alone, provider);
    let ways = [
        Way::repeating("this", "each time", of_this),
        Way::repeating("this", "of the same bytes", || {
            this::certificates::another(held, provider)
        }),
        Way::repeating("this", "of the same list", || {
            this::certificates::with_shared(held, provider)
        }),
        Way::repeating("upstream", "each time", of_upstream),
    ];
    comparison.rows(
        "revocation",
        &format!("verifier with a list of {entries}"),
        &ways,
    )
}
