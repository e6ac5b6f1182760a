//! The controls of the method: a comparison whose time depends on its input, and one whose time
//! cannot.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use crate::Case;
use crate::dudect::Subject;
use crate::forgery::Forgery;

const SECRET: [u8; 32] = [0x5e; 32];

pub(crate) fn cases() -> Vec<Case> {
    let case = |operation: &str, inputs, places: [isize; 2]| Case {
        operation: operation.to_owned(),
        inputs,
        provider: None,
        cost: 1,
        build: Box::new(move || Ok(compare(places))),
    };
    vec![
        case(
            "comparison that ends at the first difference, 32 bytes",
            ["first byte wrong", "last byte wrong"],
            [0, -1],
        ),
        case(
            "the same comparison, of the same bytes each time",
            ["first byte wrong", "first byte wrong"],
            [0, 0],
        ),
    ]
}

/// Compares byte by byte with a forgery that is wrong at one of `places`.
fn compare(places: [isize; 2]) -> Subject {
    let mut forgery = Forgery::new(SECRET.to_vec(), places);
    Box::new(move |class| {
        let input = black_box(forgery.make(class));
        let secret = black_box(SECRET);
        let start = Instant::now();
        let mut pairs = input.iter().zip(&secret);
        let found = pairs.position(|(a, b)| black_box(a) != black_box(b));
        black_box(found);
        Ok::<Duration, _>(start.elapsed())
    })
}
