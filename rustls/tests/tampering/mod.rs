//! A man in the middle attacks whole connections between two live ends, with real encryption:
//! handshakes of all kinds, data in both directions, KeyUpdates, tickets and close_notify.
//!
//! The attacker has the records of both ends and of their other connections, but no keys. Four
//! properties hold for every attack:
//!
//! 1. *No wrong accept.* The data that an end receives is a prefix of the data sent, and all of it
//!    if the stream ends cleanly. Early data is accepted at most once. When both handshakes are
//!    complete, both ends have negotiated the same values as without the attacker: version, suite,
//!    group, ALPN, kind of handshake, exporters, certificates and server name. No byte of the
//!    handshake that either end used was changed ([`transcript`]).
//! 2. *No panic.*
//! 3. *No hang.* Both event loops end with an error, cleanly, or waiting for lost bytes. In the
//!    last case, the end of the stream is not clean. A failed end sends at most one alert, repeats
//!    its error, and sends nothing else.
//! 4. *As upstream.* An end of this crate reacts with the same error and alert as upstream's end
//!    would, unless the table of [`harness::comparison`] explains the difference. If one record is
//!    changed, its receiver is compared, and also its sender unless the position of its bytes
//!    matters.
//!
//! `kinds` has the connections, `plans` the changes, `conversation` the event loops and properties
//! 1 to 3, and `judge` the fourth. `downgrade` and `replay` have special cases. Each plan is tried
//! on four pairs of ends: upstream with itself, this crate's client with upstream, upstream with
//! this crate's server, and this crate with itself in two APIs. Over QUIC, the attacker changes the
//! bytes that TLS receives.
//!
//! The quick tests try some plans. This command tries all of them, and several bit flips in each
//! unencrypted byte:
//!
//! ```text
//! cargo test --release -p rustls-tests --test comparisons tampering -- --ignored --nocapture
//! ```

mod conversation;
mod downgrade;
mod judge;
mod kinds;
mod middle;
mod plans;
mod replay;
mod transcript;

use std::sync::Mutex;
use std::{iter, thread};

use harness::peers::configs::{PROVIDERS, Provider};
use harness::wire::Noise;
use judge::{Ends, Judge};
use kinds::{KINDS, Kind};

/// Calls `f` for each kind with each provider and a number, on one thread per processor.
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

/// Tries one in `one_of` single changes, different ones for each kind and provider, and `several`
/// plans of several changes.
fn judge_some(one_of: usize, several: usize) {
    let judge = Judge::new();
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
fn sampled_changes_to_records_violate_no_property() {
    judge_some(131, 5);
}

#[test]
#[ignore = "takes minutes; see above"]
fn all_changes_to_records_violate_no_property() {
    judge_some(1, 2000);
}

#[test]
#[ignore = "takes minutes; see above"]
fn changes_to_unencrypted_bytes_violate_no_property() {
    let judge = Judge::new();
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
fn hellos_rewritten_for_a_downgrade_are_refused() {
    let judge = Judge::new();
    downgrade::judge(&judge);
    judge.conclude();
}

/// Tries one in `one_of` changes over QUIC, and flips these bits.
fn judge_quic(bits: &[u32], one_of: usize) {
    let judge = Judge::new();
    for_all(|number, kind, provider| {
        let Some(kind) = kind.over_quic() else {
            return;
        };
        let ends = Ends::new(kind, provider);
        let plans = plans::over_quic(&kind, ends.upstream.untouched(), bits);
        for plan in plans.iter().skip(number % one_of).step_by(one_of) {
            judge.judge(&ends, plan, number);
        }
    });
    judge.conclude();
}

#[test]
fn sampled_changes_over_quic_violate_no_property() {
    judge_quic(&[0], 97);
}

#[test]
#[ignore = "takes minutes; see above"]
fn all_changes_over_quic_violate_no_property() {
    judge_quic(&[0, 3, 7], 1);
}
