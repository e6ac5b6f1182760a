//! `max_fragment_size`: no record exceeds it, during handshakes or after, and the data arrives
//! intact.

use harness::peers::configs::Provider;
use harness::peers::endpoints::Endpoint;

use crate::compared::{assert_same, for_all};
use crate::connected::{Role, deliver, fresh_peer};

/// The bytes of a record besides its plaintext: header, content type and tag.
const OVERHEAD: usize = 5 + 1 + 16;

const SIZES: [usize; 9] = [32, 33, 37, 64, 100, 512, 4096, 16384, 16389];

const REFUSED: [usize; 6] = [0, 1, 5, 31, 16390, usize::MAX];

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::connected::$module::{client_config, input, output, server_config};

            fn with_size(
                provider: Provider,
                role: Role,
                size: Option<usize>,
            ) -> Result<$tls::Connection, $tls::Error> {
                let name = harness::peers::configs::server_name();
                Ok(match role {
                    Role::Client => {
                        let mut config = client_config(provider);
                        config.max_fragment_size = size;
                        $tls::ClientConnection::new(config.into(), name)?.into()
                    }
                    Role::Server => {
                        let mut config = server_config(provider);
                        config.max_fragment_size = size;
                        $tls::ServerConnection::new(config.into())?.into()
                    }
                })
            }

            /// The lengths of a connection's records while it sends much data. Those of the
            /// handshake are included if both crates agree on them.
            pub fn records(provider: Provider, role: Role, size: Option<usize>) -> Vec<String> {
                let mut conn = with_size(provider, role, size).unwrap();
                let mut peer = fresh_peer(provider, role);
                let mut received = Vec::new();
                let limit = size.unwrap_or(16389);
                loop {
                    let out = output(&mut conn);
                    for len in lens(&out) {
                        // the limit covers the header and the plaintext
                        assert!(len <= limit - 5 + OVERHEAD, "{len} bytes at {limit}");
                    }
                    received.extend(deliver(&mut peer, &out));
                    let back = peer.take_output();
                    input(&mut conn, &back).unwrap();
                    if out.is_empty() && back.is_empty() {
                        break;
                    }
                }
                assert!(!conn.is_handshaking() && !peer.is_handshaking());
                let mut log = Vec::new();
                let fragment = limit - 5;
                for len in [
                    1,
                    fragment - 1,
                    fragment,
                    fragment + 1,
                    3 * fragment,
                    16384,
                    40_000,
                ] {
                    let plaintext: Vec<u8> = (0..len).map(|at| at as u8).collect();
                    std::io::Write::write_all(&mut conn.writer(), &plaintext).unwrap();
                    let out = output(&mut conn);
                    log.push(format!("{len}: {:?}", lens(&out)));
                    assert!(deliver(&mut peer, &out) == plaintext);
                }
                conn.send_close_notify();
                log.push(format!("{:?}", lens(&output(&mut conn))));
                log
            }

            pub fn refused(provider: Provider, role: Role) -> Vec<String> {
                let refused = |&size: &usize| {
                    let error = with_size(provider, role, Some(size)).unwrap_err();
                    format!("{error:?}")
                };
                REFUSED.iter().map(refused).collect()
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

/// The lengths of the records in `bytes`, including headers.
fn lens(mut bytes: &[u8]) -> Vec<usize> {
    let mut lens = Vec::new();
    while let [_, _, _, high, low, rest @ ..] = bytes {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        lens.push(5 + len);
        bytes = &rest[len..];
    }
    lens
}

#[test]
fn every_record_keeps_to_the_limit() {
    for_all(|provider, role| {
        for size in SIZES.map(Some).into_iter().chain([None]) {
            let ours = this::records(provider, role, size);
            let theirs = upstream::records(provider, role, size);
            assert_same(&format!("{provider:?} {role:?} {size:?}"), &ours, &theirs);
        }
    });
}

#[test]
fn refused_sizes() {
    for_all(|provider, role| {
        let ours = this::refused(provider, role);
        let theirs = upstream::refused(provider, role);
        assert_same(&format!("{provider:?} {role:?}"), &ours, &theirs);
    });
}
