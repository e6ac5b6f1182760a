//! What shows that the method works: a comparison that does depend on its input, and one that cannot.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

use super::{Case, Subject};

const SECRET: [u8; 32] = [0x5e; 32];

pub(crate) fn cases() -> Vec<Case> {
    let case = |operation: &str, inputs, places: [usize; 2]| Case {
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
            [0, SECRET.len() - 1],
        ),
        case(
            "the same comparison, of the same bytes each time",
            ["first byte wrong", "first byte wrong"],
            [0, 0],
        ),
    ]
}

/// Compares byte by byte, with what is wrong at one of `places`.
fn compare(places: [usize; 2]) -> Subject {
    let wrong = places.map(|place| {
        let mut wrong = SECRET;
        wrong[place] ^= 1;
        wrong
    });
    Box::new(move |class| {
        let input = black_box(wrong[class]);
        let secret = black_box(SECRET);
        let start = Instant::now();
        let mut pairs = input.iter().zip(&secret);
        let found = pairs.position(|(a, b)| black_box(a) != black_box(b));
        black_box(found);
        Ok::<Duration, _>(start.elapsed())
    })
}
