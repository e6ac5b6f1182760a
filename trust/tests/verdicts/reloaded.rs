//! A judge whose roots are replaced while in use. With each set of roots it gives the same verdicts
//! as a judge that never had others. No session outlives its roots.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, process};

use harness::peers::configs::{Provider, Versions};
use harness::peers::pki;
use pki_types::CertificateDer;
use rustls_trust::{Reload, ReloadingClientVerifier, ReloadingServerVerifier, RootSource};

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{self, Case, named};
use crate::verdicts::ends::{Setup, Side};
use crate::verdicts::trial::{Sessions, Trial, Verifier, Who};

/// The file with the roots, removed on drop.
struct Roots(PathBuf);

impl Roots {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("trust-reloaded-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, roots: &[CertificateDer<'static>]) {
        let path = |number| -> PathBuf { Path::join(&self.0, format!("{number:03}")) };
        for entry in fs::read_dir(&self.0).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (number, root) in roots.iter().enumerate() {
            fs::write(path(number), root).unwrap();
        }
    }

    fn source(&self) -> RootSource {
        RootSource::Directory(self.0.clone())
    }
}

impl Drop for Roots {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A verifier and the function that reloads it.
fn reloading(setup: &Setup, roots: &Roots) -> (Verifier, Box<dyn Fn() -> Reload>) {
    let provider = Arc::new(setup.provider.this());
    macro_rules! reloading {
        ($reloading:ident, $verifier:ident) => {{
            let builder = $reloading::builder(roots.source(), provider);
            let verifier = builder.build().unwrap();
            let reloaded = verifier.clone();
            let reload = move || reloaded.reload().unwrap();
            (Verifier::$verifier(verifier), Box::new(reload))
        }};
    }
    match setup.side {
        Side::Client => reloading!(ReloadingServerVerifier, OfServers),
        Side::Server => reloading!(ReloadingClientVerifier, OfClients),
    }
}

fn cases() -> impl Iterator<Item = &'static Case> {
    cases::all()
        .iter()
        .filter(|case| case.trust.crls.is_empty() && !case.trust.roots.is_empty())
        .filter(|case| !case.presented.is_raw)
}

#[test]
fn only_the_current_roots_count() {
    let nobody = [pki::root("Nobody", |_| ()).der().clone()];
    for (name, provider, versions, side) in [
        ("a", Provider::Ring, Versions::Tls12, Side::Client),
        ("b", Provider::AwsLc, Versions::Tls13, Side::Client),
        ("c", Provider::AwsLc, Versions::Tls12, Side::Server),
        ("d", Provider::Ring, Versions::Tls13, Side::Server),
    ] {
        // a server verifies the certificates in its sessions again
        let setup = Setup::new(provider, versions, side, side == Side::Client);
        let full = Setup::new(provider, versions, side, false);
        let roots = Roots::new(name);
        roots.write(&nobody);
        let (verifier, reload) = reloading(&setup, &roots);
        let base = Trial::new(named("good"), &setup, Sessions::Sealed, &Caches::on());
        let trial = base.wrapped(named("good"), |_| verifier.clone());
        let mut accepted = 0;
        for case in cases() {
            let alone = Trial::new(case, &full, Sessions::Sealed, &Caches::Off);
            let expected = alone.connect(Who::Judge, &case.presented);

            let asking;
            let trial = if side == Side::Client {
                asking = trial.asking_for(&case.trust.server_name.to_str());
                &asking
            } else {
                &trial
            };
            setup.clock.set(case.now);
            roots.write(&case.trust.roots);
            assert_eq!(reload(), Reload::Replaced);
            let verdict = trial.connect(Who::Judge, &case.presented);
            assert_eq!(verdict, expected, "{}: {setup:?}", case.name);
            if verdict.is_accepted() && setup.resumes {
                accepted += 1;
                assert!(trial.connect(Who::Judge, &case.presented).is_resumed());
            }

            roots.write(&nobody);
            assert_eq!(reload(), Reload::Replaced);
            let verdict = trial.connect(Who::Judge, &case.presented);
            assert!(!verdict.is_accepted(), "{}: {verdict:?}", case.name);
        }
        assert!(accepted > 20 || !setup.resumes, "{accepted}");
    }
}
