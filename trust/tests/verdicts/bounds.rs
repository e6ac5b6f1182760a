//! Peers cannot make the caches exceed their limits, and rejected peers leave nothing behind.

use harness::peers::pki::{self, key, leaf_of};

use crate::verdicts::caches::Caches;
use crate::verdicts::cases::{Credential, named};
use crate::verdicts::ends::Setup;
use crate::verdicts::trial::{Sessions, Trial, Who};

/// Unknown peers, each with a certificate of its own.
fn strangers(count: usize) -> impl Iterator<Item = Credential> {
    let issuer = pki::root("Stranger", |_| ());
    let key = key();
    (0..count).map(move |_| Credential {
        is_raw: false,
        chain: vec![leaf_of(&key, &issuer, |_| ()), issuer.der().clone()],
        key: key.serialize_der(),
    })
}

#[test]
fn rejected_peers_leave_nothing_behind() {
    for setup in Setup::all(true) {
        let caches = Caches::on();
        let trial = Trial::new(named("good"), &setup, Sessions::Stored, &caches);
        for presented in strangers(40) {
            let verdict = trial.connect(Who::Judge, &presented);
            verdict.assert_refused("UnknownIssuer", &setup);
            assert!(verdict.peer_certificates.is_empty(), "{setup:?}");
        }
        // a peer with another's chain but without the key leaves nothing either
        let case = named("another's key");
        for _ in 0..3 {
            let verdict = trial.connect(Who::Judge, &case.presented);
            verdict.assert_refused("BadSignature", &setup);
        }
        let stats = caches.kept().chains.stats();
        assert_eq!((stats.entries, stats.bytes), (0, Some(0)), "{setup:?}");
        assert_eq!(stats.hits, 0, "{setup:?}");
        let verified = caches.kept().verified.stats();
        assert_eq!((verified.entries, verified.hits), (0, 0), "{setup:?}");
    }
}

#[test]
fn accepted_peers_evict_each_other() {
    const COUNT: usize = 60;
    for setup in Setup::all(false) {
        let caches = Caches::on();
        let trial = Trial::new(named("good"), &setup, Sessions::Stored, &caches);
        for presented in strangers(COUNT) {
            assert!(trial.connect(Who::Anybody, &presented).is_accepted());
        }
        let stats = caches.kept().chains.stats();
        assert!(
            stats.entries <= crate::verdicts::caches::CHAINS,
            "{stats:?}"
        );
        assert_eq!(stats.misses, COUNT as u64);
        assert!(stats.evictions > 0, "{stats:?}");
        assert!(stats.bytes > Some(0), "{stats:?}");

        // chains do not outlive their connections
        caches.close_all();
        assert_eq!(caches.kept().chains.stats().bytes, Some(0));
    }
}
