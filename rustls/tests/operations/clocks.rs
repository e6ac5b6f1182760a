//! The clock is read once for each ClientHello. The time that passes while the server waits for a
//! call has no effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use harness::operations::ends::{APIS, Api};
use harness::operations::kinds::{KINDS, Kind};
use harness::operations::schedules::{pump, resumable};
use harness::operations::{Plan, When};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// A time after which every session has expired.
const EXPIRY: Duration = Duration::from_secs(8 * 24 * 60 * 60);

/// A clock that shows one time when it is first read, and a different one later.
#[derive(Debug)]
struct Moving {
    times: [UnixTime; 2],
    reads: AtomicUsize,
}

impl TimeProvider for Moving {
    fn current_time(&self) -> Option<UnixTime> {
        let reads = self.reads.fetch_add(1, Ordering::SeqCst);
        Some(self.times[reads.min(1)])
    }
}

/// Resumes a session while the server's clock moves. Returns the negotiated values of both ends.
fn resume(kind: &Kind, api: Api, times: [UnixTime; 2], is_async: bool) -> [String; 2] {
    let plan = Arc::new(Plan::new(When::After(1)));
    let mut world = resumable(kind, api, &plan);
    Arc::make_mut(&mut world.server).time_provider = Arc::new(Moving {
        times,
        reads: AtomicUsize::new(0),
    });
    let [mut client, mut server] = api.ends(&world, is_async);
    assert_eq!(pump(&mut client, &mut server), [Ok(()), Ok(())]);
    assert_eq!(plan.futures().is_empty(), !is_async, "{kind:?} {api:?}");
    [client.facts(), server.facts()]
}

#[test]
fn a_clock_that_moves_does_not_change_the_outcome() {
    let now = UnixTime::now();
    let expired = Duration::from_secs(now.as_secs()) + EXPIRY;
    let expired = UnixTime::since_unix_epoch(expired);
    for kind in KINDS.iter().filter(|kind| kind.is_resumed()) {
        for api in APIS.into_iter().filter(|api| kind.runs_over(*api)) {
            for (times, is_resumed) in [([now, expired], true), ([expired, now], false)] {
                let facts = resume(kind, api, times, true);
                for facts in &facts {
                    let context = format!("{kind:?} {api:?} {facts}");
                    assert_eq!(facts.contains("Some(Resumed)"), is_resumed, "{context}");
                }
                let sync = resume(kind, api, times, false);
                assert_eq!(facts, sync, "{kind:?} {api:?}");
            }
        }
    }
}
