//! The recorded flights are genuine, and the same for both crates.

use harness::comparison::Outcome;
use harness::scripted::recorded::{Receiver, scenes};

#[test]
fn genuine_flights_are_accepted() {
    for hashes_transcript in [false, true] {
        for scene in scenes(hashes_transcript) {
            for receiver in [Receiver::Buffered, Receiver::Unbuffered, Receiver::Upstream] {
                let flight = match receiver {
                    Receiver::Upstream => scene.upstream_flight(),
                    _ => scene.flight(),
                };
                let outcome = Outcome::new(&mut *scene.receiver(receiver), flight);
                assert_eq!(outcome.name(), "none / none", "{} {receiver:?}", scene.name);
            }
        }
    }
}

/// Excludes flights with signatures of TLS 1.2 clients, which cover the messages themselves
/// instead of a hash.
#[test]
fn both_crates_receive_the_same_bytes_without_hashes() {
    for scene in scenes(false) {
        if !["ClientHello of 1.2", "client's flight of 1.2"].contains(&&*scene.name) {
            assert_eq!(scene.rest(), scene.upstream_rest(), "{}", scene.name);
        }
    }
}
