use alloc::vec::Vec;
use core::time::Duration;
use std::format;

use pki_types::CertificateDer;

use super::*;
use crate::certificates::ChainKind;
use crate::client::WebPkiServerVerifier;
use crate::config::sign::CertifiedKey;
use crate::config::webpki::RootCertStore;
use crate::enums::SignatureScheme;
use crate::keys::tls12::SessionSecret;
#[cfg(feature = "tls12")]
use crate::msgs::client_hello::SessionId;
use crate::providers::any_provider;

fn suite() -> &'static Tls13CipherSuite {
    any_provider().cipher_suites[0].tls13().unwrap()
}

#[derive(Debug)]
struct NoCertificate;

impl ResolvesClientCert for NoCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

fn verifier() -> Arc<dyn ServerCertVerifier> {
    Arc::new(WebPkiServerVerifier::without_revocation(
        Arc::new(RootCertStore::empty()),
        &any_provider(),
    ))
}

fn at(secs: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(secs))
}

/// Creates the shared part of a session that was verified and received at 1000 seconds.
fn common(
    verifier: &Arc<dyn ServerCertVerifier>,
    client_auth: &Arc<dyn ResolvesClientCert>,
    lifetime_secs: u32,
) -> ClientSessionCommon {
    let chain = [CertificateDer::from(&b"certificate"[..])];
    ClientSessionCommon::new(
        PeerChain::new(ChainKind::X509, chain),
        verifier,
        client_auth,
        Verification::new(at(1_000), None).unwrap(),
        at(1_000),
        lifetime_secs,
    )
}

fn lasting(lifetime_secs: u32) -> ClientSessionCommon {
    let client_auth: Arc<dyn ResolvesClientCert> = Arc::new(NoCertificate);
    common(&verifier(), &client_auth, lifetime_secs)
}

/// Creates a session that is identified by its age_add.
fn session(age_add: u32) -> Tls13ClientSessionValue {
    Tls13ClientSessionValue::new(
        lasting(3600),
        suite(),
        &OkmBlock::new(&[0xab; 32]),
        &[1, 2, 3],
        None,
        age_add,
        0,
    )
}

#[cfg(feature = "tls12")]
fn tls12_session() -> Tls12ClientSessionValue {
    let suites = any_provider().cipher_suites;
    let suite = suites.iter().find_map(|suite| suite.tls12()).unwrap();
    let id = SessionId::from([7; 32]);
    Tls12ClientSessionValue::new(
        lasting(3600),
        suite,
        id,
        Some([1, 2, 3].into()),
        SessionSecret::copy(&[0xab; 48]),
        true,
    )
}

#[cfg(feature = "tls12")]
#[test]
fn a_session_is_resumable_if_it_has_an_id_or_a_ticket() {
    let mut session = tls12_session();
    assert!(session.is_resumable());
    assert_eq!(session.ticket(), Some(&[1, 2, 3][..]));
    session.drop_ticket();
    assert_eq!(session.ticket(), None);
    assert!(session.is_resumable());

    let common = session.common().clone();
    let secret = session.master_secret();
    let without_id = |ticket| {
        let none = SessionId::EMPTY;
        let (common, secret) = (common.clone(), secret.clone());
        Tls12ClientSessionValue::new(common, session.suite(), none, ticket, secret, false)
    };
    assert!(without_id(Some([1].into())).is_resumable());
    assert!(!without_id(None).is_resumable());
}

#[cfg(feature = "tls12")]
#[test]
fn the_master_secret_is_not_printed() {
    let printed = format!("{:?}", tls12_session());
    assert!(printed.contains("ticket_len: Some(3)"), "{printed}");
    // 0xab
    assert!(
        !printed.contains("171") && !printed.contains("ab, ab"),
        "{printed}"
    );
}

fn server(number: usize) -> ServerName<'static> {
    format!("server-{number}.example").try_into().unwrap()
}

#[test]
fn the_cache_returns_the_newest_session_first_and_once() {
    let store = ClientSessionMemoryCache::new(256);
    for number in 0..11 {
        store.insert_tls13_ticket(server(0), session(number));
    }
    store.insert_tls13_ticket(server(1), session(99));

    for number in (3..11).rev() {
        let session = store.take_tls13_ticket(&server(0)).unwrap();
        assert_eq!(session.age_add, number);
    }
    assert!(store.take_tls13_ticket(&server(0)).is_none());
    assert!(store.take_tls13_ticket(&server(1)).is_some());
    assert!(store.take_tls13_ticket(&server(2)).is_none());
}

#[test]
fn the_cache_is_limited_to_eight_sessions_per_server() {
    for (size, servers) in [(0, 0), (1, 1), (8, 1), (9, 2), (17, 3), (256, 32)] {
        let store = ClientSessionMemoryCache::new(size);
        for number in 0..100 {
            store.set_kx_hint(server(number), NamedGroup::X25519);
        }
        let kept = (0..100)
            .filter(|number| store.kx_hint(&server(*number)).is_some())
            .collect::<Vec<_>>();
        assert_eq!(kept, (100 - servers..100).collect::<Vec<_>>());
    }
}

