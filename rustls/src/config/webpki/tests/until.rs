//! The time until which an acceptance holds.

use core::pin::pin;
use std::sync::Arc;
use std::vec::Vec;
use std::{format, vec};

use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rcgen::{CertificateParams, date_time_ymd};

use super::pki::{Issuer, at, crl, intermediate, leaf, now, root};
use super::providers;
use crate::RootCertStore;
use crate::callbacks::{Callbacks, run_sync};
use crate::certificates::VerifiedChains;
use crate::client::danger::ServerCertVerifier;
use crate::config::webpki::{WebPkiClientVerifier, WebPkiServerVerifier};
use crate::handshake::peer_auth::{ChainCheck, ClientVerifier};
use crate::server::danger::ClientCertVerifier;

/// The first second after the validity of all certificates.
const END: u64 = 1_893_456_001;
/// 1 January of a year.
const Y2026: u64 = 1_767_225_600;
const Y2027: u64 = 1_798_761_600;

struct Case {
    root: Issuer,
    end_entity: CertificateDer<'static>,
    intermediates: Vec<CertificateDer<'static>>,
    crls: Vec<CertificateRevocationListDer<'static>>,
    enforces_expiry: bool,
}

impl Case {
    /// Creates a chain with one intermediate.
    fn new(
        of_intermediate: impl FnOnce(&mut CertificateParams),
        of_leaf: impl FnOnce(&mut CertificateParams),
    ) -> Self {
        let root = root("Root", |_| ());
        let intermediate = intermediate("Intermediate", &root, of_intermediate);
        Self {
            end_entity: leaf(&intermediate, of_leaf),
            intermediates: vec![intermediate.der().clone()],
            crls: Vec::new(),
            enforces_expiry: false,
            root,
        }
    }

    /// Adds a certificate that is not on the path.
    fn with_stray(mut self, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let other = root("Other", |_| ());
        let stray = intermediate("Stray", &other, change);
        self.intermediates.push(stray.der().clone());
        self
    }

    /// Adds a list that expires at the start of `year`.
    fn with_list(mut self, year: i32) -> Self {
        let list = crl(&self.root, &[], |params| {
            params.this_update = date_time_ymd(2021, 1, 1);
            params.next_update = date_time_ymd(year, 1, 1);
        });
        self.crls.push(list);
        self
    }

    fn enforcing(mut self) -> Self {
        self.enforces_expiry = true;
        self
    }

    fn verifiers(&self) -> impl Iterator<Item = Arc<dyn ClientCertVerifier>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.der().clone()).unwrap();
        let roots = Arc::new(roots);
        providers().map(move |(provider, _)| {
            let builder = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider)
                .with_crls(self.crls.clone())
                .allow_unknown_revocation_status();
            let builder = match self.enforces_expiry {
                true => builder.enforce_revocation_expiration(),
                false => builder,
            };
            builder.build().unwrap()
        })
    }

    /// Returns the end of the acceptance at the time `now`, in seconds since 1970. `None` if it
    /// must not be relied on.
    fn until(&self, now: UnixTime) -> Option<u64> {
        let mut ends = self.verifiers().map(|verifier| {
            let (end_entity, chain) = (&self.end_entity, &self.intermediates);
            let proof = verifier.verify_client_cert(end_entity, chain, now).unwrap();
            proof.0.until().map(|end| end.as_secs())
        });
        let end = ends.next().unwrap();
        assert!(ends.all(|other| other == end));
        end
    }

    /// True if all verifiers accept the chain at the time `now`, and later handshakes rely on it.
    fn is_kept(&self, now: UnixTime) -> bool {
        let certificates = [&self.end_entity].into_iter().chain(&self.intermediates);
        let chain: Vec<_> = certificates.cloned().collect();
        self.verifiers().all(|verifier| {
            let known = VerifiedChains::default();
            let check = ChainCheck::new(ClientVerifier(&*verifier), &known, Callbacks::Sync);
            let verified = run_sync(pin!(check.verify_unless_accepted(&chain, None, now)));
            verified.unwrap().unwrap().is_some()
        })
    }

    fn is_accepted(&self, now: UnixTime) -> bool {
        self.verifiers().all(|verifier| {
            let (end_entity, chain) = (&self.end_entity, &self.intermediates);
            verifier.verify_client_cert(end_entity, chain, now).is_ok()
        })
    }
}

fn nothing<T>(_: &mut T) {}

