//! Work on certificates that both implementations can do.

use core::hint::black_box;
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use tls::client::WebPkiServerVerifier;
use tls::sign::CertifiedKey;

use super::{only, tls};
use crate::choices::Provider;
use crate::jobs::certificates::from_files::Files;
use crate::jobs::certificates::parsed::List;
use crate::measure::Operation;
use crate::workload::Result;

/// Loads a server's certificates and key from files, as programs do.
pub(crate) fn load(files: &Files, provider: Provider) -> Result<Operation> {
    let (chain, key) = (files.chain.path().to_owned(), files.key.path().to_owned());
    let provider = super::super::provider(provider);
    Ok(Box::new(move || {
        let chain = CertificateDer::pem_file_iter(&chain)?;
        let chain = chain.collect::<core::result::Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_file(&key)?;
        black_box(CertifiedKey::from_der(chain, key, &provider)?);
        Ok(())
    }))
}

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
