//! Connections whose operations take time, under any order of arriving bytes, polls and results.

use harness::operations::When;
use harness::operations::ends::Api;
use harness::operations::kinds::KINDS;
use harness::operations::schedules::{Step, check};

use super::input::Input;

/// The most results and steps of an input; more find nothing new.
const MOST_RESULTS: usize = 12;
const MOST_STEPS: usize = 60;

/// The first byte chooses the handshake, and the second one the API (bit 0) and the number of
/// results that take time. The times of these follow, and then the steps.
pub fn operations(input: &[u8]) {
    let mut input = Input::new(input);
    let kind = &KINDS[usize::from(input.byte()) % KINDS.len()];
    let choice = input.byte();
    let api = match choice & 1 {
        0 => Api::Buffered,
        _ => Api::Unbuffered,
    };
    let results = usize::from(choice >> 1) % (MOST_RESULTS + 1);
    let times = (0..results).map(|_| time(&mut input)).collect();
    let mut steps = Vec::new();
    while input.begins_step(MOST_STEPS) {
        steps.push(step(&mut input));
    }
    check(kind, api, times, steps);
}

fn time(input: &mut Input<'_>) -> When {
    match input.byte() % 8 {
        0 => When::NoFuture,
        1 => When::Ready,
        polls => When::After(usize::from(polls) - 2),
    }
}

fn step(input: &mut Input<'_>) -> Step {
    let choice = input.byte();
    let end = usize::from(choice & 1);
    match choice >> 1 & 3 {
        0 => Step::Poll(end),
        1 => Step::Arrive(end, usize::MAX),
        _ => Step::Arrive(end, input.len()),
    }
}
