//! Any order of arriving bytes, polls and results leads to the same connection.

use harness::operations::When;
use harness::operations::ends::Api;
use harness::operations::kinds::KINDS;
use harness::operations::schedules::{Step, check};
use proptest::prelude::*;

fn a_step() -> impl Strategy<Value = Step> {
    let lens = prop_oneof![1..9_usize, 1..2000_usize, Just(usize::MAX)];
    prop_oneof![
        2 => (0..2_usize, lens).prop_map(|(to, len)| Step::Arrive(to, len)),
        1 => (0..2_usize).prop_map(Step::Poll),
    ]
}

fn a_time() -> impl Strategy<Value = When> {
    prop_oneof![
        1 => Just(When::NoFuture),
        1 => Just(When::Ready),
        2 => (0..4_usize).prop_map(When::After),
    ]
}

proptest! {
    #[test]
    fn the_order_of_events_does_not_change_a_connection(
        kind in 0..KINDS.len(),
        is_buffered: bool,
        times in prop::collection::vec(a_time(), 0..12),
        steps in prop::collection::vec(a_step(), 0..60),
    ) {
        let api = if is_buffered { Api::Buffered } else { Api::Unbuffered };
        check(&KINDS[kind], api, times, steps);
    }
}
