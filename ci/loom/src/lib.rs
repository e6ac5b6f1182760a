//! Models of lock-free state shared by threads, over all interleavings and everything that the
//! memory model allows.
//!
//! The file under test is the library's own. Only its atomics are those of loom. `halves` has the
//! models of the streams that use it.

#![cfg(test)]

#[path = "../../../rustls/src/handshake/link.rs"]
mod link;

mod atomics;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use self::link::Link;

/// The cause of a connection's failure: in these models, the half that failed first.
type Failure = &'static str;

fn model(run: impl Fn(Arc<Link<Failure>>) + Send + Sync + 'static) {
    loom::model(move || run(Arc::new(Link::new())));
}

/// Every request is answered by a KeyUpdate that is sent after it, and no request is answered
/// twice.
#[test]
fn each_request_is_answered_alone_or_with_others() {
    model(|link| {
        let receiver = {
            let link = link.clone();
            thread::spawn(move || {
                link.owe_update();
                link.owe_update();
            })
        };
        let mut answers = 0;
        for _ in 0..2 {
            if link.concerns_sender() {
                answers += usize::from(link.take_requests().update);
            }
        }
        receiver.join().unwrap();
        // after the receiver's call has returned, any remaining request is visible
        if link.concerns_sender() {
            let requests = link.take_requests();
            assert!(requests.update);
            answers += 1;
        }
        assert!((1..=2).contains(&answers), "{answers}");
        assert!(!link.concerns_sender() && !link.wants_sender(|_| true));
    });
}

/// A request is not lost if the sender takes another at the same time.
#[test]
fn concurrent_requests_are_both_kept() {
    model(|link| {
        let receiver = {
            let link = link.clone();
            thread::spawn(move || {
                link.owe_update();
                link.owe_refusal();
            })
        };
        let first = link.take_requests();
        receiver.join().unwrap();
        let second = link.take_requests();
        assert!(first.update != second.update);
        assert!(first.refusal != second.refusal);
        // they arrive in order
        assert!(first.update || !first.refusal);
    });
}

/// A thread that sees a failed half also sees the cause.
#[test]
fn the_cause_of_a_failure_is_visible_with_it() {
    model(|link| {
        let receiver = {
            let link = link.clone();
            thread::spawn(move || {
                link.owe_update();
                link.fail("the receiver");
                assert_eq!(link.failure(), Some(&"the receiver"));
            })
        };
        if link.has_failed() {
            assert_eq!(link.failure(), Some(&"the receiver"));
        }
        receiver.join().unwrap();
        assert!(link.concerns_sender() && link.wants_sender(|_| true));
        assert_eq!(link.failure(), Some(&"the receiver"));
    });
}

/// If both halves fail at the same time, there is one failure, and it is kept.
#[test]
fn the_first_failure_is_kept() {
    model(|link| {
        let receiver = {
            let link = link.clone();
            thread::spawn(move || link.fail("the receiver"))
        };
        link.fail("the sender");
        receiver.join().unwrap();
        let first = *link.failure().unwrap();
        link.fail("somebody else");
        assert_eq!(link.failure(), Some(&first));
        assert!(["the receiver", "the sender"].contains(&first));
        // the sender has failed, too, so there is nobody to wake
        link.sender_is_done();
        assert!(!link.wants_sender(|_| true));
    });
}

/// The answer to a KeyUpdate is recognised when it arrives, because the request was recorded before
/// it was sent. The sender sends no other request before.
#[test]
fn the_answer_to_a_key_update_is_recognised() {
    model(|link| {
        let wire = Arc::new(AtomicUsize::new(0));
        let receiver = {
            let (link, wire) = (link.clone(), wire.clone());
            thread::spawn(move || {
                // the peer answers what it has seen; only this byte orders the two
                if wire.load(Ordering::Relaxed) == 1 {
                    let awaited = link.take_awaited_update();
                    assert!(!link.take_awaited_update(), "taken once");
                    return Some(awaited);
                }
                None
            })
        };
        assert!(!link.awaits_update());
        link.await_update();
        assert!(!link.concerns_sender());
        wire.store(1, Ordering::Release);
        let answered = receiver.join().unwrap();
        // a read-modify-write sees the last value, so an answer never counts for a request that was
        // not made
        if let Some(awaited) = answered {
            assert!(awaited);
            assert!(!link.awaits_update());
        } else {
            assert!(link.awaits_update());
        }
    });
}

/// If a sender ends during a handover, there is nobody to wake.
#[test]
fn a_sender_that_has_ended_is_not_woken() {
    model(|link| {
        let receiver = {
            let link = link.clone();
            thread::spawn(move || {
                link.owe_update();
                link.wants_sender(|_| true)
            })
        };
        link.sender_is_done();
        let _ = receiver.join().unwrap();
        assert!(!link.wants_sender(|_| true));
    });
}
