//! 0-RTT data, accepted, and rejected for each possible reason (RFC 9001 §4.6).

use harness::peers::configs::{PROVIDERS, product};
use harness::peers::endpoints;
use harness::quic::{
    Level, QuicEndpoint, Use, VERSIONS, check_connected, deliver, exchange, handshake,
    send_and_check,
};

use crate::quic_matrix::ends::{
    Case, Client, Crate, ENDS, SERVER_PARAMETERS, SUITES, Server, Sessions, changed, for_all_ends,
};

/// Makes a first connection for the session, without early data.
fn first(client: &Client, server: &Server) {
    let (mut client, mut server) = (client.connect(), server.accept());
    assert_eq!(client.has_keys(Level::EarlyData), [false; 2]);
    assert_eq!(client.peer_parameters(), None);
    handshake(&mut *client, &mut *server);
    assert_eq!(client.has_keys(Level::EarlyData), [false; 2]);
    assert_eq!(server.has_keys(Level::EarlyData), [false; 2]);
    assert!(!client.is_early_data_accepted());
}

/// The outcome of a client's second connection, which offers early data.
struct Second {
    client: Box<dyn QuicEndpoint>,
    server: Box<dyn QuicEndpoint>,
}

/// Connects for the second time and applies `meddle` to the server before it reads.
fn second(client: &Client, server: &Server, meddle: impl FnOnce(&mut dyn QuicEndpoint)) -> Second {
    let (mut client, mut server) = (client.connect(), server.accept());
    let hello = client.take_crypto();
    assert_eq!(client.has_keys(Level::EarlyData), [true, false]);
    // RFC 9000 §7.4.1: the parameters for early data
    assert_eq!(client.peer_parameters().unwrap(), SERVER_PARAMETERS);
    let early = client.seal(Level::EarlyData, Use::First, 0, b"early data");
    meddle(&mut *server);
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
    Second { client, server }
}

impl Second {
    fn is_accepted(&self) -> bool {
        let on_server = self.server.has_keys(Level::EarlyData)[1];
        assert_eq!(self.client.is_early_data_accepted(), on_server);
        on_server
    }

    fn kind(&self) -> String {
        self.client.negotiated()
    }
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
            // its new sessions serve a third connection
            for _ in 0..2 {
                let second = second(&client, &server, |_| ());
                assert!(second.is_accepted());
                assert!(second.kind().ends_with("Some(Resumed)"));
            }
        }
    });
}

#[test]
fn a_server_may_reject_early_data_by_hand() {
    for_all_ends(|ends, provider| {
        let (client, server) = Case::with_early_data(ends, provider).sides();
        first(&client, &server);
        let second = second(&client, &server, |server| server.reject_early_data());
        assert!(!second.is_accepted());
        assert!(second.kind().ends_with("Some(Resumed)"));
    });
}

#[test]
fn early_data_is_rejected_with_another_protocol() {
    for_all_ends(|ends, provider| {
        let (client, server) = Case::with_early_data(ends, provider).sides();
        first(&client, &server);
        let others = vec![b"other".to_vec()];
        let server = changed!(server, |config| config.alpn_protocols = others.clone());
        let second = second(&client, &server, |_| ());
        assert!(!second.is_accepted());
        assert!(second.kind().contains(&format!("Some({:?})", b"other")));
    });
}

#[test]
fn early_data_is_rejected_by_a_server_that_takes_none() {
    for_all_ends(|ends, provider| {
        let (client, server) = Case::with_early_data(ends, provider).sides();
        first(&client, &server);
        let server = changed!(server, |config| config.max_early_data_size = 0);
        assert!(!second(&client, &server, |_| ()).is_accepted());
    });
}

/// RFC 9846 §4.2.10: not after a HelloRetryRequest.
#[test]
fn early_data_is_rejected_by_a_retry() {
    for_all_ends(|ends, provider| {
        let usual = Case::with_early_data(ends, provider);
        let (client, with_other_group) = Case {
            retry: true,
            ..usual
        }
        .sides();
        let (_, server) = usual.sides();
        first(&client, &server);
        let server = with_other_group.with_sessions_of(&server);
        let second = second(&client, &server, |_| ());
        assert!(!second.is_accepted());
        assert_eq!(second.client.read_level(), Level::OneRtt);
        assert!(second.kind().contains("Some(secp256r1)"));
    });
}

/// The server does not know the session and performs a full handshake.
#[test]
fn early_data_is_rejected_without_the_session() {
    for_all_ends(|ends, provider| {
        let case = Case::with_early_data(ends, provider);
        let (client, server) = case.sides();
        first(&client, &server);
        let (_, other) = case.sides();
        let second = second(&client, &other, |_| ());
        assert!(!second.is_accepted());
        assert!(second.kind().ends_with("Some(Full)"));
    });
}

/// A client offers early data only if it is enabled and the session's server allowed it.
#[test]
fn early_data_is_offered_only_where_it_may_be_taken() {
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
fn remembered_parameters_are_replaced() {
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

/// A session's parameters are for early data only; upstream shows them in any case.
#[test]
fn parameters_are_remembered_for_early_data_only() {
    for ends in ENDS {
        let case = Case {
            early_data: false,
            ..Case::with_early_data(ends, PROVIDERS[0])
        };
        let (client, server) = case.sides();
        first(&client, &server);
        let remembered = client.connect().peer_parameters();
        match ends {
            [Crate::This, _] => assert_eq!(remembered, None),
            [Crate::Upstream, _] => assert_eq!(remembered.unwrap(), SERVER_PARAMETERS),
        }
    }
}

/// A session made over the other transport resumes, but its early data is rejected. Over records,
/// it remembers no transport parameters (RFC 9000 §7.4.1).
#[test]
fn early_data_stays_with_what_carried_the_session() {
    for_all_ends(|ends, provider| {
        let case = Case::with_early_data(ends, provider);
        let is_upstreams = ends == [Crate::Upstream; 2];
        let offers = ends[0] == Crate::Upstream;

        let (client, server) = case.sides();
        endpoints::handshake(
            &mut *client.connect_over_records(),
            &mut *server.accept_over_records(),
        );
        let (mut of_client, mut of_server) = (client.connect(), server.accept());
        assert_eq!(of_client.has_keys(Level::EarlyData)[0], offers);
        handshake(&mut *of_client, &mut *of_server);
        assert!(of_client.negotiated().ends_with("Some(Resumed)"));
        assert_eq!(of_client.is_early_data_accepted(), is_upstreams);

        let (client, server) = case.sides();
        first(&client, &server);
        let (mut of_client, mut of_server) =
            (client.connect_over_records(), server.accept_over_records());
        assert_eq!(of_client.send_early(b"early") != 0, offers);
        endpoints::handshake(&mut *of_client, &mut *of_server);
        assert!(of_client.negotiated().ends_with("Some(Resumed)"));
        let mut early_data = Vec::new();
        of_server.read_early_into(&mut early_data);
        assert_eq!(early_data.is_empty(), !is_upstreams);
    });
}
