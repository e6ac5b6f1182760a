//! A server's own certificates: finding the one for a name, and whether key and certificate belong together.

use rcgen::ExtendedKeyUsagePurpose;

use super::clients::Authority;
use super::{Contest, Row, Run, Way};
use crate::cli::Provider;
use crate::workload::Result;
use crate::{this, upstream};

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    let names = run.scaled(1000, 10);
    let own = Authority::new()?.certify("*.hosts.example", ExtendedKeyUsagePurpose::ServerAuth)?;
    let own = &own;
    let contest = |work, ways| Contest {
        topic: "certificates of one's own",
        work,
        provider,
        ways,
    };
    let mut rows = run.measure(&contest(
        format!("resolver of {names} names"),
        vec![
            Way::repeating("this", "each time", move || {
                this::connection::own::resolve(own, provider, names)
            }),
            Way::repeating("upstream", "each time", move || {
                upstream::connection::own::resolve(own, provider, names)
            }),
        ],
    ))?;
    rows.extend(run.measure(&contest(
        "keys_match".to_owned(),
        vec![
            Way::repeating("this", "each time", move || {
                this::connection::own::keys_match(own, provider)
            }),
            Way::repeating("upstream", "each time", move || {
                upstream::connection::own::keys_match(own, provider)
            }),
        ],
    ))?);
    Ok(rows)
}
