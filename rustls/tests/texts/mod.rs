//! Texts that programs print, log and compare equal those of 0.23.
//!
//! - `Display` and `Debug` of each variant of each public enum. The listing of 0.23's public API
//!   names the variants and types, so none can be forgotten.
//! - Errors that consist of a text, from calls that fail in both crates. This crate's text may add
//!   something in parentheses.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod configs;
mod connections;
mod enums;
mod errors;
mod listing;
mod log;
mod peer_errors;
mod primitives;
mod printed;

use std::collections::BTreeSet;

use harness::peers::configs::PROVIDERS;
use printed::Printed;

/// Enums that contain connections, keys or bytes, and have no text of their own.
const WITHOUT_TEXT: [&str; 8] = [
    "rustls::Connection::",
    "rustls::ConnectionTrafficSecrets::",
    "rustls::client::EchMode::",
    "rustls::compress::CompressionCache::",
    "rustls::crypto::cipher::OutboundChunks::",
    "rustls::quic::Connection::",
    "rustls::quic::KeyChange::",
    "rustls::unbuffered::ConnectionState::",
];

fn this() -> Vec<Printed> {
    [errors::this::all(), enums::this::all()]
        .into_iter()
        .flatten()
        .collect()
}

fn upstream() -> Vec<Printed> {
    [errors::upstream::all(), enums::upstream::all()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_value_has_the_texts_of_0_23() {
    let (ours, theirs) = (this(), upstream());
    let pairs = ours.iter().zip(&theirs);
    let different: Vec<_> = pairs
        .filter(|(ours, theirs)| ours != theirs)
        .map(|(ours, theirs)| format!("ours   {ours:?}\ntheirs {theirs:?}"))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn every_variant_of_every_public_enum_is_compared() {
    let compared: BTreeSet<_> = upstream().into_iter().map(|printed| printed.path).collect();
    let mut listed = listing::variants();
    listed.retain(|path| !WITHOUT_TEXT.iter().any(|prefix| path.starts_with(prefix)));
    let forgotten: Vec<_> = listed.difference(&compared).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
    assert_eq!(listed.len(), 731);
}

#[test]
fn every_type_with_a_display_is_compared() {
    let displayed: BTreeSet<_> = upstream()
        .into_iter()
        .filter(Printed::has_display)
        .map(|printed| printed.path)
        .collect();
    for listed in listing::displayed() {
        assert!(
            displayed.iter().any(|path| path.starts_with(&listed)),
            "{listed}"
        );
    }
}

#[test]
fn failed_calls_of_providers_and_verifiers_have_the_texts_of_0_23() {
    for provider in PROVIDERS {
        let theirs = primitives::upstream::all(provider);
        primitives::this::all(provider).assert_agrees(&theirs);
    }
}

#[test]
fn failed_calls_of_connections_have_the_texts_of_0_23() {
    for provider in PROVIDERS {
        let theirs = connections::upstream::all(provider);
        connections::this::all(provider).assert_agrees(&theirs);
    }
}

#[test]
fn configurations_that_cannot_be_used_have_the_texts_of_0_23() {
    let list = configs::list();
    for provider in PROVIDERS {
        let theirs = configs::upstream::all(provider, &list);
        configs::this::all(provider, &list).assert_agrees(&theirs);
    }
}
