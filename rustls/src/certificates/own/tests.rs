use std::sync::Barrier;
use std::thread;
use std::vec::Vec;

use super::*;

fn certificate(number: u8) -> CertificateDer<'static> {
    CertificateDer::from([0, 1, 2, number].to_vec())
}

#[test]
fn the_same_bytes_are_the_same_certificate() {
    let own = OwnCertificates::new(8);
    let (one, two) = (own.find(&certificate(1)), own.find(&certificate(2)));
    assert!(Arc::ptr_eq(&one, &own.find(&certificate(1))));
    assert!(Arc::ptr_eq(&two, &own.find(&certificate(2))));
    assert_eq!(*one.der(), certificate(1));
    assert_eq!(*two.der(), certificate(2));
}

#[test]
fn what_nobody_has_is_not_kept() {
    let own = OwnCertificates::new(8);
    let weak = Arc::downgrade(&own.find(&certificate(1)));
    assert!(weak.upgrade().is_none());
    assert_eq!(*own.find(&certificate(1)).der(), certificate(1));
}

/// Whether by chance, or because somebody has two certificates that end alike.
#[test]
fn one_hash_for_different_bytes() {
    let own = OwnCertificates::new(8);
    let one = own.find_by(7, &certificate(1));
    let two = own.find_by(7, &certificate(2));
    assert_eq!(*two.der(), certificate(2));
    assert!(Arc::ptr_eq(&one, &own.find_by(7, &certificate(1))));
    drop((one, two));
    let two = own.find_by(7, &certificate(2));
    assert!(Arc::ptr_eq(&two, &own.find_by(7, &certificate(2))));
}

#[test]
fn the_map_is_bounded() {
    let own = OwnCertificates::new(4);
    let len = || own.known.lock().unwrap().values().count();
    let kept: Vec<_> = (0..20)
        .map(|number| own.find(&certificate(number)))
        .collect();
    assert_eq!(len(), 4);
    // those beyond are as good, and not shared
    assert_eq!(*own.find(&certificate(0)), *kept[0]);
    drop(kept);
    for number in 0..20 {
        own.find(&certificate(number));
    }
    assert!(len() <= 4);
}

#[test]
fn poisoned_lock() {
    let own = &OwnCertificates::new(8);
    let one = own.find(&certificate(1));
    let ended = thread::scope(|scope| {
        let panics = || {
            let _known = own.known.lock();
            panic!("this is meant to happen");
        };
        scope.spawn(panics).join()
    });
    ended.unwrap_err();
    assert!(own.known.lock().is_none());
    assert!(Arc::ptr_eq(&one, &own.find(&certificate(1))));
}

