//! `max_fragment_size`: no record exceeds it, during handshakes or after, and the data arrives
//! intact.

use harness::peers::configs::product;
use harness::peers::endpoints::Endpoint;
use harness::wire;

use crate::behaviour::compared::{Log, same, same_for};
use crate::cases::{Case, cases};

const SIZES: [usize; 9] = [32, 33, 37, 64, 100, 512, 4096, 16384, 16389];

const REFUSED: [usize; 6] = [0, 1, 5, 31, 16390, usize::MAX];

macro_rules! scripts {
    ($module:ident, $tls:ident) => {
        mod $module {
            use super::*;
            use crate::behaviour::connected::$module::{Config, config, input, output};

            fn with_size(case: Case, size: Option<usize>) -> Config {
                config(case).edit(
                    |client| client.max_fragment_size = size,
                    |server| server.max_fragment_size = size,
                )
            }

            /// Returns the lengths of a connection's records while it sends much data. Those of the
            /// handshake are included if both crates agree on them.
            pub fn record_lens(case: Case, size: Option<usize>) -> Log {
                let mut conn = with_size(case, size).connection();
                let mut peer = case.peer();
                let limit = size.unwrap_or(16389);
                // header, content type or explicit nonce, and tag
                let overhead = 5 + if case.is_tls13() { 1 } else { 8 } + 16;
                loop {
                    let out = output(&mut conn);
                    for len in lens(&out) {
                        // the limit covers the header and the plaintext
                        assert!(len <= limit - 5 + overhead, "{len} bytes at {limit}");
                    }
                    peer.receive(&out).unwrap();
                    let back = peer.take_output();
                    input(&mut conn, &back).unwrap();
                    if out.is_empty() && back.is_empty() {
                        break;
                    }
                }
                assert!(!conn.is_handshaking() && !peer.is_handshaking());
                let mut log = Vec::new();
                let fragment = limit - 5;
                let around = [1, fragment - 1, fragment, fragment + 1, 3 * fragment];
                for len in around.into_iter().chain([16384, 40_000]) {
                    let plaintext: Vec<u8> = (0..len).map(|at| at as u8).collect();
                    std::io::Write::write_all(&mut conn.writer(), &plaintext).unwrap();
                    let out = output(&mut conn);
                    log.push(format!("{len}: {:?}", lens(&out)));
                    assert!(peer.read_from(&out) == plaintext);
                }
                conn.send_close_notify();
                log.push(format!("{:?}", lens(&output(&mut conn))));
                log
            }

            pub fn refused_sizes(case: Case, size: usize) -> Log {
                let refused = with_size(case, Some(size)).try_connection();
                vec![format!("{:?}", refused.unwrap_err())]
            }
        }
    };
}

scripts!(this, rustls);
scripts!(upstream, rustls_upstream);

/// Returns the lengths of the records in `bytes`, including headers.
fn lens(bytes: &[u8]) -> Vec<usize> {
    let records = wire::records(bytes).into_iter();
    records.map(|record| 5 + record.payload.len()).collect()
}

same!(refused_sizes in REFUSED);

#[test]
fn every_record_keeps_to_the_limit_in_each_version() {
    let sizes = SIZES.map(Some).into_iter().chain([None]);
    for (case, size) in product(cases(), sizes) {
        let (ours, theirs) = (this::record_lens, upstream::record_lens);
        same_for(case, size, ours, theirs);
    }
}
