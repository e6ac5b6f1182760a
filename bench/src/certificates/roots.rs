//! Authorities: one configuration per connection, all with the same 140 certificates from a file.

use super::files::bundle;
use super::{Contest, Row, Run, Way};
use crate::cli::{Cipher, KeyType, Provider, Version};
use crate::suites::Suite;
use crate::workload::{Result, SESSIONS, Scenario, Sessions};
use crate::{this, upstream};

pub(super) fn measure(run: &Run, provider: Provider) -> Result<Vec<Row>> {
    // the client verifies two signatures with these keys; with ECDSA that dominates the cost of a
    // connection
    let key_types = [KeyType::Rsa2048, KeyType::EcdsaP256];
    let rows = key_types.map(|key_type| measure_with(run, provider, key_type));
    rows.into_iter()
        .collect::<Result<Vec<_>>>()
        .map(|rows| rows.concat())
}

/// Measures with a server whose certificates have keys of `key_type`.
fn measure_with(run: &Run, provider: Provider, key_type: KeyType) -> Result<Vec<Row>> {
    let scenario = Scenario {
        provider,
        suite: Suite::with(Version::Tls13, Cipher::Aes128Gcm, key_type)?,
        key_type,
        group: None,
        client: None,
        verifies_client: true,
        shares_chains: true,
        sessions: Sessions::Nothing,
        tickets: None,
        kept: SESSIONS,
        max_fragment_size: None,
    };
    let bundle = bundle(&key_type.identities().ca)?;
    let (scenario, path) = (&scenario, bundle.path());
    run.measure(&Contest {
        topic: "roots",
        work: format!(
            "configuration from 140 certificates, connection, {}",
            key_type.name()
        ),
        provider,
        ways: vec![
            Way::new("this", "parsed each time", move || {
                this::connection::roots::parsed(scenario, path)
            }),
            Way::new("this", "cached", move || {
                this::roots::cached(scenario, path)
            }),
            Way::new("this", "connection alone", move || {
                this::connection::roots::kept(scenario, path)
            }),
            Way::new("upstream", "parsed each time", move || {
                upstream::connection::roots::parsed(scenario, path)
            }),
            Way::new("upstream", "connection alone", move || {
                upstream::connection::roots::kept(scenario, path)
            }),
        ],
    })
}
