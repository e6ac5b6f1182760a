use std::sync::Barrier;
use std::thread;
use std::vec::Vec;

use super::*;

fn certificate(number: u8) -> CertificateDer<'static> {
    CertificateDer::from([0, 1, 2, number].to_vec())
}

#[test]
fn equal_bytes_share_one_certificate() {
    let own = OwnCertificates::new(8);
    let (one, two) = (own.find(&certificate(1)), own.find(&certificate(2)));
    assert!(Arc::ptr_eq(&one, &own.find(&certificate(1))));
    assert!(Arc::ptr_eq(&two, &own.find(&certificate(2))));
    assert_eq!(*one.der(), certificate(1));
    assert_eq!(*two.der(), certificate(2));
}

#[test]
fn dropped_certificates_are_removed() {
    let own = OwnCertificates::new(8);
    let weak = Arc::downgrade(&own.find(&certificate(1)));
    assert!(weak.upgrade().is_none());
    assert_eq!(*own.find(&certificate(1)).der(), certificate(1));
}

/// The map keeps the memory of a dropped certificate until its entry is removed.
#[test]
fn a_dropped_certificate_keeps_little_memory() {
    let len = 2 * size_of::<usize>() + size_of::<Certificate>();
    assert!(len <= 64, "{len}");
}

/// Hashes can collide by chance, or because two certificates have equal ends.
#[test]
fn certificates_with_equal_hashes_stay_distinct() {
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
    // certificates beyond the capacity work, but are not shared
    assert_eq!(*own.find(&certificate(0)), *kept[0]);
    drop(kept);
    for number in 0..20 {
        own.find(&certificate(number));
    }
    assert!(len() <= 4);
}

#[test]
fn a_poisoned_lock_is_recovered() {
    let own = &OwnCertificates::new(8);
    let one = own.find(&certificate(1));
    let ended = thread::scope(|scope| {
        let panics = || {
            let _known = own.known.lock();
            panic!("expected panic");
        };
        scope.spawn(panics).join()
    });
    ended.unwrap_err();
    assert!(own.known.lock().is_none());
    assert!(Arc::ptr_eq(&one, &own.find(&certificate(1))));
}

#[test]
fn concurrent_threads_share_one_certificate() {
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

    use harness::peers::pki::{SERVER, key, leaf_of, root};
    use pki_types::{PrivatePkcs8KeyDer, ServerName};
    use rustls_core::provider::CryptoProvider;

    use super::*;
    use crate::certificates::reads;
    use crate::client::ClientConnection;
    use crate::config::client::ClientConfig;
    use crate::config::handshake_kind::HandshakeKind;
    use crate::config::resolver::server::ResolvesServerCert;
    use crate::config::server::ServerConfig;
    use crate::config::sign::{CertifiedKey, SingleCertAndKey};
    use crate::config::webpki::RootCertStore;
    use crate::conn::CommonState;
    use crate::error::Error;
    use crate::providers::any_provider;
    use crate::server::{ResolvesServerCertUsingSni, ServerConnection};

    /// Creates a certificate for [`SERVER`] that is valid now, and the store that trusts it.
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

    /// Creates both kinds of resolvers, which keep their certificates alive.
    fn resolvers(key: &CertifiedKey) -> [Arc<dyn ResolvesServerCert>; 2] {
        let mut by_name = ResolvesServerCertUsingSni::new();
        by_name.add(SERVER, key.clone()).unwrap();
        [
            Arc::new(SingleCertAndKey::from(key.clone())),
            Arc::new(by_name),
        ]
    }

    #[test]
    fn resolvers_keep_parsed_properties() {
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
    fn a_key_without_a_certificate_has_no_properties() {
        let (mut key, _) = certified_key(&any_provider());
        key.cert.clear();
        assert_eq!(
            key.certificate().unwrap_err(),
            Error::NoCertificatesPresented
        );
        // a resolver still accepts it
        let _ = SingleCertAndKey::from(key);
    }

    /// Exchanges all messages. Returns the number of certificates that the server parsed during
    /// this.
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

    /// Tests full and resumed handshakes, with tickets and stored sessions, in both versions, with
    /// OCSP stapling, and with compression if enabled.
    #[test]
    fn servers_never_parse_their_certificate() {
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
                        // check of the counter: the client does parse it
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
