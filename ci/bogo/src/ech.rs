//! Encrypted ClientHello of a client: its options, and the checks for a server that rejects it.

use rustls::client::{EchConfig, EchConfigPayload, EchGreaseConfig, EchMode};
use rustls::crypto::hpke::Hpke;
use rustls::version::TLS13;
use rustls::{EncryptedClientHelloError, Error, PeerIncompatible};

use crate::exchange::UNNAMED;
use crate::failure::Failure;
use crate::observed::Observed;
use crate::options::Options;
use crate::provider::versions;

/// Returns how a client encrypts its ClientHello with one of `suites`, or pretends to; `None` if it
/// does neither.
pub(crate) fn mode(
    options: &Options,
    suites: &'static [&'static dyn Hpke],
) -> Result<Option<EchMode>, Failure> {
    let ech = &options.ech;
    if ech.rejects_unusable && (ech.config_list.is_none() || !versions(options).contains(&&TLS13)) {
        return Err(Failure::Unsupported(
            "where ECH cannot be used at all the application has to refuse".into(),
        ));
    }
    if ech.config_list.is_none() && !ech.grease {
        return Ok(None);
    }
    let Some(&suite) = suites.first() else {
        return Err(Failure::Unsupported("HPKE".into()));
    };
    if let Some(list) = &ech.config_list {
        match EchConfig::new(list.as_slice().into(), suites) {
            Ok(config) => return Ok(Some(config.into())),
            // the application may continue without ECH
            Err(Error::InvalidEncryptedClientHello(
                EncryptedClientHelloError::NoCompatibleConfig,
            )) if !ech.rejects_unusable => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !ech.grease {
        return Ok(None);
    }
    let (placeholder_key, _) = suite.generate_key_pair()?;
    Ok(Some(EchGreaseConfig::new(suite, placeholder_key).into()))
}

/// Checks a connection that failed because the server rejected Encrypted ClientHello.
pub(crate) fn check_rejection(
    options: &Options,
    failure: &Failure,
    observed: &Observed,
) -> Result<(), Failure> {
    let Failure::Tls(Error::PeerIncompatible(
        PeerIncompatible::ServerRejectedEncryptedClientHello(configs),
    )) = failure
    else {
        return Ok(());
    };
    let got = configs.as_ref().map(|configs| {
        let mut list = Vec::new();
        EchConfigPayload::encode_list(configs, &mut list);
        list
    });
    let expect = &options.expect;
    if expect.no_ech_retry_configs && got.is_some()
        || expect.ech_retry_configs.is_some() && expect.ech_retry_configs != got
    {
        let wanted = &expect.ech_retry_configs;
        return Err(Failure::expected("retry configs", wanted, got));
    }
    check_name(options, observed)
}

/// Checks that a certificate was verified for the expected name.
pub(crate) fn check_name(options: &Options, observed: &Observed) -> Result<(), Failure> {
    let own = options.host_name.as_deref().unwrap_or(UNNAMED);
    let expect = &options.expect;
    let wanted = match &expect.ech_name_override {
        Some(other) => other,
        None if expect.no_ech_name_override => own,
        None => return Ok(()),
    };
    match &observed.verdict {
        Some(verdict) if verdict.name.as_deref() != Some(wanted) => Err(Failure::expected(
            "name in the certificate",
            wanted,
            &verdict.name,
        )),
        _ => Ok(()),
    }
}
