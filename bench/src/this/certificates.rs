//! Caches of certificates, which only this library has.

use core::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use rustls_trust::{RootCache, RootSource};

use super::connection::certificates::connections;
use super::connection::configs::only;
use super::dialect;
use super::dialect::tls::Error;
use super::dialect::tls::certificates::RevocationList;
use super::dialect::tls::client::WebPkiServerVerifier;
use crate::choices::Provider;
use crate::workload::certificates::{Costly, List, repeating};
use crate::workload::{Result, Scenario};

/// Connections with the roots in the file `bundle`, which only the first one reads.
pub(crate) fn cached(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
    let source = RootSource::PemFile(bundle.to_owned());
    connections(scenario, move || Ok(RootCache::global().store(&source)?))
}

/// Creates a verifier with `list`, which was parsed before.
pub(crate) fn with_shared(list: &List, provider: Provider) -> Result<Costly> {
    let shared = RevocationList::from_der(list.der.clone()).map_err(Error::from)?;
    let roots = Arc::new(only(&list.ca)?);
    let provider = Arc::new(dialect::provider(provider));
    repeating(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_shared_crls([shared.clone()]).build()?);
        Ok(())
    })
}
