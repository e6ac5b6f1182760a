//! Work on certificates that both implementations can do.

use core::hint::black_box;
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use tls::client::WebPkiServerVerifier;
use tls::sign::CertifiedKey;

use super::configs::only;
use super::dialect::{self, tls};
use crate::choices::Provider;
use crate::measure::Operation;
use crate::workload::Result;
use crate::workload::certificates::{Files, List};

/// Loads a server's certificates and key from files, as programs do.
pub(crate) fn load(files: &Files, provider: Provider) -> Result<Operation> {
    let (chain, key) = (files.chain.path().to_owned(), files.key.path().to_owned());
    let provider = dialect::provider(provider);
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
    let provider = Arc::new(dialect::provider(provider));
    let (roots, der) = (Arc::new(only(&list.ca)?), list.der.clone());
    Ok(Box::new(move || {
        let builder = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        black_box(builder.with_crls([der.clone()]).build()?);
        Ok(())
    }))
}
