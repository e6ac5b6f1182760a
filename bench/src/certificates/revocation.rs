//! A long revocation list: looking up a serial number, and creating verifiers that use the list.

use core::hint::black_box;

use pki_types::CertificateRevocationListDer;
use rcgen::{
    CertificateRevocationListParams, CertifiedIssuer, KeyIdMethod, KeyPair, RevokedCertParams,
    SerialNumber, date_time_ymd,
};
use webpki::{
    BorrowedCertRevocationList, BorrowedRevokedCert, CertRevocationList, OwnedCertRevocationList,
};

use super::clients::authority;
use super::{Contest, Row, Run, Way};
use crate::cli::Provider;
use crate::workload::Result;
use crate::{this, upstream};

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    let entries = run.scaled(100_000, 500);
    // a list without another user is parsed each time, so there are two lists
    let [alone, held] = [List::new(entries)?, List::new(entries)?];
    let mut rows = run.measure(&look_up(&alone, provider))?;
    rows.extend(run.measure(&verifiers(&alone, &held, provider))?);
    Ok(rows)
}

/// A list, its issuer and the number of its entries.
pub(crate) struct List {
    pub(crate) der: CertificateRevocationListDer<'static>,
    pub(crate) ca: pki_types::CertificateDer<'static>,
    entries: usize,
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
            entries,
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

/// Serial numbers in the list, in an order that a processor cannot predict.
fn serials(entries: usize) -> impl FnMut() -> [u8; 16] {
    let mut at = 0;
    move || {
        at = (at + 61_813) % entries;
        serial(at)
    }
}

fn look_up(list: &List, provider: Provider) -> Contest<'_> {
    let mut contest = Contest {
        topic: "revocation",
        work: format!("look-up in a list of {}, by webpki", list.entries),
        provider,
        ways: Vec::new(),
    };
    let found = |found: Option<BorrowedRevokedCert<'_>>| -> Result<()> {
        black_box(found)
            .map(drop)
            .ok_or_else(|| "a serial number is missing".into())
    };
    contest
        .ways
        .push(Way::repeating("webpki", "one after the other", move || {
            let (mut next, der) = (serials(list.entries), list.der.clone());
            Ok(Box::new(move || {
                // parses no entry yet
                let list = CertRevocationList::from(BorrowedCertRevocationList::from_der(&der)?);
                found(list.find_serial(&next())?)
            }))
        }));
    contest
        .ways
        .push(Way::repeating("webpki", "by an index", move || {
            let mut next = serials(list.entries);
            let list = CertRevocationList::from(OwnedCertRevocationList::from_der(&list.der)?);
            Ok(Box::new(move || found(list.find_serial(&next())?)))
        }));
    contest
}

fn verifiers<'a>(alone: &'a List, held: &'a List, provider: Provider) -> Contest<'a> {
    let first = move || this::connection::revocation::verifier(alone, provider);
    let same_bytes = move || this::revocation::another(held, provider);
    let same_list = move || this::revocation::with_shared(held, provider);
    let upstream = move || upstream::connection::revocation::verifier(alone, provider);
    Contest {
        topic: "revocation",
        work: format!("verifier with a list of {}", alone.entries),
        provider,
        ways: vec![
            Way::repeating("this", "the first with it", first),
            Way::repeating("this", "another, of the same bytes", same_bytes),
            Way::repeating("this", "another, of the same list", same_list),
            Way::repeating("upstream", "each", upstream),
        ],
    }
}
