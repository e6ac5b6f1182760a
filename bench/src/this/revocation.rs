//! Verifiers that share a revocation list, which only this library supports.

use core::hint::black_box;
use std::sync::Arc;

use super::connection::only;
use super::connection::revocation::verifier;
use super::tls::Error;
use super::tls::certificates::RevocationList;
use super::tls::client::WebPkiServerVerifier;
use crate::certificates::revocation::List;
use crate::cli::Provider;
use crate::measure::Operation;
use crate::workload::Result;

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
    let (roots, provider) = (
        Arc::new(only(&list.ca)?),
        Arc::new(super::provider(provider)),
    );
    Ok(Box::new(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_shared_crls([shared.clone()]).build()?);
        Ok(())
    }))
}
