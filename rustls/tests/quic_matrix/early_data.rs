//! Tests of 0-RTT data that is accepted, or rejected for each possible reason (RFC 9001 §4.6).

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints;
use harness::quic::{
    Level, Use, VERSIONS, check_connected, deliver, exchange, handshake, send_and_check,
};

use crate::quic_matrix::ends::{
    Case, Client, Crate, ENDS, SERVER_PARAMETERS, SUITES, Server, Sessions, changed, for_all_ends,
};

/// Connects for the first time, to get a session, without early data.
fn first(client: &Client, server: &Server) {
    let (mut client, mut server) = (client.connect(), server.accept());
    assert_eq!(client.has_keys(Level::EarlyData), [false; 2]);
    assert_eq!(client.peer_parameters(), None);
    handshake(&mut *client, &mut *server);
    assert_eq!(client.has_keys(Level::EarlyData), [false; 2]);
    assert_eq!(server.has_keys(Level::EarlyData), [false; 2]);
    assert!(!client.is_early_data_accepted());
}

/// Connects for the second time, with early data, which the server's application rejects if
/// `by_hand` is true. Returns true if it is accepted, and the negotiated values.
fn second(client: &Client, server: &Server, by_hand: bool) -> (bool, String) {
    let (mut client, mut server) = (client.connect(), server.accept());
    let hello = client.take_crypto();
    assert_eq!(client.has_keys(Level::EarlyData), [true, false]);
    // RFC 9000 §7.4.1: the parameters for early data
    assert_eq!(client.peer_parameters().unwrap(), SERVER_PARAMETERS);
    let early = client.seal(Level::EarlyData, Use::First, 0, b"early data");
    if by_hand {
        server.reject_early_data();
    }
    let mut to_client = deliver(&mut *server, Level::Initial, &hello[0].bytes).unwrap();
    if server.has_keys(Level::EarlyData)[1] {
        let opened = server.open(Level::EarlyData, Use::First, &early);
        assert_eq!(opened, Ok((0, b"early data".to_vec())));
        send_and_check(&*client, &*server, Level::EarlyData, Use::First);
    }
    while let Some(crypto) = to_client.first().cloned() {
        to_client.remove(0);
        for answer in deliver(&mut *client, crypto.level, &crypto.bytes).unwrap() {
            // RFC 9001 §8.3: there is no EndOfEarlyData
            assert_ne!(answer.bytes[0], 5);
            to_client.extend(deliver(&mut *server, answer.level, &answer.bytes).unwrap());
        }
    }
    exchange(&mut *client, &mut *server).unwrap();
    check_connected(&mut *client, &mut *server);
    assert_eq!(client.read_level(), Level::OneRtt);
    let is_accepted = server.has_keys(Level::EarlyData)[1];
    assert_eq!(client.is_early_data_accepted(), is_accepted);
    (is_accepted, client.negotiated())
}

#[test]
fn early_data_is_accepted_with_a_stored_session() {
    for_all_ends(|ends, provider| {
        for (version, suite) in product(VERSIONS, SUITES) {
            let (client, server) = Case {
                version,
                suite,
                ..Case::with_early_data(ends, provider)
            }
            .sides();
            first(&client, &server);
            // the new sessions are used for a third connection
            for _ in 0..2 {
                let (is_accepted, negotiated) = second(&client, &server, false);
                assert!(is_accepted && negotiated.ends_with("Some(Resumed)"));
            }
        }
    });
}

type Change<'a> = &'a dyn Fn(Server) -> Server;

