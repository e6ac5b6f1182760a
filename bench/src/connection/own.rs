//! Uses of a server's own certificates.

use core::hint::black_box;
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use tls::server::{Acceptor, ResolvesServerCert, ResolvesServerCertUsingSni};
use tls::sign::CertifiedKey;
use tls::{ClientConfig, ClientConnection, RootCertStore};

use super::tls;
use crate::certificates::own::Files;
use crate::cli::Provider;
use crate::measure::Operation;
use crate::workload::{Identity, Result};

pub(crate) fn certified_key(own: &Identity, provider: Provider) -> Result<CertifiedKey> {
    let (chain, key) = (own.chain.clone(), own.key.clone_key());
    let provider = super::super::provider(provider);
    Ok(CertifiedKey::from_der(chain, key, &provider)?)
}

/// Loads certificates and key from files, as programs do.
pub(crate) fn read(files: &Files, provider: Provider) -> Result<Operation> {
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

/// Checks that the key belongs to the certificate.
pub(crate) fn keys_match(own: &Identity, provider: Provider) -> Result<Operation> {
    let own = certified_key(own, provider)?;
    Ok(Box::new(move || Ok(black_box(&own).keys_match()?)))
}

/// Finds the certificate for the name in a ClientHello among `names` names.
pub(crate) fn resolve(own: &Identity, provider: Provider, names: usize) -> Result<Operation> {
    let own = certified_key(own, provider)?;
    let mut resolver = ResolvesServerCertUsingSni::new();
    for number in 0..names {
        resolver.add(&format!("host-{number}.hosts.example"), own.clone())?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(super::super::provider(provider)))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = format!("host-{}.hosts.example", names / 2).try_into()?;
    let mut client = ClientConnection::new(Arc::new(config), name)?;
    let mut wire = Vec::new();
    client.write_tls(&mut wire)?;
    let mut acceptor = Acceptor::default();
    acceptor.read_tls(&mut &wire[..])?;
    let accepted = acceptor.accept().map_err(|(error, _)| error)?;
    let accepted = accepted.ok_or("a part of a ClientHello")?;
    Ok(Box::new(move || {
        let found = resolver.resolve(black_box(&accepted).client_hello());
        black_box(found)
            .map(drop)
            .ok_or_else(|| "no certificate for a known name".into())
    }))
}
