use std::{format, vec};

use super::*;
use crate::crypto::any_provider;

fn suite() -> &'static Tls13CipherSuite {
    any_provider().cipher_suites[0].tls13().unwrap()
}

/// A session that can be told from others by its age_add.
fn session(age_add: u32) -> Tls13ClientSessionValue {
    Tls13ClientSessionValue::new(
        suite(),
        vec![1, 2, 3],
        Zeroizing::new(vec![0xab; 32]),
        UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_000)),
        3600,
        age_add,
        0,
    )
}

fn server(number: usize) -> ServerName<'static> {
    format!("server-{number}.example").try_into().unwrap()
}

#[test]
fn memory_gives_out_the_newest_session_first_and_once() {
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
fn memory_is_bounded_by_servers_of_eight_sessions() {
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
fn what_is_remembered_of_a_server_is_kept_apart() {
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
    store.set_tls12_session(server(0), Tls12ClientSessionValue(()));
    assert!(store.tls12_session(&server(0)).is_some());
    store.remove_tls12_session(&server(0));
    assert!(store.tls12_session(&server(0)).is_none());
    assert!(store.take_tls13_ticket(&server(0)).is_some());
    assert_eq!(store.kx_hint(&server(0)), Some(NamedGroup::secp256r1));
}

#[test]
fn disabled_resumption_remembers_nothing() {
    let Resumption {
        store,
        tls12_resumption,
    } = Resumption::disabled();
    assert_eq!(tls12_resumption, Tls12Resumption::Disabled);

    store.set_kx_hint(server(0), NamedGroup::X25519);
    store.insert_tls13_ticket(server(0), session(0));
    store.set_tls12_session(server(0), Tls12ClientSessionValue(()));
    assert_eq!(store.kx_hint(&server(0)), None);
    assert!(store.take_tls13_ticket(&server(0)).is_none());
    assert!(store.tls12_session(&server(0)).is_none());
}

#[test]
fn resumption_is_in_memory_unless_said_otherwise() {
    let default = Resumption::default();
    assert_eq!(
        default.tls12_resumption,
        Tls12Resumption::SessionIdOrTickets
    );
    default.store.set_kx_hint(server(0), NamedGroup::X25519);
    assert!(default.store.kx_hint(&server(0)).is_some());

    let ids = default.tls12_resumption(Tls12Resumption::SessionIdOnly);
    assert_eq!(ids.tls12_resumption, Tls12Resumption::SessionIdOnly);
    assert!(ids.store.kx_hint(&server(0)).is_some());
}

#[test]
fn tickets_live_for_a_week_at_most() {
    let lifetime = |secs| {
        Tls13ClientSessionValue::new(
            suite(),
            vec![1],
            Zeroizing::new(vec![]),
            UnixTime::since_unix_epoch(core::time::Duration::ZERO),
            secs,
            0,
            0,
        )
        .lifetime_secs
    };
    assert_eq!(lifetime(604_799), 604_799);
    assert_eq!(lifetime(604_801), 604_800);
    assert_eq!(lifetime(u32::MAX), 604_800);
}

#[test]
fn debug_does_not_print_secrets() {
    let text = format!("{:?}", session(5));
    assert!(text.contains("age_add: 5"), "{text}");
    // the secret is 0xab = 171 throughout
    assert!(!text.contains("171") && !text.contains("ab, "), "{text}");
}
