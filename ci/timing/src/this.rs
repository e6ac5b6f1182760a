//! This library.

use std::sync::Arc;

use harness::peers::configs::Provider;
use harness::providers::transparent::this as transparent;
use rustls as tls;
use tls::crypto::{CryptoProvider, aws_lc_rs, ring};
use tls::server::ProducesTickets;

use crate::Case;

#[path = "handshakes.rs"]
mod handshakes;
#[path = "records.rs"]
mod records;

pub(crate) fn cases(providers: &[Provider]) -> Vec<Case> {
    let mut cases = handshakes::cases();
    cases.extend(records::cases(providers));
    cases.extend(providers.iter().map(|provider| {
        let places = [-16, -1];
        let inputs = ["tag, first byte", "tag, last byte"];
        records::ticket_case("ticket of a fleet", inputs, places, *provider, fleet)
    }));
    cases
}

fn crypto(provider: Provider) -> CryptoProvider {
    provider.this()
}

fn ticketer(provider: Provider) -> Arc<dyn ProducesTickets> {
    provider.this_ticketer()
}

/// A ticketer of several servers, which upstream lacks. Its epoch is longer than the measurement.
fn fleet(provider: Provider) -> Arc<dyn ProducesTickets> {
    const EPOCH_SECS: u32 = 6 * 60 * 60;
    let ticketer = match provider {
        Provider::AwsLc => aws_lc_rs::Ticketer::for_fleet(&[7; 32], EPOCH_SECS),
        Provider::Ring => ring::Ticketer::for_fleet(&[7; 32], EPOCH_SECS),
    };
    ticketer.unwrap()
}
