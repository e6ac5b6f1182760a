//! Roots from the process-wide cache, which only this library has.

use std::path::Path;

use rustls_trust::{RootCache, RootSource};

use super::connection::roots::contender;
use crate::certificates::Contender;
use crate::workload::{Result, Scenario};

/// Connections with the roots in the file `bundle`, which is read once, for the first one.
pub(crate) fn cached(scenario: &Scenario, bundle: &Path) -> Result<Box<dyn Contender>> {
    let source = RootSource::PemFile(bundle.to_owned());
    contender(scenario, move || Ok(RootCache::global().store(&source)?))
}
