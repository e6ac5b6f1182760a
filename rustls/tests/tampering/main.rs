//! A man in the middle between two live ends, with real encryption, through whole connections:
//! handshakes of all kinds, data both ways, KeyUpdates, tickets and close_notify.
//!
//! He has the records of both ends, no keys, and other connections of theirs to take records from.
//! Whatever he does:
//!
//! 1. *No wrong accept.* What an end receives is the beginning of what the other has sent, and all
//!    of it where the stream has an orderly end. Early data is accepted once at most. Once both
//!    handshakes are complete, both ends have negotiated the same, and the same as without him:
//!    version, suite, group, ALPN, kind of handshake, exporters, certificates, server name; and no
//!    byte of the handshake that either goes by was changed ([`transcript`]).
//! 2. *No panic.*
//! 3. *No hang.* Both event loops end, with an error, in order, or waiting for bytes that are lost;
//!    then the end of the stream is no orderly one. After an error there is at most one alert, the
//!    same error again, and nothing else sent.
//! 4. *As upstream.* What an end of this crate answers is what one of upstream in its place
//!    answers, error and alert, or [`harness::deviations`] and the table in [`judge`] say why not.
//!    Where he changes one record, its receiver is compared, and its sender where that is no matter
//!    of where its bytes are.
//!
//! `kinds` are the connections, `plans` what he does, `conversation` the event loops and properties
//! 1 to 3, `judge` the fourth; `downgrade`, `replay` and `quic` are what is different there. Every
//! plan is tried on both crates' ends: upstream and upstream, this crate's client and upstream,
//! upstream and this crate's server, and this crate's ends of two APIs.
//!
//! The quick tests try some plans. For all of them, and for each byte in the clear with several
//! bits flipped:
//!
//! ```text
//! cargo test --release --manifest-path rustls/Cargo.toml --features ring,std --test tampering -- \
//!     --ignored --nocapture
//! ```

mod conversation;
mod downgrade;
mod judge;
mod kinds;
mod plans;
mod quic;
mod replay;
mod stores;
mod transcript;

use std::sync::Mutex;
use std::{iter, thread};

use harness::Noise;
use harness::configs::{PROVIDERS, Provider};
use judge::{Ends, Judge};
use kinds::{KINDS, Kind};

/// Calls `f` for each kind with each provider, and a number, from as many threads as there are
/// processors.
fn for_all(f: impl Fn(usize, Kind, Provider) + Sync) {
    let all = PROVIDERS.iter().flat_map(|it| iter::repeat(*it).zip(KINDS));
    let all = Mutex::new(all.enumerate());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = all.lock().unwrap().next();
                    let Some((number, (provider, kind))) = next else {
                        break;
                    };
                    f(number, kind, provider);
                }
            });
        }
    });
}

/// Tries one of `one_of` single changes, others for each kind and provider, and as many plans of
/// several changes.
fn judge_some(one_of: usize, several: usize) {
    let judge = Judge::default();
    for_all(|number, kind, provider| {
        let ends = Ends::new(kind, provider);
        let singles = plans::single(&kind, ends.upstream.untouched());
        let some = singles.iter().skip(number * 17 % one_of).step_by(one_of);
        for (at, plan) in some.enumerate() {
            judge.judge(&ends, plan, at);
        }
        let mut noise = Noise::new(number as u64 + 1);
        for at in 0..several {
            judge.judge(&ends, &plans::several(&singles, &mut noise), at);
        }
    });
    judge.conclude();
}

#[test]
fn some_changes_to_records() {
    judge_some(131, 5);
}

#[test]
#[ignore = "takes minutes; see above"]
fn every_change_to_every_record() {
    judge_some(1, 2000);
}

#[test]
#[ignore = "takes minutes; see above"]
fn every_byte_in_the_clear() {
    let judge = Judge::default();
    for_all(|_, kind, provider| {
        let ends = Ends::new(kind, provider);
        let plans = plans::bytes(&kind, ends.upstream.untouched(), &[0, 3, 7]);
        for (number, plan) in plans.iter().enumerate() {
            judge.judge(&ends, plan, number);
        }
    });
    judge.conclude();
}

#[test]
fn hellos_rewritten_to_settle_for_less() {
    let judge = Judge::default();
    downgrade::judge(&judge);
    judge.conclude();
}

#[test]
fn some_changes_over_quic() {
    let judge = Judge::default();
    quic::judge(&judge, &[0], 97);
    judge.conclude();
}

#[test]
#[ignore = "takes minutes; see above"]
fn every_change_over_quic() {
    let judge = Judge::default();
    quic::judge(&judge, &[0, 3, 7], 1);
    judge.conclude();
}
