//! Comparisons that only this library has a case for.

use super::connection::timing::ticket_case;
use super::tls::crypto::{aws_lc_rs, ring};
use crate::cli::Provider;
use crate::timing::Case;

pub(crate) fn cases(providers: &[Provider]) -> Vec<Case> {
    const EPOCH_SECS: u32 = 6 * 60 * 60;
    // longer than the report takes, whatever the time
    let fleet = |provider| match provider {
        Provider::AwsLcRs => aws_lc_rs::Ticketer::for_fleet(&[7; 32], EPOCH_SECS),
        Provider::Ring => ring::Ticketer::for_fleet(&[7; 32], EPOCH_SECS),
    };
    let case = |provider: &Provider| {
        ticket_case(
            "ticket of a fleet",
            ["tag, first byte", "tag, last byte"],
            [-16, -1],
            *provider,
            fleet,
        )
    };
    providers.iter().map(case).collect()
}
