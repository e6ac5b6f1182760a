//! Operations on a server's own certificates that only this library has.

use core::hint::black_box;
use std::sync::Arc;

use rustls_trust::{CertifiedKeyFiles, Reload, ReloadingCertifiedKeys};

use super::connection::own::certified_key;
use super::tls::sign::SingleCertAndKey;
use crate::certificates::own::Files;
use crate::cli::Provider;
use crate::measure::Operation;
use crate::workload::{Identity, Result};

/// Reads the validity of the certificate behind a resolver's key.
pub(crate) fn validity(own: &Identity, provider: Provider) -> Result<Operation> {
    let own = Arc::new(certified_key(own, provider)?);
    let resolver = SingleCertAndKey::from(own.clone());
    Ok(Box::new(move || {
        black_box(&resolver);
        black_box(own.certificate()?.validity()?);
        Ok(())
    }))
}

/// Rereads the files, which have not changed.
pub(crate) fn reload(files: &Files, provider: Provider) -> Result<Operation> {
    let keys = reloading(files, provider)?;
    Ok(Box::new(move || unchanged(keys.reload()?)))
}

/// Checks the files, which have not changed.
pub(crate) fn reload_if_changed(files: &Files, provider: Provider) -> Result<Operation> {
    let keys = reloading(files, provider)?;
    Ok(Box::new(move || unchanged(keys.reload_if_changed()?)))
}

fn reloading(files: &Files, provider: Provider) -> Result<Arc<ReloadingCertifiedKeys>> {
    let files = CertifiedKeyFiles::new(files.chain.path(), files.key.path());
    Ok(ReloadingCertifiedKeys::new(
        files,
        Arc::new(super::provider(provider)),
    )?)
}

fn unchanged(reload: Reload) -> Result<()> {
    match reload {
        Reload::Unchanged => Ok(()),
        other => Err(format!("{other:?}, though nothing has changed").into()),
    }
}