#[test]
fn threads_that_ask_at_once_get_one_and_the_same() {
    const THREADS: usize = 16;
    let own = &OwnCertificates::new(8);
    let barrier = &Barrier::new(THREADS);
    let found: Vec<_> = thread::scope(|scope| {
        let find = || {
            barrier.wait();
            own.find(&certificate(1))
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(find)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(found.iter().all(|one| Arc::ptr_eq(one, &found[0])));
}

#[cfg(any(feature = "aws_lc_rs", feature = "ring"))]
mod keys {
    use std::vec;

    use harness::pki::{SERVER, key, leaf_of, root};
    use pki_types::{PrivatePkcs8KeyDer, ServerName};

    use super::*;
    use crate::certificates::reads;
    use crate::client::{ClientConfig, ClientConnection};
    use crate::conn::{CommonState, HandshakeKind};
    use crate::crypto::{CryptoProvider, any_provider};
    use crate::error::Error;
    use crate::server::{
        ResolvesServerCert, ResolvesServerCertUsingSni, ServerConfig, ServerConnection,
    };
    use crate::sign::SingleCertAndKey;
    use crate::webpki::RootCertStore;

    /// A certificate of [`SERVER`], valid now, and the store that trusts it.
    fn certified_key(provider: &CryptoProvider) -> (CertifiedKey, RootCertStore) {
        let lasting = |params: &mut rcgen::CertificateParams| {
            params.not_after = rcgen::date_time_ymd(4000, 1, 1);
        };
        let root = root("root", lasting);
        let key = key();
        let chain = vec![leaf_of(&key, &root, lasting)];
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).unwrap();
        let mut key = CertifiedKey::from_der(chain, key.into(), provider).unwrap();
        key.ocsp = Some(b"response".to_vec());
        (key, roots)
    }

    /// Both resolvers, and what keeps the certificates that they have.
    fn resolvers(key: &CertifiedKey) -> [Arc<dyn ResolvesServerCert>; 2] {
        let mut by_name = ResolvesServerCertUsingSni::new();
        by_name.add(SERVER, key.clone()).unwrap();
        [
            Arc::new(SingleCertAndKey::from(key.clone())),
            Arc::new(by_name),
        ]
    }

    #[test]
    fn a_resolver_keeps_what_was_read() {
        let (key, _) = certified_key(&any_provider());
        for index in 0..2 {
            let resolver = resolvers(&key)[index].clone();
            let weak = Arc::downgrade(&key.certificate().unwrap());
            let kept = weak.upgrade().unwrap();
            let subject: *const _ = kept.subject().unwrap();
            drop(kept);
            // another key with the same certificate
            let again = key.clone().certificate().unwrap();
            assert_eq!(subject, core::ptr::from_ref(again.subject().unwrap()));
            drop((again, resolver));
            assert!(weak.upgrade().is_none());
        }
    }

    #[test]
    fn a_key_without_certificate_has_none() {
        let (mut key, _) = certified_key(&any_provider());
        key.cert.clear();
        assert_eq!(
            key.certificate().unwrap_err(),
            Error::NoCertificatesPresented
        );
        // and a resolver takes it as before
        let _ = SingleCertAndKey::from(key);
    }

    /// Moves all there is to move; how often the server read certificates meanwhile.
    fn handshake(client: &mut ClientConnection, server: &mut ServerConnection) -> usize {
        let mut reads_of_server = 0;
        while client.wants_write() || server.wants_write() {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            let mut bytes = &bytes[..];
            let before = reads::count();
            while !bytes.is_empty() {
                server.read_tls(&mut bytes).unwrap();
                server.process_new_packets().unwrap();
            }
            let mut bytes = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            reads_of_server += reads::count() - before;
            let mut bytes = &bytes[..];
            while !bytes.is_empty() {
                client.read_tls(&mut bytes).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        let is_done = |state: &CommonState| !state.is_handshaking();
        assert!(is_done(client) && is_done(server));
        reads_of_server
    }

    /// Full and resumed, by tickets and by stored sessions, in either version; stapled, and compressed where the
    /// crate's features have compression.
    #[test]
    fn no_handshake_reads_the_servers_certificate() {
        let provider = Arc::new(any_provider());
        let (key, roots) = certified_key(&provider);
        let roots = Arc::new(roots);
        for version in crate::ALL_VERSIONS {
            for resolver in resolvers(&key) {
                for has_tickets in [false, true] {
                    let mut server = ServerConfig::builder_with_provider(provider.clone())
                        .with_protocol_versions(&[version])
                        .unwrap()
                        .with_no_client_auth()
                        .with_cert_resolver(resolver.clone());
                    if has_tickets {
                        server.ticketer = new_ticketer();
                    }
                    let server = Arc::new(server);
                    let client = ClientConfig::builder_with_provider(provider.clone())
                        .with_protocol_versions(&[version])
                        .unwrap()
                        .with_root_certificates(roots.clone())
                        .with_no_client_auth();
                    let client = Arc::new(client);
                    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
                        let name = ServerName::try_from(SERVER).unwrap();
                        let mut client = ClientConnection::new(client.clone(), name).unwrap();
                        let mut server = ServerConnection::new(server.clone()).unwrap();
                        let before = reads::count();
                        assert_eq!(handshake(&mut client, &mut server), 0);
                        assert_eq!(client.handshake_kind(), Some(kind));
                        // the count counts: the client reads it
                        assert_eq!(reads::count() > before, kind == HandshakeKind::Full);
                    }
                }
            }
        }
    }

    fn new_ticketer() -> Arc<dyn crate::server::ProducesTickets> {
        #[cfg(feature = "aws_lc_rs")]
        return crate::crypto::aws_lc_rs::Ticketer::new().unwrap();
        #[cfg(not(feature = "aws_lc_rs"))]
        return crate::crypto::ring::Ticketer::new().unwrap();
    }
}
