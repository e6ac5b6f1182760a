//! Event loops that pass bytes and poll in any order.

use std::collections::VecDeque;
use std::sync::Arc;

use rustls::Error;

use super::ends::{self, Api, End};
use super::kinds::{Kind, World};
use super::{Plan, When, finish};

/// One step of the event loops.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// At most this many bytes (second field) arrive at the endpoint with this number (first
    /// field).
    Arrive(usize, usize),
    Poll(usize),
}

/// The result of a connection: the properties and errors of both endpoints.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    client: String,
    server: String,
}

impl Outcome {
    /// True if one of the endpoints has failed.
    pub fn has_failed(&self) -> bool {
        [&self.client, &self.server]
            .iter()
            .any(|end| end.starts_with("Err"))
    }
}

/// Connects, and finishes all operations.
pub fn connect(kind: &Kind, api: Api, plan: &Arc<Plan>, is_async: bool) -> Outcome {
    let world = resumable(kind, api, plan);
    let [mut client, mut server] = api.ends(&world, is_async);
    if kind.has_early_data() {
        client.send_early(b"early");
    }
    let results = pump(&mut client, &mut server);
    if results.iter().all(Result::is_ok) {
        assert!(
            !client.is_handshaking() && !server.is_handshaking(),
            "{kind:?}"
        );
        ends::talk(&mut client, &mut server);
    }
    facts(results, &mut client, &mut server)
}

fn facts(results: [Result<(), Error>; 2], client: &mut End, server: &mut End) -> Outcome {
    let [of_client, of_server] = results;
    let early_data = server.early_data();
    Outcome {
        client: format!("{of_client:?} {}", client.facts()),
        server: format!("{of_server:?} {} {early_data:?}", server.facts()),
    }
}

/// Returns configurations, after a first handshake to store a session if `kind` resumes one. Then
/// lets the operations of `plan` begin to fail.
pub fn resumable(kind: &Kind, api: Api, plan: &Arc<Plan>) -> World {
    let world = kind.world(api, plan);
    if kind.is_resumed() {
        let [mut client, mut server] = api.ends(&world, false);
        let results = pump(&mut client, &mut server);
        assert_eq!(results, [Ok(()), Ok(())], "{kind:?} {api:?}");
        ends::talk(&mut client, &mut server);
    }
    plan.begin_to_fail();
    world
}

/// Passes bytes back and forth, and finishes operations, until nothing moves. Returns the errors.
pub fn pump(client: &mut End, server: &mut End) -> [Result<(), Error>; 2] {
    let mut results = [Ok(()), Ok(())];
    loop {
        let mut moved = false;
        for turn in 0..2 {
            let (from, to) = match turn {
                0 => (&mut *client, &mut *server),
                _ => (&mut *server, &mut *client),
            };
            for bytes in from.output() {
                moved = true;
                let received = to.receive(&bytes);
                let result = received.and_then(|()| finish(|task| to.poll(task)));
                if results[1 - turn].is_ok() {
                    results[1 - turn] = result;
                }
            }
        }
        if !moved {
            return results;
        }
    }
}

/// Checks that running `steps`, with operations that complete as scheduled in `times` (in reverse
/// order), produces the same connection as synchronous operations.
pub fn check(kind: &Kind, api: Api, times: Vec<When>, steps: impl IntoIterator<Item = Step>) {
    let expected = connect(kind, api, &Arc::new(Plan::new(When::NoFuture)), false);
    let plan = Arc::new(Plan::scheduled(times));
    let world = resumable(kind, api, &plan);
    let mut both = api.ends(&world, true);
    if kind.has_early_data() {
        both[0].send_early(b"early");
    }
    run(steps, &mut both);
    let [client, server] = &mut both;
    ends::talk(client, server);
    assert_eq!(facts([Ok(()), Ok(())], client, server), expected);
    assert_eq!(plan.dropped(), 0);
}

/// Takes these steps, and then all that remain.
fn run(steps: impl IntoIterator<Item = Step>, both: &mut [End; 2]) {
    // what arrives at the client, and at the server
    let mut queues = [VecDeque::new(), VecDeque::new()];
    for step in steps {
        for (end, queue) in both.iter_mut().rev().zip(&mut queues) {
            queue.extend(end.output().concat());
        }
        match step {
            Step::Arrive(to, len) => {
                let len = len.min(queues[to].len());
                let bytes: Vec<u8> = queues[to].drain(..len).collect();
                both[to].receive(&bytes).unwrap();
            }
            Step::Poll(end) => {
                let end = &mut both[end];
                let waits = end.is_waiting();
                let polled = end.poll_once();
                assert!(waits || polled.is_ready());
                assert_eq!(polled.is_pending(), end.is_waiting());
            }
        }
    }
    for (end, queue) in both.iter_mut().zip(queues) {
        end.receive(&Vec::from(queue)).unwrap();
        finish(|task| end.poll(task)).unwrap();
    }
    let [client, server] = both;
    assert_eq!(pump(client, server), [Ok(()), Ok(())]);
}
