//! Measures the work that parsing once saves: for the properties of a certificate, and for
//! verifiers with a long revocation list.

use core::hint::black_box;

use harness::peers::pki;
use pki_types::CertificateRevocationListDer;
use rustls::certificates::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{KeyUsage, SubjectAltName};
use x509_cert::{Certificate as Bare, TbsCertificate};

use super::peers::Authority;
use super::{Comparison, Way};
use crate::measure::Operation;
use crate::row::Row;
use crate::workload::Result;
use crate::{this, upstream};

/// Reads one property of a certificate.
type Reads<C> = fn(&C) -> Result<()>;

/// Properties, as another library and [`Certificate`] return them.
const PROPERTIES: [(&str, Reads<TbsCertificate>, Reads<Certificate>); 4] = [
    (
        "subject",
        |tbs| consume(tbs.subject()),
        |kept| consume(kept.subject()?),
    ),
    (
        "validity",
        |tbs| consume(tbs.validity()),
        |kept| consume(kept.validity()?),
    ),
    (
        "subject alternative names",
        |tbs| consume(tbs.get_extension::<SubjectAltName>()?),
        |kept| consume(kept.subject_alt_names()?),
    ),
    (
        "key usages",
        |tbs| consume(tbs.get_extension::<KeyUsage>()?),
        |kept| consume(kept.key_usages()?),
    ),
];

/// Uses `value`, so that it must be computed.
fn consume<T>(value: T) -> Result<()> {
    black_box(value);
    Ok(())
}

/// Reads properties of a certificate: for the first time, again, and by another library.
pub(super) fn properties(comparison: &Comparison<'_>, authority: &Authority) -> Result<Vec<Row>> {
    let client = authority.identity(0);
    let der = client.chain.first().ok_or("a chain without certificates")?;
    let mut rows = Vec::new();
    for (property, bare, kept) in PROPERTIES {
        let first = || -> Result<Operation> {
            let der = der.clone();
            Ok(Box::new(move || {
                kept(&Certificate::new(black_box(&der).clone()))
            }))
        };
        let again = || -> Result<Operation> {
            let certificate = Certificate::new(der.clone());
            Ok(Box::new(move || kept(black_box(&certificate))))
        };
        let bare = || -> Result<Operation> {
            let der = der.clone();
            Ok(Box::new(move || {
                bare(Bare::from_der(black_box(&der))?.tbs_certificate())
            }))
        };
        let ways = [
            Way::repeating("this", "first time", first),
            Way::repeating("this", "again", again),
            Way::repeating("x509-cert", "each time", bare),
        ];
        rows.extend(comparison.rows("properties of a certificate", property, &ways)?);
    }
    Ok(rows)
}

/// A revocation list and its issuer.
pub(crate) struct List {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) ca: pki_types::CertificateDer<'static>,
}

impl List {
    fn new(entries: usize) -> Self {
        let issuer = pki::root("issuer of a list", |_| ());
        // an odd factor makes distinct numbers, which look random like those of real authorities
        let serials = (1..=entries as u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            der: pki::crl_of(&issuer, serials, |_| ()).into(),
            ca: issuer.der().clone(),
        }
    }
}

/// Creates verifiers that use a long revocation list.
pub(super) fn revocation(comparison: &Comparison<'_>) -> Result<Vec<Row>> {
    let entries = comparison.scaled(100_000, 500);
    let provider = comparison.provider;
    // a list without another user is parsed each time, so there are two lists
    let (alone, held) = (&List::new(entries), &List::new(entries));
    let of_this = || this::connection::certificates::verifier(alone, provider);
    let of_upstream = || upstream::connection::certificates::verifier(alone, provider);
    let same_bytes = || this::certificates::another(held, provider);
    let same_list = || this::certificates::with_shared(held, provider);
    let ways = [
        Way::repeating("this", "each time", of_this),
        Way::repeating("this", "of the same bytes", same_bytes),
        Way::repeating("this", "of the same list", same_list),
        Way::repeating("upstream", "each time", of_upstream),
    ];
    let work = format!("verifier with a list of {entries}");
    comparison.rows("revocation", &work, &ways)
}
