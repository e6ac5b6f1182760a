//! Tests of configurations with shared caches, session storage and tickets but different trust.
//! Each applies its own trust.

use harness::peers::configs::Versions;
use harness::peers::roles::Role;

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::named;
use crate::verdicts::ends::Setup;
use crate::verdicts::trial::{Sessions, Trial, Who};

/// A peer alternates between a configuration that accepts it and one that rejects it.
#[test]
fn sessions_and_caches_keep_different_trust_settings_apart() {
    for (name, error) in [
        ("known to others", "UnknownIssuer"),
        ("known to others as namesakes", "BadSignature"),
        ("revoked", "Revoked"),
        ("revoked issuer", "Revoked"),
        ("unknown status", "UnknownRevocationStatus"),
        ("list of a namesake", "BadSignature"),
    ] {
        for resumes in [false, true] {
            for setup in Setup::all(resumes) {
                for sessions in [Sessions::Sealed, Sessions::Stored] {
                    refused_by_one(name, error, &setup, sessions);
                }
            }
        }
    }
}

fn refused_by_one(name: &str, error: &str, setup: &Setup, sessions: Sessions) {
    let (accepting, refusing) = (named("good"), named(name));
    let presented = &accepting.presented;
    let accepting = Trial::new(accepting, setup, sessions, &Caches::on());
    let refusing = accepting.sharing(refusing);
    for round in 0..3 {
        let verdict = accepting.connect(Who::Judge, presented);
        verdict.assert_accepted((name, setup));
        // sessions resume, unless the other configuration has used up the client's
        let resumes = round > 0 && setup.resumes && setup.side == Role::Server;
        assert!(!resumes || verdict.is_resumed(), "{name}, {setup:?}");

        let verdict = refusing.connect(Who::Judge, presented);
        verdict.assert_refused(error, (name, setup));
    }
}

/// Raw public keys and certificates are distinguished by more than their bytes.
#[test]
fn raw_keys_and_certificates_are_distinguished() {
    for resumes in [false, true] {
        for setup in Setup::all(resumes) {
            if setup.versions == Versions::Tls12 {
                continue;
            }
            let (raw, certificate) = (named("raw key"), named("a raw key as a certificate"));
            assert_eq!(raw.presented.chain, certificate.presented.chain);
            let trial = Trial::new(raw, &setup, Sessions::Stored, &Caches::on());
            let other = trial.sharing(certificate);
            for _ in 0..2 {
                let verdict = trial.connect(Who::Judge, &raw.presented);
                verdict.assert_accepted(&setup);
                let verdict = other.connect(Who::Judge, &certificate.presented);
                verdict.assert_refused("BadEncoding", &setup);
                let verdict = trial.connect(Who::Judge, &certificate.presented);
                assert!(!verdict.is_accepted() || verdict.is_resumed(), "{setup:?}");
            }
        }
    }
}
