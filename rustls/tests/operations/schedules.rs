//! Any order of arriving bytes, polls and answers leads to the same connection.

use std::collections::VecDeque;
use std::sync::Arc;

use harness::operations::{Plan, When, finish};
use proptest::prelude::*;

use crate::ends::{Api, End};
use crate::kinds::KINDS;
use crate::{connect, ends, facts, poll_once, pump, resumable};

/// One step of the event loops.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// At most this many bytes arrive at the end with this number.
    Arrive(usize, usize),
    Poll(usize),
}

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

/// Takes the steps, and then whatever is left.
fn run(steps: &[Step], ends: &mut [End; 2]) {
    let mut queues = [VecDeque::new(), VecDeque::new()];
    for step in steps {
        for (end, queue) in ends.iter_mut().rev().zip(&mut queues) {
            queue.extend(end.output().concat());
        }
        match *step {
            Step::Arrive(to, len) => {
                let len = len.min(queues[to].len());
                let bytes: Vec<u8> = queues[to].drain(..len).collect();
                ends[to].receive(&bytes).unwrap();
            }
            Step::Poll(end) => {
                let waits = ends[end].is_waiting();
                let polled = poll_once(&mut ends[end]);
                assert!(waits || polled.is_ready());
                assert_eq!(polled.is_pending(), ends[end].is_waiting());
            }
        }
    }
    for (end, queue) in ends.iter_mut().zip(queues) {
        end.receive(&Vec::from(queue)).unwrap();
    }
    for end in &mut *ends {
        finish(|task| end.poll(task)).unwrap();
    }
    let [client, server] = ends;
    assert_eq!(pump(client, server), [Ok(()), Ok(())]);
}

proptest! {
    #[test]
    fn no_schedule_changes_a_connection(
        kind in 0..KINDS.len(),
        is_buffered: bool,
        times in prop::collection::vec(a_time(), 0..12),
        steps in prop::collection::vec(a_step(), 0..60),
    ) {
        let (kind, api) = (&KINDS[kind], if is_buffered { Api::Buffered } else { Api::Unbuffered });
        let expected = connect(kind, api, &Arc::new(Plan::new(When::NoFuture)), false);
        let plan = Arc::new(Plan::scheduled(times));
        let world = resumable(kind, api, &plan);
        let mut ends = api.ends(&world, true);
        if kind.has_early_data() {
            ends[0].send_early(b"early");
        }
        run(&steps, &mut ends);
        let [client, server] = &mut ends;
        ends::talk(client, server);
        prop_assert_eq!(facts([Ok(()), Ok(())], client, server), expected);
        prop_assert_eq!(plan.dropped(), 0);
    }
}
