//! Every byte of every flight is flipped, zeroed, removed and doubled, and the flight is truncated
//! at that byte.

use harness::comparison::Judge;
use harness::scripted::recorded::scenes;

type Change = fn(&mut Vec<u8>, usize);

const CHANGES: [(&str, Change); 9] = [
    ("xor 01", |flight, at| flight[at] ^= 0x01),
    ("xor 02", |flight, at| flight[at] ^= 0x02),
    ("xor 10", |flight, at| flight[at] ^= 0x10),
    ("xor 80", |flight, at| flight[at] ^= 0x80),
    ("xor ff", |flight, at| flight[at] ^= 0xff),
    ("zero", |flight, at| flight[at] = 0),
    ("removed", |flight, at| {
        flight.remove(at);
    }),
    ("doubled", |flight, at| flight.insert(at, flight[at])),
    ("cut", |flight, at| flight.truncate(at)),
];

pub(crate) fn compare(judge: &Judge) {
    for scene in scenes(true) {
        for (what, change) in CHANGES {
            for at in 0..scene.flight().len() {
                judge.compare(&scene, &format!("{what} at {at}"), |flight| {
                    let mut flight = flight.to_vec();
                    change(&mut flight, at);
                    flight
                });
            }
        }
    }
}
