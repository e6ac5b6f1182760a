//! Tests of keys: updates, paths, and equal bytes from both crates for equal secrets.

use harness::peers::configs::{ClientAuth, product};
use harness::providers::transparent::{self, Resumes, Setup};
use harness::quic::{
    self, Level, QuicEndpoint, Use, VERSIONS, exchange, handshake, send_and_check,
};

use crate::quic_matrix::ends::{Case, Crate, SUITES, for_all_ends, pair};

const GENERATIONS: usize = 5;

#[test]
fn keys_can_be_updated_repeatedly() {
    for_all_ends(|ends, provider| {
        for (version, suite) in product(VERSIONS, SUITES) {
            let (mut client, mut server) = pair(Case {
                version,
                suite,
                ..Case::usual(ends, provider)
            });
            handshake(&mut *client, &mut *server);
            for generation in 1..=GENERATIONS {
                client.update_keys();
                server.update_keys();
                let which = Use::Updated(generation);
                send_and_check(&*client, &*server, Level::OneRtt, which);
                send_and_check(&*server, &*client, Level::OneRtt, which);
                let packet = client.seal(Level::OneRtt, which, 7, b"payload");
                let before = match generation {
                    1 => Use::First,
                    _ => Use::Updated(generation - 1),
                };
                server.open(Level::OneRtt, before, &packet).unwrap_err();
            }
        }
    });
}

/// Each path has its own nonces, and path 0 has those of a connection without paths.
#[test]
fn packets_open_only_on_their_path() {
    for_all_ends(|ends, provider| {
        for suite in SUITES {
            let (mut client, mut server) = pair(Case {
                suite,
                ..Case::usual(ends, provider)
            });
            handshake(&mut *client, &mut *server);
            for path in [0, 1, 0x0102_0304, u32::MAX] {
                send_and_check(&*client, &*server, Level::OneRtt, Use::Path(path));
                send_and_check(&*server, &*client, Level::OneRtt, Use::Path(path));
                let packet = client.seal(Level::OneRtt, Use::Path(path), 7, b"payload");
                let other = Use::Path(path ^ 1);
                server.open(Level::OneRtt, other, &packet).unwrap_err();
            }
            let without = client.seal(Level::OneRtt, Use::First, 7, b"payload");
            let path_0 = client.seal(Level::OneRtt, Use::Path(0), 7, b"payload");
            assert_eq!(without, path_0);
        }
    });
}

/// With constant randomness and transcript hashes, neither secrets nor packets depend on the peer.
/// Packets of a resumed connection depend on its ticket's nonce, and therefore on the server.
#[test]
fn packets_of_all_levels_are_the_same_in_both_crates() {
    let setup = Setup {
        hashes_transcript: false,
        resumes: Some(Resumes::Stored),
        early_data: true,
        quic: true,
        ..Setup::usual(ClientAuth::None)
    };
    for version in VERSIONS {
        let mut all_first = Vec::new();
        for server in [Crate::This, Crate::Upstream] {
            let [ours, theirs] = [Crate::This, Crate::Upstream].map(|client| {
                let this = transparent::this::Configs::new(setup);
                let upstream = transparent::upstream::Configs::new(setup);
                ["Full", "Resumed"].map(|kind| {
                    let client: Box<dyn QuicEndpoint> = if client == Crate::This {
                        Box::new(quic::this::client(&this.client, version, b"c").unwrap())
                    } else {
                        let config = &upstream.client;
                        Box::new(quic::upstream::client(config, version, b"c").unwrap())
                    };
                    let server: Box<dyn QuicEndpoint> = if server == Crate::This {
                        Box::new(quic::this::server(&this.server, version, b"s").unwrap())
                    } else {
                        let config = &upstream.server;
                        Box::new(quic::upstream::server(config, version, b"s").unwrap())
                    };
                    all_packets([client, server], kind)
                })
            });
            assert!(ours == theirs, "{version:?}, {server:?}");
            let [first, resumed] = ours;
            // one more packet, with early data
            assert_eq!(resumed.len(), first.len() + 1);
            all_first.push(first);
        }
        assert!(all_first[0] == all_first[1], "{version:?}");
    }
}

/// Returns packets of both sides at all levels, with some key updates and some paths.
fn all_packets([mut client, mut server]: [Box<dyn QuicEndpoint>; 2], kind: &str) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    if client.has_keys(Level::EarlyData)[0] {
        packets.push(client.seal(Level::EarlyData, Use::First, 1, b"early"));
    }
    exchange(&mut *client, &mut *server).unwrap();
    let (negotiated, expected) = (client.negotiated(), format!("Some({kind})"));
    assert!(negotiated.ends_with(&expected), "{negotiated}");
    for end in [&mut client, &mut server] {
        for level in [Level::Initial, Level::Handshake, Level::OneRtt] {
            packets.push(end.seal(level, Use::First, 2, b"some payload"));
        }
        for path in [0, 1, u32::MAX] {
            packets.push(end.seal(Level::OneRtt, Use::Path(path), 3, b"other payload"));
        }
        for generation in 1..=GENERATIONS {
            end.update_keys();
            packets.push(end.seal(Level::OneRtt, Use::Updated(generation), 4, b"later"));
        }
        packets.push(end.exported().unwrap().to_vec());
    }
    packets
}
