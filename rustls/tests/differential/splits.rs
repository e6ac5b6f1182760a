//! Every record split at every byte: the outcome does not depend on the pieces.

use harness::comparison::Outcome;
use harness::scripted::recorded::{Receiver, scenes};

#[test]
fn split_flights_have_the_same_outcome_as_whole_ones() {
    for scene in scenes(true) {
        let flight = scene.flight();
        for receiver in [Receiver::Buffered, Receiver::Unbuffered] {
            let outcome = |pieces: &mut dyn Iterator<Item = &[u8]>| {
                Outcome::of_pieces(&mut *scene.receiver(receiver), pieces)
            };
            let whole = outcome(&mut [flight].into_iter());
            assert_eq!(whole.name(), "none / none", "{}", scene.name);
            for at in 1..flight.len() {
                let (start, end) = flight.split_at(at);
                let split = outcome(&mut [start, end].into_iter());
                assert_eq!(split, whole, "{} at {at}", scene.name);
            }
            for len in [1, 2, 5, 16] {
                let split = outcome(&mut flight.chunks(len));
                assert_eq!(split, whole, "{} in pieces of {len}", scene.name);
            }
        }
    }
}
