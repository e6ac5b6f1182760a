//! Caches of certificates, which only this library has.

use core::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use rustls_trust::{CertifiedKeyFiles, Reload, ReloadingCertifiedKeys, RootCache, RootSource};

use super::connection::certificates::{connections, verifier};
use super::connection::configs::only;
use super::dialect;
use super::dialect::tls::Error;
use super::dialect::tls::certificates::RevocationList;
use super::dialect::tls::client::WebPkiServerVerifier;
use crate::choices::Provider;
use crate::measure::Operation;
use crate::workload::certificates::{Costly, Files, List};
use crate::workload::{Result, Scenario};

/// Connections with the roots in the file `bundle`, which is read once, for the first one.
pub(crate) fn cached(scenario: &Scenario, bundle: &Path) -> Result<Costly> {
    let source = RootSource::PemFile(bundle.to_owned());
    connections(scenario, move || Ok(RootCache::global().store(&source)?))
}

/// Checks the files of a server's certificate, which have not changed.
pub(crate) fn reload_if_changed(files: &Files, provider: Provider) -> Result<Operation> {
    let files = CertifiedKeyFiles::new(files.chain.path(), files.key.path());
    let keys = ReloadingCertifiedKeys::new(files, Arc::new(dialect::provider(provider)))?;
    Ok(Box::new(move || match keys.reload_if_changed()? {
        Reload::Unchanged => Ok(()),
        other => Err(format!("{other:?}, though nothing has changed").into()),
    }))
}

/// Creates a verifier from the bytes of `list`, while another one has the same list.
pub(crate) fn another(list: &List, provider: Provider) -> Result<Operation> {
    let held = RevocationList::from_der(list.der.clone()).map_err(Error::from)?;
    let mut make = verifier(list, provider)?;
    Ok(Box::new(move || {
        black_box(&held);
        make()
    }))
}

/// Creates a verifier with `list`, which was parsed before.
pub(crate) fn with_shared(list: &List, provider: Provider) -> Result<Operation> {
    let shared = RevocationList::from_der(list.der.clone()).map_err(Error::from)?;
    let roots = Arc::new(only(&list.ca)?);
    let provider = Arc::new(dialect::provider(provider));
    Ok(Box::new(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_shared_crls([shared.clone()]).build()?);
        Ok(())
    }))
}
