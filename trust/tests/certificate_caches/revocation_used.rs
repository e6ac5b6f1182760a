//! Tests of handshakes with verifiers that use cached revocation lists.

use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{fs, thread};

use harness::peers::configs::{PROVIDERS, Provider, Versions};
use harness::peers::endpoints::exchange;
use harness::peers::pki::{crl, crl_of};
use rcgen::{CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope, date_time_ymd};
use rustls::certificates::RevocationList;
use rustls::client::WebPkiServerVerifier;
use rustls::server::WebPkiClientVerifier;
use rustls_trust::{CrlCache, CrlSource};

use crate::directory::Directory;
use crate::reload::kit::{Authority, Setup};

type Lists = Arc<[Arc<RevocationList>]>;

/// Returns a server's verdict on a client whose certificate from `ca` has this serial number, and a
/// client's verdict on such a server.
fn verdicts(ca: &Authority, provider: Provider, lists: &Lists, serial: u64) -> [Option<String>; 2] {
    let crypto = Arc::new(provider.this());
    let clients = WebPkiClientVerifier::builder_with_provider(ca.roots(), crypto.clone())
        .with_shared_crls(lists.iter().cloned())
        .build()
        .unwrap();
    let servers = WebPkiServerVerifier::builder_with_provider(ca.roots(), crypto)
        .with_shared_crls(lists.iter().cloned())
        .build()
        .unwrap();
    // the other side's certificate is always valid
    let [good, presented] = [1, serial].map(|serial| ca.issue_number(serial).certified(provider));
    let setup = Setup {
        provider,
        versions: Versions::Both,
        buffered: true,
    };
    [(&presented, &good), (&good, &presented)].map(|(of_client, of_server)| {
        let client = setup.client_config(servers.clone(), of_client.clone());
        let server = setup.server_config(clients.clone(), of_server.clone());
        exchange(&mut *setup.client(&client), &mut *setup.server(&server)).err()
    })
}

#[track_caller]
fn assert_refused(verdicts: [Option<String>; 2], why: &str) {
    for verdict in verdicts {
        let verdict = verdict.expect("accepted");
        assert!(verdict.contains(why), "{verdict}");
    }
}

const ACCEPTED: [Option<String>; 2] = [None, None];

/// An authority may publish lists of several scopes that cover one certificate. An older list of
/// another scope must not hide the newer one.
#[test]
fn the_newest_list_of_several_scopes_is_used() {
    let ca = Authority::new("Root");
    let older = crl(&ca.0, &[3], |_| ());
    let newer = crl(&ca.0, &[3, 4], |params| {
        params.this_update = date_time_ymd(2023, 6, 1);
        params.issuing_distribution_point = Some(CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint {
                uris: vec!["http://crl.example/".into()],
            },
            scope: Some(CrlScope::UserCertsOnly),
        });
    });

    for provider in PROVIDERS {
        let folder = Directory::of_old_files();
        let cache = CrlCache::new();
        let source = CrlSource::Directory(folder.as_ref().into());
        // in either order of the file names
        for (first, second) in [(&older, &newer), (&newer, &older)] {
            folder.write("1", first);
            folder.write("2", second);
            cache.clear();
            let lists = cache.lists(&source).unwrap();
            assert_eq!(lists.len(), 2);
            assert_refused(verdicts(&ca, provider, &lists, 4), "Revoked");
        }

        // nor does it if the old list replaces the file of the current one
        fs::remove_file(folder.path("2")).unwrap();
        cache.invalidate(&source);
        assert_eq!(cache.lists(&source).unwrap().len(), 1);
        folder.write("1", &older);
        let lists = cache.reload(&source).unwrap().lists;
        assert_eq!(lists.len(), 2);
        assert_refused(verdicts(&ca, provider, &lists, 4), "Revoked");
    }
}

#[test]
fn a_list_of_a_hundred_thousand_entries_is_parsed_once() {
    const ENTRIES: u64 = 100_000;
    const THREADS: usize = 8;

    let ca = Authority::new("Root");
    let der = crl_of(&ca.0, (1..=ENTRIES).map(|n| 2 * n), |_| ())
        .der()
        .clone();
    let folder = Directory::of_old_files();
    let source = CrlSource::File(folder.write("crl", &der));
    let cache = CrlCache::new().with_lifetime(Duration::MAX);

    // loaded on several paths and threads at once, it is parsed once
    let all_start = Barrier::new(THREADS);
    let load = || {
        all_start.wait();
        let alone = RevocationList::from_der(der.clone());
        (cache.lists(&source).unwrap(), alone.unwrap())
    };
    let lists = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(load));
        threads.map(|thread| thread.join().unwrap())
    });
    let (list, _) = &lists[0];
    for (cached, alone) in &lists {
        assert!(Arc::ptr_eq(&cached[0], &list[0]) && Arc::ptr_eq(alone, &list[0]));
    }

    for provider in PROVIDERS {
        for revoked in [2, ENTRIES, 2 * ENTRIES] {
            assert_refused(verdicts(&ca, provider, list, revoked), "Revoked");
        }
        for good in [3, ENTRIES + 1, 2 * ENTRIES + 2] {
            assert_eq!(verdicts(&ca, provider, list, good), ACCEPTED);
        }
    }
}
