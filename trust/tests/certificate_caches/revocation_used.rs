//! Handshakes with verifiers that use cached revocation lists.

use std::sync::{Arc, Barrier};
use std::time::Duration;
use std::{fs, thread};

use harness::peers::callbacks::Clock;
use harness::peers::configs::{PROVIDERS, Provider};
use harness::peers::endpoints::{ThisBuffered, exchange};
use harness::peers::pki::{Issuer, SERVER, crl, crl_of, key, leaf_of, root};
use rcgen::{
    CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope, KeyPair, SerialNumber,
    date_time_ymd,
};
use rustls::certificates::RevocationList;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer as Crl, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_trust::{CrlCache, CrlSource};

use crate::certificate_caches::kit::Folder;

type Lists = Arc<[Arc<RevocationList>]>;

/// An authority that issues certificates to both sides.
struct Pki {
    issuer: Issuer,
    key: KeyPair,
}

impl Pki {
    fn new(name: &str) -> Self {
        Self {
            issuer: root(name, |_| ()),
            key: key(),
        }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).unwrap();
        Arc::new(roots)
    }

    fn identity(&self, serial: u64) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let cert = leaf_of(&self.key, &self.issuer, |params| {
            params.serial_number = Some(SerialNumber::from(serial));
        });
        let key = self.key.serialize_der().try_into().unwrap();
        (vec![cert], key)
    }

    /// Returns a server's verdict on the client with this serial number, and a client's verdict on
    /// such a server.
    fn verdicts(&self, provider: Provider, lists: &Lists, serial: u64) -> [Option<String>; 2] {
        let [server, client] = [(); 2].map(|()| Arc::new(provider.this()));
        let client_verifier =
            WebPkiClientVerifier::builder_with_provider(self.roots(), server.clone())
                .with_shared_crls(lists.iter().cloned())
                .build()
                .unwrap();
        let server_verifier =
            WebPkiServerVerifier::builder_with_provider(self.roots(), client.clone())
                .with_shared_crls(lists.iter().cloned())
                .build()
                .unwrap();
        // the other side's certificate is always valid
        let good = self.identity(1);
        let presented = self.identity(serial);

        [true, false].map(|to_server| {
            let (of_client, of_server) = match to_server {
                true => (&presented, &good),
                false => (&good, &presented),
            };
            let server = ServerConfig::builder_with_provider(server.clone())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_client_cert_verifier(client_verifier.clone())
                .with_single_cert(of_server.0.clone(), of_server.1.clone_key())
                .unwrap();
            let client = ClientConfig::builder_with_provider(client.clone())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_webpki_verifier(server_verifier.clone())
                .with_client_auth_cert(of_client.0.clone(), of_client.1.clone_key())
                .unwrap();
            let mut client = ThisBuffered::client_of(SERVER.try_into().unwrap(), client);
            let mut server = ThisBuffered::server(server);
            exchange(&mut client, &mut server).err()
        })
    }
}

#[track_caller]
fn assert_refused(verdicts: [Option<String>; 2], why: &str) {
    for verdict in verdicts {
        let verdict = verdict.expect("accepted");
        assert!(verdict.contains(why), "{verdict}");
    }
}

const ACCEPTED: [Option<String>; 2] = [None, None];

#[test]
fn revoked_after_loading() {
    let pki = Pki::new("Root");
    let folder = Folder::new("crl-revoked-meanwhile");
    let clock = Clock::now();
    let cache = CrlCache::new().with_time_provider(clock.clone());
    let source = CrlSource::File(folder.path("crl"));

    for provider in PROVIDERS {
        cache.clear();
        folder.write("crl", crl(&pki.issuer, &[3], |_| ()));
        let before = cache.lists(&source).unwrap();
        assert_eq!(pki.verdicts(provider, &before, 4), ACCEPTED);
        assert_refused(pki.verdicts(provider, &before, 3), "Revoked");

        let newer = crl(&pki.issuer, &[3, 4], |params| {
            params.this_update = date_time_ymd(2023, 6, 1);
        });
        folder.write("crl", newer);
        clock.advance(60 * 60);
        let after = cache.lists(&source).unwrap();
        assert_refused(pki.verdicts(provider, &after, 4), "Revoked");
        // a verifier keeps the lists it was built with
        assert_eq!(pki.verdicts(provider, &before, 4), ACCEPTED);

        // an older list, no list or a damaged list does not reinstate the certificate
        let older: Crl<'_> = crl(&pki.issuer, &[], |_| ());
        for content in [&older[..], &[], &older[..older.len() - 1]] {
            folder.write("crl", content);
            clock.advance(60 * 60);
            let lists = cache.lists(&source).unwrap();
            assert!(Arc::ptr_eq(&lists[0], &after[0]));
            assert_refused(pki.verdicts(provider, &lists, 4), "Revoked");
        }
    }
}

