//! Tests of QUIC between this crate and upstream in either role, and between two ends of each.
//! Every combination is negotiated, and both ends have the same keys at every level.
//!
//! `ends.rs` creates the ends of a case. This file runs the handshakes.

mod early_data;
mod ends;
mod keys;
mod parameters;

use ends::{
    CLIENT_PARAMETERS, Case, Crate, ENDS, SERVER_PARAMETERS, SUITES, Sessions, for_all_ends,
};
use harness::peers::configs::{
    CLIENT_AUTHS, ClientAuth, Identity, KeyType, PROVIDERS, SERVER_NAME, product3,
};
use harness::quic::{
    Level, QuicEndpoint, Use, VERSIONS, Version, check_connected, exchange, exchange_in_pieces,
};

const SESSIONS: [Sessions; 3] = [Sessions::None, Sessions::Stored, Sessions::Tickets];

/// Checks a complete connection.
fn check(case: &Case, kind: &str, client: &mut dyn QuicEndpoint, server: &mut dyn QuicEndpoint) {
    check_connected(client, server);
    let suite = case.suite;
    let group = if case.retry { "secp256r1" } else { "X25519" };
    let expected = format!(
        "Some(TLSv1_3) Some({suite}) Some({group}) Some({:?}) Some({kind})",
        b"h3"
    );
    assert_eq!(client.negotiated(), expected);
    assert_eq!(server.peer_parameters().unwrap(), CLIENT_PARAMETERS);
    assert_eq!(client.peer_parameters().unwrap(), SERVER_PARAMETERS);
    assert_eq!(server.server_name().unwrap(), SERVER_NAME);
    assert_eq!((client.alert(), server.alert()), (None, None));
    let identities = KeyType::EcdsaP256.identities();
    let chain = |identity: &Identity| vec![identity.chain[0].to_vec()];
    assert_eq!(client.peer_certificates(), chain(&identities.server));
    let of_client = if case.auth.is_presented() {
        chain(&identities.client)
    } else {
        Vec::new()
    };
    assert_eq!(server.peer_certificates(), of_client);
}

/// Connects twice; the second connection resumes if there are sessions.
fn connect_twice(case: &Case) {
    let (client, server) = case.sides();
    let first = if case.retry {
        "FullWithHelloRetryRequest"
    } else {
        "Full"
    };
    // without sessions, the client still remembers the server's group
    let (again, tickets) = match case.sessions {
        Sessions::None => ("Full", 0),
        _ => ("Resumed", 2),
    };
    for kind in [first, again] {
        let (mut client, mut server) = (client.connect(), server.accept());
        exchange(&mut *client, &mut *server).unwrap_or_else(|error| panic!("{case:?}: {error}"));
        check(case, kind, &mut *client, &mut *server);
        assert_eq!(client.tickets_received(), tickets, "{case:?}");
    }
}

#[test]
fn every_version_and_suite_connects() {
    for_all_ends(|ends, provider| {
        for (version, suite, sessions) in product3(VERSIONS, SUITES, SESSIONS) {
            connect_twice(&Case {
                version,
                suite,
                sessions,
                ..Case::usual(ends, provider)
            });
        }
    });
}

#[test]
fn retries_and_client_certificates_work_in_every_combination() {
    for_all_ends(|ends, provider| {
        for (auth, retry, sessions) in product3(CLIENT_AUTHS, [false, true], SESSIONS) {
            connect_twice(&Case {
                retry,
                auth,
                sessions,
                ..Case::usual(ends, provider)
            });
        }
    });
}

#[test]
fn the_outcome_does_not_depend_on_the_length_of_pieces() {
    for ends in ENDS {
        let case = Case {
            retry: true,
            auth: ClientAuth::Required,
            sessions: Sessions::Stored,
            ..Case::usual(ends, PROVIDERS[1])
        };
        let (client, server) = case.sides();
        for len in [1, 2, 3, 5, 16, 100, 1000] {
            let (mut client, mut server) = (client.connect(), server.accept());
            exchange_in_pieces(&mut *client, &mut *server, |it| it.chunks(len).collect()).unwrap();
            check_connected(&mut *client, &mut *server);
        }
    }
}

/// Delivers each level's bytes in two pieces, cut at every position, with an empty piece first.
#[test]
fn every_level_can_be_split_anywhere() {
    for ends in ENDS {
        let case = Case {
            auth: ClientAuth::Required,
            ..Case::usual(ends, PROVIDERS[1])
        };
        let (client, server) = case.sides();
        let (mut at, mut is_inside) = (0, true);
        while is_inside {
            // every byte around the starts of messages, then samples
            at += if at < 200 { 1 } else { 7 };
            is_inside = false;
            let (mut client, mut server) = (client.connect(), server.accept());
            exchange_in_pieces(&mut *client, &mut *server, |bytes| {
                is_inside |= at < bytes.len();
                let (start, end) = bytes.split_at(at.min(bytes.len()));
                match end {
                    [] => vec![&[], start],
                    _ => vec![&[], start, end],
                }
            })
            .unwrap();
            check_connected(&mut *client, &mut *server);
        }
    }
}

/// Ends with different versions have different keys, and only notice when they use them.
#[test]
fn endpoints_with_different_versions_have_different_keys() {
    for ends in ENDS {
        let with = |version| Case {
            version,
            ..Case::usual(ends, PROVIDERS[0])
        };
        let (client, _) = with(Version::V1).sides();
        let (_, server) = with(Version::V2).sides();
        let (mut client, mut server) = (client.connect(), server.accept());
        exchange(&mut *client, &mut *server).unwrap();
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            let packet = client.seal(level, Use::First, 1, b"payload");
            server.open(level, Use::First, &packet).unwrap_err();
        }
        assert_eq!(client.exported(), server.exported());
    }
}

/// RFC 9369 §5: a ticket belongs to the version that issued it. Upstream does not check that.
#[test]
fn a_session_resumes_only_with_its_version() {
    for_all_ends(|ends, provider| {
        let sessions = [Sessions::Stored, Sessions::Tickets];
        for (first, second, sessions) in product3(VERSIONS, VERSIONS, sessions) {
            let case = Case {
                sessions,
                early_data: true,
                ..Case::usual(ends, provider)
            };
            let (client, server) = case.sides();
            let (client, server) = (client.over(first), server.over(first));
            exchange(&mut *client.connect(), &mut *server.accept()).unwrap();

            let (client, server) = (client.over(second), server.over(second));
            let (mut client, mut server) = (client.connect(), server.accept());
            let is_kept = first == second || ends == [Crate::Upstream; 2];
            let offers_early_data =
                (first == second || ends[0] == Crate::Upstream) && sessions == Sessions::Stored;
            assert_eq!(client.has_keys(Level::EarlyData)[0], offers_early_data);
            exchange(&mut *client, &mut *server).unwrap();
            check_connected(&mut *client, &mut *server);
            let kind = if is_kept { "Resumed" } else { "Full" };
            let negotiated = client.negotiated();
            assert!(
                negotiated.ends_with(&format!("Some({kind})")),
                "{negotiated}"
            );
            let is_accepted = is_kept && offers_early_data;
            assert_eq!(client.is_early_data_accepted(), is_accepted);
        }
    });
}
