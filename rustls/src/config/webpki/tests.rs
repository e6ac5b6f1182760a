//! Verifiers compared with upstream's: both return the same results, down to the error texts.

mod certificates;
pub(crate) mod pki;
mod revocation;
mod roots;
mod rules;
mod signatures;
mod until;

use std::borrow::ToOwned;
use std::sync::Arc;
use std::vec::Vec;
use std::{format, vec};

use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls_upstream as theirs;

use self::pki::{Issuer, SERVER, now};
use crate as ours;
use crate::certificates::RevocationList;
use crate::error::Error;

// one body for two crates, because their types differ and share only the names

macro_rules! roots {
    ($lib:ident, $case:expr) => {{
        let mut roots = $lib::RootCertStore::empty();
        for root in &$case.roots {
            roots.add(root.clone()).unwrap();
        }
        Arc::new(roots)
    }};
}

macro_rules! with_revocation {
    ($builder:expr, $case:expr) => {{
        let mut builder = $builder;
        if $case.only_check_end_entity {
            builder = builder.only_check_end_entity_revocation();
        }
        if $case.allow_unknown_status {
            builder = builder.allow_unknown_revocation_status();
        }
        if $case.enforce_expiration {
            builder = builder.enforce_revocation_expiration();
        }
        builder
    }};
}

macro_rules! verify_server {
    ($lib:ident, $provider:expr, $case:expr) => {
        verify_server!($lib, $provider, $case, with_crls($case.crls.clone()))
    };
    ($lib:ident, $provider:expr, $case:expr, $with_crls:ident($crls:expr)) => {{
        use $lib::client::danger::ServerCertVerifier as _;

        let builder = $lib::client::WebPkiServerVerifier::builder_with_provider(
            roots!($lib, $case),
            $provider,
        );
        with_revocation!(builder.$with_crls($crls), $case)
            .build()
            .unwrap()
            .verify_server_cert(
                &$case.end_entity,
                &$case.intermediates,
                &$case.server_name,
                &[],
                $case.now,
            )
            .map(|_| ())
    }};
}

/// Uses the function for custom verifiers, which checks neither names nor revocation lists.
macro_rules! verify_chain_alone {
    ($lib:ident, $provider:expr, $case:expr) => {
        $lib::server::ParsedCertificate::try_from(&$case.end_entity).and_then(|end_entity| {
            $lib::client::verify_server_cert_signed_by_trust_anchor(
                &end_entity,
                &*roots!($lib, $case),
                &$case.intermediates,
                $case.now,
                $provider.signature_verification_algorithms.all,
            )
        })
    };
}

macro_rules! verify_client {
    ($lib:ident, $provider:expr, $case:expr) => {
        verify_client!($lib, $provider, $case, with_crls($case.crls.clone()))
    };
    ($lib:ident, $provider:expr, $case:expr, $with_crls:ident($crls:expr)) => {{
        let builder = $lib::server::WebPkiClientVerifier::builder_with_provider(
            roots!($lib, $case),
            $provider,
        );
        with_revocation!(builder.$with_crls($crls), $case)
            .build()
            .unwrap()
            .verify_client_cert(&$case.end_entity, &$case.intermediates, $case.now)
            .map(|_| ())
    }};
}

/// A peer's certificates, and the settings of the verifier that checks them.
#[derive(Clone)]
struct Case {
    end_entity: CertificateDer<'static>,
    intermediates: Vec<CertificateDer<'static>>,
    roots: Vec<CertificateDer<'static>>,
    server_name: ServerName<'static>,
    now: UnixTime,
    crls: Vec<CertificateRevocationListDer<'static>>,
    only_check_end_entity: bool,
    allow_unknown_status: bool,
    enforce_expiration: bool,
}

impl Case {
    /// Creates a case of `end_entity` and `intermediates` for [`SERVER`], with `root` as the trust
    /// anchor.
    fn new(end_entity: CertificateDer<'static>, intermediates: &[&Issuer], root: &Issuer) -> Self {
        Self {
            end_entity,
            intermediates: intermediates
                .iter()
                .map(|issuer| issuer.der().clone())
                .collect(),
            roots: vec![root.der().clone()],
            server_name: SERVER.try_into().unwrap(),
            now: now(),
            crls: Vec::new(),
            only_check_end_entity: false,
            allow_unknown_status: false,
            enforce_expiration: false,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Parses the lists for sharing, if there are any.
    fn shared_crls(&self) -> Option<Vec<Arc<RevocationList>>> {
        let parsed = |der: &CertificateRevocationListDer<'static>| {
            RevocationList::from_der(der.clone()).unwrap()
        };
        (!self.crls.is_empty()).then(|| self.crls.iter().map(parsed).collect())
    }

    /// Returns a client's result for a server with these certificates.
    ///
    /// All providers of this library and of upstream must agree.
    fn as_server(&self) -> Result<(), Error> {
        let verdicts = providers().map(|(our_provider, their_provider)| {
            let ours = verify_chain_alone!(ours, our_provider, self);
            let theirs = verify_chain_alone!(theirs, their_provider, self);
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));

            let ours = verify_server!(ours, our_provider.clone(), self);
            let theirs = verify_server!(theirs, their_provider, self);
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            if let Some(lists) = self.shared_crls() {
                let shared = verify_server!(ours, our_provider, self, with_shared_crls(lists));
                assert_eq!(format!("{ours:?}"), format!("{shared:?}"));
            }
            ours
        });
        the_only(verdicts)
    }

    /// Returns a server's result for a client with these certificates.
    ///
    /// All providers of this library and of upstream must agree.
    fn as_client(&self) -> Result<(), Error> {
        let verdicts = providers().map(|(our_provider, their_provider)| {
            let ours = verify_client!(ours, our_provider.clone(), self);
            let theirs = verify_client!(theirs, their_provider, self);
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            if let Some(lists) = self.shared_crls() {
                let shared = verify_client!(ours, our_provider, self, with_shared_crls(lists));
                assert_eq!(format!("{ours:?}"), format!("{shared:?}"));
            }
            ours
        });
        the_only(verdicts)
    }

    /// Returns the result for a peer with these certificates, which must be the same for both
    /// sides.
    fn as_either(&self) -> Result<(), Error> {
        the_only([self.as_server(), self.as_client()].into_iter())
    }
}

/// Returns the value of `verdicts`, which must all be equal.
fn the_only(verdicts: impl Iterator<Item = Result<(), Error>>) -> Result<(), Error> {
    verdicts
        .reduce(|one, other| {
            // providers differ in their lists of supported algorithms
            let kind = |verdict: &Result<(), Error>| match verdict {
                Ok(()) => "Ok".to_owned(),
                Err(err) => format!("{err:?}")
                    .split("supported_algorithms")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            };
            assert_eq!(kind(&one), kind(&other));
            one
        })
        .unwrap()
}

/// Iterates over our available providers, each with its upstream counterpart.
pub(super) fn providers() -> impl Iterator<
    Item = (
        Arc<ours::crypto::CryptoProvider>,
        Arc<theirs::crypto::CryptoProvider>,
    ),
> {
    [
        #[cfg(feature = "aws_lc_rs")]
        (
            Arc::new(ours::crypto::aws_lc_rs::default_provider()),
            Arc::new(theirs::crypto::aws_lc_rs::default_provider()),
        ),
        #[cfg(feature = "ring")]
        (
            Arc::new(ours::crypto::ring::default_provider()),
            Arc::new(theirs::crypto::ring::default_provider()),
        ),
    ]
    .into_iter()
}
