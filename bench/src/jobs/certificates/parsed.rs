//! Measures the work that parsing once saves: for the properties of a certificate, and for
//! verifiers with a long revocation list.

use core::hint::black_box;

use rustls::certificates::Certificate;

use super::{Comparison, Way};
use crate::measure::Operation;
use crate::row::Row;
use crate::workload::Result;
use crate::workload::certificates::List;
use crate::workload::identities::Authority;
use crate::{this, upstream};

/// Reads one property of a certificate.
type Reads = fn(&Certificate) -> Result<()>;

const PROPERTIES: [(&str, Reads); 4] = [
    ("subject", |it| consume(it.subject()?)),
    ("validity", |it| consume(it.validity()?)),
    ("subject alternative names", |it| {
        consume(it.subject_alt_names()?)
    }),
    ("key usages", |it| consume(it.key_usages()?)),
];

/// Uses `value`, so that it must be computed.
fn consume<T>(value: T) -> Result<()> {
    black_box(value);
    Ok(())
}

/// Reads properties of a certificate: for the first time, and again.
pub(super) fn properties(comparison: &Comparison<'_>, authority: &Authority) -> Result<Vec<Row>> {
    let client = authority.identity(0);
    let der = client.chain.first().ok_or("a chain without certificates")?;
    let mut rows = Vec::new();
    for (property, read) in PROPERTIES {
        let first = || -> Result<Operation> {
            let der = der.clone();
            Ok(Box::new(move || {
                read(&Certificate::new(black_box(&der).clone()))
            }))
        };
        let again = || -> Result<Operation> {
            let certificate = Certificate::new(der.clone());
            Ok(Box::new(move || read(black_box(&certificate))))
        };
        let ways = [
            Way::repeating("this", "first time", first),
            Way::repeating("this", "again", again),
        ];
        rows.extend(comparison.rows("properties of a certificate", property, &ways)?);
    }
    Ok(rows)
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