/// A server has five reasons to reject early data (RFC 9846 §4.3.10).
#[test]
fn a_server_rejects_early_data_for_each_reason() {
    for_all_ends(|ends, provider| {
        let usual = Case::with_early_data(ends, provider);
        let with_other_group = Case {
            retry: true,
            ..usual
        };
        let other = || vec![b"other".to_vec()];
        let other_protocol =
            |server: Server| changed!(server, |config| config.alpn_protocols = other());
        let takes_none = |server: Server| changed!(server, |config| config.max_early_data_size = 0);
        let retries = |server: Server| with_other_group.sides().1.with_sessions_of(&server);
        let without_the_session = |_: Server| usual.sides().1;
        let negotiates_other = format!("Some({:?})", b"other");
        let reasons: [(Change<'_>, bool, &str); 5] = [
            (&|server| server, true, "Some(Resumed)"),
            (&other_protocol, false, &negotiates_other),
            (&takes_none, false, "Some(Resumed)"),
            (&retries, false, "Some(secp256r1)"),
            (&without_the_session, false, "Some(Full)"),
        ];
        for (change, by_hand, expected) in reasons {
            // a client that also has the group of a HelloRetryRequest
            let ((client, _), (_, server)) = (with_other_group.sides(), usual.sides());
            first(&client, &server);
            let (is_accepted, negotiated) = second(&client, &change(server), by_hand);
            assert!(!is_accepted, "{ends:?} {expected}");
            assert!(negotiated.contains(expected), "{ends:?} {negotiated}");
        }
    });
}

/// A client offers early data only if it is enabled and the session's server allowed it.
#[test]
fn early_data_is_offered_only_if_it_may_be_accepted() {
    for ends in ENDS {
        let (client, server) = Case::with_early_data(ends, PROVIDERS[0]).sides();
        first(&client, &server);
        let client = changed!(client, |config| config.enable_early_data = false);
        assert_eq!(client.connect().has_keys(Level::EarlyData), [false; 2]);

        let case = Case {
            sessions: Sessions::Stored,
            ..Case::usual(ends, PROVIDERS[0])
        };
        let (client, server) = case.sides();
        first(&client, &server);
        assert_eq!(client.connect().has_keys(Level::EarlyData), [false; 2]);
    }
}

/// The session's parameters apply to early data, then the server's own replace them.
#[test]
fn remembered_parameters_are_replaced_by_the_servers() {
    for_all_ends(|ends, provider| {
        let (client, server) = Case::with_early_data(ends, provider).sides();
        first(&client, &server);
        let mut of_client = client.connect();
        let mut of_server = server.try_with(b"others").unwrap();
        assert_eq!(of_client.peer_parameters().unwrap(), SERVER_PARAMETERS);
        handshake(&mut *of_client, &mut *of_server);
        assert!(of_client.is_early_data_accepted());
        assert_eq!(of_client.peer_parameters().unwrap(), b"others");
        assert_eq!(client.connect().peer_parameters().unwrap(), b"others");
    });
}

/// A session from the other transport resumes, but its early data is rejected. Over records, a
/// client remembers no transport parameters (RFC 9000 §7.4.1).
#[test]
fn early_data_is_bound_to_the_transport_of_the_session() {
    for_all_ends(|ends, provider| {
        let case = Case::with_early_data(ends, provider);
        let is_upstreams = ends == [Crate::Upstream; 2];
        let offers = ends[0] == Crate::Upstream;

        let (client, server) = case.sides();
        endpoints::handshake(&mut *client.over_records(), &mut *server.over_records());
        let (mut of_client, mut of_server) = (client.connect(), server.accept());
        assert_eq!(of_client.has_keys(Level::EarlyData)[0], offers);
        handshake(&mut *of_client, &mut *of_server);
        assert!(of_client.negotiated().ends_with("Some(Resumed)"));
        assert_eq!(of_client.is_early_data_accepted(), is_upstreams);

        let (client, server) = case.sides();
        first(&client, &server);
        let (mut of_client, mut of_server) = (client.over_records(), server.over_records());
        assert_eq!(of_client.send_early(b"early") != 0, offers);
        endpoints::handshake(&mut *of_client, &mut *of_server);
        assert!(of_client.negotiated().ends_with("Some(Resumed)"));
        let mut early_data = Vec::new();
        of_server.read_early_into(&mut early_data);
        assert_eq!(early_data.is_empty(), !is_upstreams);
    });
}