fn expires_in(year: i32) -> impl FnOnce(&mut CertificateParams) {
    move |params| params.not_after = date_time_ymd(year, 1, 1)
}

fn starts_in(year: i32) -> impl FnOnce(&mut CertificateParams) {
    move |params| params.not_before = date_time_ymd(year, 1, 1)
}

#[test]
fn an_acceptance_ends_with_the_first_change_of_the_path() {
    for (what, case, end) in [
        ("no other dates", Case::new(nothing, nothing), END),
        ("leaf", Case::new(nothing, expires_in(2026)), Y2026 + 1),
        ("issuer", Case::new(expires_in(2026), nothing), Y2026 + 1),
        (
            "both",
            Case::new(expires_in(2027), expires_in(2026)),
            Y2026 + 1,
        ),
        (
            "list",
            Case::new(nothing, nothing).with_list(2026).enforcing(),
            Y2026,
        ),
        (
            "leaf before list",
            Case::new(nothing, expires_in(2026))
                .with_list(2027)
                .enforcing(),
            Y2026 + 1,
        ),
    ] {
        assert_eq!(case.until(now()), Some(end), "{what}");
        for time in [now().as_secs(), end - 1] {
            assert!(case.is_accepted(at(time)), "{what}: {time}");
            assert_eq!(case.until(at(time)), Some(end), "{what}: {time}");
            assert!(case.is_kept(at(time)), "{what}: {time}");
        }
        assert!(!case.is_accepted(at(end)), "{what}");
    }
}

#[test]
fn a_list_whose_expiry_is_ignored_does_not_end_an_acceptance() {
    let case = Case::new(nothing, expires_in(2027)).with_list(2026);
    assert_eq!(case.until(now()), Some(Y2027 + 1));
    assert!(case.is_accepted(at(Y2026)));
}

/// A certificate off the path may become part of another one when its validity changes.
#[test]
fn certificates_off_the_path_may_end_an_acceptance() {
    let case = || Case::new(nothing, expires_in(2027));
    for (what, case, end) in [
        ("expires", case().with_stray(expires_in(2026)), Y2026 + 1),
        ("starts", case().with_stray(starts_in(2026)), Y2026),
        ("expired", case().with_stray(expires_in(2022)), Y2027 + 1),
    ] {
        assert_eq!(case.until(now()), Some(end), "{what}");
    }
    let mut unreadable = case();
    unreadable.intermediates.push(CertificateDer::from(vec![7]));
    assert_eq!(unreadable.until(now()), None);
    assert!(!unreadable.is_kept(now()));
}

/// The second list is never used, because the first one covers the same certificates. Its expiry
/// still ends the acceptance.
#[test]
fn the_expiry_of_any_list_ends_an_acceptance() {
    let case = |second| {
        Case::new(nothing, nothing)
            .with_list(2027)
            .with_list(second)
            .enforcing()
    };
    assert_eq!(case(2026).until(now()), Some(Y2026));
    assert_eq!(case(2022).until(now()), None, "expired");
    assert_eq!(case(2026).until(at(Y2026)), None, "expires now");
    assert!(case(2026).is_accepted(at(Y2026)));
    assert!(case(2022).is_accepted(now()));
    assert!(!case(2022).is_kept(now()));
}

/// The server's verifier returns the same end. Neither verifier prints it, as in rustls 0.23.
#[test]
fn verifiers_of_both_sides_return_the_end_of_the_acceptance() {
    let case = Case::new(nothing, expires_in(2026));
    let mut roots = RootCertStore::empty();
    roots.add(case.root.der().clone()).unwrap();
    let roots = Arc::new(roots);
    for (provider, _) in providers() {
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone());
        let verifier = verifier.build().unwrap();
        let name = super::SERVER.try_into().unwrap();
        let (end_entity, chain) = (&case.end_entity, &case.intermediates);
        let proof = verifier
            .verify_server_cert(end_entity, chain, &name, &[], now())
            .unwrap();
        assert_eq!(proof.0.until().unwrap().as_secs(), Y2026 + 1);
        assert_eq!(format!("{proof:?}"), "ServerCertVerified(())");
        for client in case.verifiers() {
            let proof = client.verify_client_cert(end_entity, chain, now()).unwrap();
            assert_eq!(format!("{proof:?}"), "ClientCertVerified(())");
            assert_ne!(client.rules(), verifier.rules(), "the usages differ");
        }
    }
}
