//! Tests of the server with scripted clients and with upstream's client. It behaves like upstream's
//! server, except where a test states otherwise.

mod hello;
mod order;
mod resumption;

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::servers::Settings;

/// Returns settings with stored sessions and with tickets, for each provider.
fn all_settings() -> impl Iterator<Item = Settings> {
    let of = |(provider, sealed)| Settings::tls12(provider).edit(|it| it.sealed = sealed);
    product(PROVIDERS, [false, true]).map(of)
}