#[test]
fn lists_of_other_authorities_do_not_count() {
    let [pki, other] = ["Root", "Other"].map(Pki::new);
    let namesake = Pki::new("Root");
    let folder = Folder::new("crl-of-others");
    let cache = CrlCache::new();
    let lists = |name: &str, issuer: &Issuer| {
        let path = folder.write(name, crl(issuer, &[3], |_| ()));
        cache.lists(&CrlSource::File(path)).unwrap()
    };

    for provider in PROVIDERS {
        let of_other = lists("other", &other.issuer);
        assert_refused(
            pki.verdicts(provider, &of_other, 4),
            "UnknownRevocationStatus",
        );
        let of_namesake = lists("namesake", &namesake.issuer);
        assert_refused(pki.verdicts(provider, &of_namesake, 4), "BadSignature");
    }
}

/// An authority may publish lists of several scopes that cover one certificate. An older list of
/// another scope must not bypass the newer one.
#[test]
fn the_newest_of_several_scopes() {
    let pki = Pki::new("Root");
    let older = crl(&pki.issuer, &[3], |_| ());
    let newer = crl(&pki.issuer, &[3, 4], |params| {
        params.this_update = date_time_ymd(2023, 6, 1);
        params.issuing_distribution_point = Some(CrlIssuingDistributionPoint {
            distribution_point: CrlDistributionPoint {
                uris: vec!["http://crl.example/".into()],
            },
            scope: Some(CrlScope::UserCertsOnly),
        });
    });

    for provider in PROVIDERS {
        let folder = Folder::new("crl-scopes");
        let cache = CrlCache::new();
        let source = CrlSource::Directory(folder.as_ref().into());
        // in either order of the file names
        for (first, second) in [(&older, &newer), (&newer, &older)] {
            folder.write("1", first);
            folder.write("2", second);
            cache.clear();
            let lists = cache.lists(&source).unwrap();
            assert_eq!(lists.len(), 2);
            assert_refused(pki.verdicts(provider, &lists, 4), "Revoked");
        }

        // nor does it if the old list replaces the current one's file
        fs::remove_file(folder.path("2")).unwrap();
        cache.invalidate(&source);
        assert_eq!(cache.lists(&source).unwrap().len(), 1);
        folder.write("1", &older);
        let lists = cache.reload(&source).unwrap().lists;
        assert_eq!(lists.len(), 2);
        assert_refused(pki.verdicts(provider, &lists, 4), "Revoked");
    }
}

#[test]
fn a_hundred_thousand_entries() {
    const ENTRIES: u64 = 100_000;
    const THREADS: usize = 8;

    let pki = Pki::new("Root");
    let der = crl_of(&pki.issuer, (1..=ENTRIES).map(|n| 2 * n), |_| ())
        .der()
        .clone();
    let folder = Folder::new("crl-long");
    let source = CrlSource::File(folder.write("crl", &der));
    let cache = CrlCache::new().with_lifetime(Duration::MAX);

    // loaded on several paths and threads at once, it is parsed once
    let barrier = Barrier::new(THREADS);
    let lists = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| {
                barrier.wait();
                let alone = RevocationList::from_der(der.clone());
                (cache.lists(&source).unwrap(), alone.unwrap())
            })
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let (list, _) = &lists[0];
    for (cached, alone) in &lists {
        assert!(Arc::ptr_eq(&cached[0], &list[0]) && Arc::ptr_eq(alone, &list[0]));
    }

    for provider in PROVIDERS {
        for revoked in [2, ENTRIES, 2 * ENTRIES] {
            assert_refused(pki.verdicts(provider, list, revoked), "Revoked");
        }
        for good in [3, ENTRIES + 1, 2 * ENTRIES + 2] {
            assert_eq!(pki.verdicts(provider, list, good), ACCEPTED);
        }
    }
}
