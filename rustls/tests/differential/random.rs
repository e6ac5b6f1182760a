//! Random bytes cause no panic, and the same outcome in both APIs.

use harness::comparison::Outcome;
use harness::scripted::recorded::flights::{Framing, Record, encode, frame};
use harness::scripted::recorded::{Receiver, scenes};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngSeed, TestRunner};

#[test]
fn random_bytes_have_the_same_outcome_in_both_apis() {
    for scene in scenes(true) {
        let flight = scene.flight();
        // bytes, records, protected records, and the flight with parts replaced
        let bytes = prop_oneof![
            vec(any::<u8>(), 0..600),
            vec(records(scene.framing()), 1..5).prop_map(|records| records.concat()),
            (0..flight.len(), vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| {
                let mut flight = flight.to_vec();
                let end = flight.len().min(at + bytes.len());
                flight.splice(at..end, bytes);
                flight
            }),
        ];
        let config = Config {
            cases: 200,
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(0x5eed),
            ..Config::default()
        };
        let run = TestRunner::new(config).run(&bytes, |bytes| {
            let outcome = |receiver| Outcome::new(&mut *scene.receiver(receiver), &bytes);
            let buffered = outcome(Receiver::Buffered);
            assert_eq!(buffered, outcome(Receiver::Unbuffered), "{}", scene.name);
            assert_eq!(buffered, outcome(Receiver::Buffered), "{}", scene.name);
            Ok(())
        });
        run.unwrap();
    }
}

/// Returns records with valid headers.
fn records(framing: Framing) -> impl Strategy<Value = Vec<u8>> {
    let typ = || prop_oneof![20..=24_u8, any::<u8>()];
    let content = || vec(any::<u8>(), 0..100);
    prop_oneof![
        (typ(), content()).prop_map(|(typ, content)| frame(typ, &content)),
        (typ(), content())
            .prop_map(move |(typ, content)| encode(&[Record::protected(framing, typ, &content)])),
    ]
}
