//! The same wrong bytes to this crate, on both of its APIs, and to upstream: the same error and the
//! same alert, or a reason why not.
//!
//! Both crates use a provider that encrypts nothing ([`harness::transparent`]), so that every byte
//! of every handshake message can be changed and still arrives. What the peer sends is recorded
//! once ([`harness::recorded`]), changed in each way that [`bytes`], [`messages`], [`extensions`]
//! [`records`] and [`quic`] know, and replayed to fresh connections. Where the outcomes differ, the
//! table in [`harness::deviations`] must say why.

mod bytes;
mod extensions;
mod judge;
mod messages;
mod quic;
mod random;
mod records;
mod splits;

use std::thread;

use judge::Judge;

#[test]
fn the_outcome_is_upstreams_or_there_is_a_reason() {
    let judge = Judge::default();
    thread::scope(|scope| {
        scope.spawn(|| bytes::compare(&judge));
        scope.spawn(|| {
            messages::compare(&judge);
            extensions::compare(&judge);
            records::compare(&judge);
            quic::compare(&judge);
        });
    });
    judge.conclude();
}
