//! Tests of a judge whose roots are replaced while in use. With each set of roots, its verdicts are
//! the same as those of a judge that never had others. No session outlives its roots.

use std::sync::Arc;

use harness::peers::configs::{Provider, Versions};
use harness::peers::pki;
use harness::peers::roles::Role;
use rustls_trust::{Reload, ReloadingClientVerifier, ReloadingServerVerifier, RootSource};

use crate::directory::Directory;
use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{self, Case, named};
use crate::verdicts::ends::Setup;
use crate::verdicts::trial::{Sessions, Trial, Verifier, Who};

/// Creates a verifier and the function that reloads it.
fn reloading(setup: &Setup, roots: RootSource) -> (Verifier, Box<dyn Fn() -> Reload>) {
    let provider = Arc::new(setup.provider.this());
    macro_rules! reloading {
        ($reloading:ident, $verifier:ident) => {{
            let builder = $reloading::builder(roots, provider);
            let verifier = builder.build().unwrap();
            let reloaded = verifier.clone();
            let reload = move || reloaded.reload().unwrap();
            (Verifier::$verifier(verifier), Box::new(reload))
        }};
    }
    match setup.side {
        Role::Client => reloading!(ReloadingServerVerifier, OfServers),
        Role::Server => reloading!(ReloadingClientVerifier, OfClients),
    }
}

fn cases() -> impl Iterator<Item = &'static Case> {
    cases::all()
        .iter()
        .filter(|case| case.trust.crls.is_empty() && !case.trust.roots.is_empty())
        .filter(|case| !case.presented.is_raw)
}

#[test]
fn only_the_current_roots_are_trusted() {
    let nobody = [pki::root("Nobody", |_| ()).der().clone()];
    for (provider, versions, side) in [
        (Provider::Ring, Versions::Tls12, Role::Client),
        (Provider::AwsLc, Versions::Tls13, Role::Client),
        (Provider::AwsLc, Versions::Tls12, Role::Server),
        (Provider::Ring, Versions::Tls13, Role::Server),
    ] {
        // a server verifies the certificates in its sessions again
        let setup = Setup::new(provider, versions, side, side == Role::Client);
        let full = Setup::new(provider, versions, side, false);
        let directory = Directory::new();
        let (verifier, reload) = reloading(&setup, directory.replace_roots(&nobody));
        let base = Trial::new(named("good"), &setup, Sessions::Sealed, &Caches::on());
        let trial = base.wrapped(named("good"), |_| verifier.clone());
        let mut accepted = 0;
        for case in cases() {
            let alone = Trial::new(case, &full, Sessions::Sealed, &Caches::Off);
            let expected = alone.connect(Who::Judge, &case.presented);

            let named_trial;
            let trial = if side == Role::Client {
                named_trial = trial.with_server_name(&case.trust.server_name.to_str());
                &named_trial
            } else {
                &trial
            };
            setup.clock.set(case.now);
            directory.replace_roots(&case.trust.roots);
            assert_eq!(reload(), Reload::Replaced);
            let verdict = trial.connect(Who::Judge, &case.presented);
            assert_eq!(verdict, expected, "{}: {setup:?}", case.name);
            if verdict.is_accepted() && setup.resumes {
                accepted += 1;
                assert!(trial.connect(Who::Judge, &case.presented).is_resumed());
            }

            directory.replace_roots(&nobody);
            assert_eq!(reload(), Reload::Replaced);
            let verdict = trial.connect(Who::Judge, &case.presented);
            assert!(!verdict.is_accepted(), "{}: {verdict:?}", case.name);
        }
        assert!(accepted > 20 || !setup.resumes, "{accepted}");
    }
}