#[test]
fn groups_and_sessions_of_a_server_are_independent() {
    let store = ClientSessionMemoryCache::new(256);
    assert_eq!(store.kx_hint(&server(0)), None);

    store.set_kx_hint(server(0), NamedGroup::X25519);
    store.set_kx_hint(server(0), NamedGroup::secp256r1);
    assert_eq!(store.kx_hint(&server(0)), Some(NamedGroup::secp256r1));
    assert_eq!(store.kx_hint(&server(1)), None);
    assert_eq!(
        store.kx_hint(&"SERVER-0.example".try_into().unwrap()),
        Some(NamedGroup::secp256r1)
    );

    store.insert_tls13_ticket(server(0), session(0));
    #[cfg(feature = "tls12")]
    {
        store.set_tls12_session(server(0), tls12_session());
        assert!(store.tls12_session(&server(0)).is_some());
        store.remove_tls12_session(&server(0));
        assert!(store.tls12_session(&server(0)).is_none());
    }
    assert!(store.take_tls13_ticket(&server(0)).is_some());
    assert_eq!(store.kx_hint(&server(0)), Some(NamedGroup::secp256r1));
}

#[test]
fn disabled_resumption_has_no_store() {
    let Resumption {
        store,
        tls12_resumption,
    } = Resumption::disabled();
    assert_eq!(tls12_resumption, Tls12Resumption::Disabled);
    assert!(store.is_none());
}

#[test]
fn resumption_is_in_memory_by_default() {
    let default = Resumption::default();
    assert_eq!(
        default.tls12_resumption,
        Tls12Resumption::SessionIdOrTickets
    );
    let store = default.store.clone().unwrap();
    store.set_kx_hint(server(0), NamedGroup::X25519);
    assert!(store.kx_hint(&server(0)).is_some());

    let ids = default.tls12_resumption(Tls12Resumption::SessionIdOnly);
    assert_eq!(ids.tls12_resumption, Tls12Resumption::SessionIdOnly);
    assert!(ids.store.unwrap().kx_hint(&server(0)).is_some());
}

#[test]
fn sessions_last_at_most_a_week() {
    for (lifetime, week) in [
        (604_799, 604_799),
        (604_801, 604_800),
        (u32::MAX, 604_800),
        (0, 0),
    ] {
        let common = lasting(lifetime);
        assert!(common.has_expired(at(1_000 + week)), "{lifetime}");
        assert_eq!(
            common.has_expired(at(1_000 + week.saturating_sub(1))),
            week == 0
        );
        assert!(common.has_expired(at(u64::MAX)));
    }
    // received after the clock was set back
    let mut common = lasting(u32::MAX);
    common.received_at = at(500);
    assert!(common.has_expired(at(500 + 604_800)));
}

/// The real age is unknown if the clock was set back by more than the lifetime, so the session
/// expires.
#[test]
fn a_clock_that_is_set_back_a_little_does_not_expire_sessions() {
    let common = lasting(60);
    assert_eq!(common.age_secs(at(1_003)), 3);
    assert_eq!(common.age_secs(at(999)), 0);
    assert_eq!(common.age_secs(at(0)), 0);
    assert!(!common.has_expired(at(999)));
    assert!(!common.has_expired(at(941)));
    assert!(common.has_expired(at(940)));
    assert!(common.has_expired(at(0)));
}

#[test]
fn a_verification_holds_until_its_end_and_at_most_a_week() {
    for (until, lifetime) in [
        (None, Some(604_800)),
        (Some(0), None),
        (Some(999), None),
        (Some(1_000), None),
        (Some(1_001), Some(1)),
        (Some(1_000 + 604_799), Some(604_799)),
        (Some(1_000 + 604_801), Some(604_800)),
        (Some(1_000 + (1 << 32)), Some(604_800)),
        (Some(u64::MAX), Some(604_800)),
    ] {
        let verification = Verification::new(at(1_000), until.map(at));
        let lifetime_secs = verification.map(|it| it.lifetime_secs.get());
        assert_eq!(lifetime_secs, lifetime, "{until:?}");
        assert!(verification.is_none_or(|it| it.at.as_secs() == 1_000));
    }
}

#[test]
fn a_session_expires_no_later_than_its_verification() {
    // received at 1000
    let mut common = lasting(200);
    for (verified_at, until, end) in [
        (900, 1_050, 1_050),
        (900, 1_100, 1_100),
        (900, 1_300, 1_200),
        (1_000, 1_200, 1_200),
    ] {
        common.verification = Verification::new(at(verified_at), Some(at(until))).unwrap();
        assert!(!common.has_expired(at(1_000)));
        assert!(!common.has_expired(at(end - 1)), "{verified_at}, {until}");
        assert!(common.has_expired(at(end)), "{verified_at}, {until}");
    }
    // the clock was set back by more than the verification holds
    common.verification = Verification::new(at(900), Some(at(1_050))).unwrap();
    assert!(!common.has_expired(at(801)));
    common.verification = Verification::new(at(960), Some(at(1_050))).unwrap();
    assert!(!common.has_expired(at(871)));
    assert!(common.has_expired(at(870)));
}

#[test]
fn a_session_belongs_to_the_verifier_and_resolver_it_was_created_with() {
    let (verifier, other_verifier) = (verifier(), verifier());
    let client_auth: Arc<dyn ResolvesClientCert> = Arc::new(NoCertificate);
    let other_client_auth: Arc<dyn ResolvesClientCert> = Arc::new(NoCertificate);
    let session = common(&verifier, &client_auth, 60);

    assert!(session.belongs_to(&verifier.clone(), &client_auth.clone()));
    assert!(!session.belongs_to(&other_verifier, &client_auth));
    assert!(!session.belongs_to(&verifier, &other_client_auth));

    // a new object must not be mistaken for a dropped one at the same address
    drop(verifier);
    for _ in 0..100 {
        assert!(!session.belongs_to(&self::verifier(), &client_auth));
    }
}

#[test]
fn debug_does_not_print_secrets() {
    let text = format!("{:?}", session(5));
    assert!(text.contains("age_add: 5"), "{text}");
    // the secret is 0xab = 171 throughout
    assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
}
