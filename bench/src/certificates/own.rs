//! A server's own certificates: finding the one for a name, reading its properties, replacing it.

use core::hint::black_box;

use rcgen::ExtendedKeyUsagePurpose;
use x509_cert::Certificate as Bare;
use x509_cert::der::Decode;

use super::clients::Authority;
use super::files::PemFile;
use super::{Contest, Row, Run, Way};
use crate::cli::Provider;
use crate::measure::Operation;
use crate::workload::{Identity, Result};
use crate::{this, upstream};

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    let own = Authority::new()?.certify("*.hosts.example", ExtendedKeyUsagePurpose::ServerAuth)?;
    let mut rows = Vec::new();
    for contest in [
        resolver(&own, provider, run.scaled(1000, 10)),
        keys_match(&own, provider),
        validity(&own, provider),
        reload(&Files::new(&own)?, provider),
    ] {
        rows.extend(run.measure(&contest)?);
    }
    Ok(rows)
}

/// The files of a server's certificates and key.
pub(crate) struct Files {
    pub(crate) chain: PemFile,
    pub(crate) key: PemFile,
}

impl Files {
    fn new(own: &Identity) -> Result<Self> {
        Ok(Self {
            chain: PemFile::new("CERTIFICATE", own.chain.iter().map(AsRef::as_ref))?,
            key: PemFile::new("PRIVATE KEY", [own.key.secret_der()].into_iter())?,
        })
    }
}

fn contest(work: impl Into<String>, provider: Provider, ways: Vec<Way<'_>>) -> Contest<'_> {
    Contest {
        topic: "certificates of one's own",
        work: work.into(),
        provider,
        ways,
    }
}

fn resolver(own: &Identity, provider: Provider, names: usize) -> Contest<'_> {
    let this = move || this::connection::own::resolve(own, provider, names);
    let upstream = move || upstream::connection::own::resolve(own, provider, names);
    contest(
        format!("resolver of {names} names"),
        provider,
        vec![
            Way::repeating("this", "each time", this),
            Way::repeating("upstream", "each time", upstream),
        ],
    )
}

fn keys_match(own: &Identity, provider: Provider) -> Contest<'_> {
    let this = move || this::connection::own::keys_match(own, provider);
    let upstream = move || upstream::connection::own::keys_match(own, provider);
    contest(
        "keys_match",
        provider,
        vec![
            Way::repeating("this", "each time", this),
            Way::repeating("upstream", "each time", upstream),
        ],
    )
}

/// The end of a certificate's validity, which renewal asks for.
fn validity(own: &Identity, provider: Provider) -> Contest<'_> {
    let bare = move || -> Result<Operation> {
        let der = own
            .chain
            .first()
            .ok_or("a chain without certificates")?
            .clone();
        Ok(Box::new(move || {
            let certificate = Bare::from_der(black_box(&der))?;
            black_box(certificate.tbs_certificate().validity());
            Ok(())
        }))
    };
    contest(
        "validity",
        provider,
        vec![
            Way::repeating("x509-cert", "each time", bare),
            Way::repeating("this", "kept by a resolver", move || {
                this::own::validity(own, provider)
            }),
        ],
    )
}

fn reload(files: &Files, provider: Provider) -> Contest<'_> {
    contest(
        "certificate and key from files",
        provider,
        vec![
            Way::repeating("this", "each time", move || {
                this::connection::own::read(files, provider)
            }),
            Way::repeating("this", "reload", move || this::own::reload(files, provider)),
            Way::repeating("this", "reload_if_changed", move || {
                this::own::reload_if_changed(files, provider)
            }),
            Way::repeating("upstream", "each time", move || {
                upstream::connection::own::read(files, provider)
            }),
        ],
    )
}
