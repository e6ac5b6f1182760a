//! Verifiers that check a revocation list.

use core::hint::black_box;
use std::sync::Arc;

use tls::client::WebPkiServerVerifier;

use super::{only, tls};
use crate::certificates::revocation::List;
use crate::cli::Provider;
use crate::measure::Operation;
use crate::workload::Result;

/// Creates a verifier from the bytes of `list`, and drops it.
pub(crate) fn verifier(list: &List, provider: Provider) -> Result<Operation> {
    let provider = Arc::new(super::super::provider(provider));
    let (roots, der) = (Arc::new(only(&list.ca)?), list.der.clone());
    Ok(Box::new(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_crls([der.clone()]).build()?);
        Ok(())
    }))
}
