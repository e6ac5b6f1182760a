//! Feeds the same invalid bytes to both APIs of this crate and to upstream. Error and alert must be
//! the same, except for documented deviations.
//!
//! Both crates use a provider that encrypts nothing ([`harness::providers::transparent`]), so every
//! byte of every handshake message can be changed and still arrives. The peer's output is recorded
//! once ([`harness::scripted::recorded`]). It is changed in every way that [`bytes`], [`messages`],
//! [`fragments`], [`extensions`], [`records`] and [`quic`] implement, and replayed to fresh
//! connections. [`old_clients`] adds hellos of old clients. [`harness::comparison`] compares the
//! outcomes, and the accessors after a failure.

mod bytes;
mod extensions;
mod fragments;
mod messages;
mod old_clients;
mod quic;
mod random;
mod records;
mod splits;

use std::thread;

use harness::comparison::{Judge, Section};

#[test]
fn outcomes_match_upstream_or_differ_for_a_listed_reason() {
    let judge = Judge::new(Section::Any);
    thread::scope(|scope| {
        scope.spawn(|| bytes::compare(&judge));
        scope.spawn(|| {
            messages::compare(&judge);
            extensions::compare(&judge);
            fragments::compare(&judge);
            records::compare(&judge);
            quic::compare(&judge);
            old_clients::compare(&judge);
        });
    });
    judge.conclude(&[Section::Any, Section::Accessors]);
}
