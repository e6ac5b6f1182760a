//! The texts that programs print, log and compare are the same as those of 0.23.
//!
//! - `Display` and `Debug` of each variant of each public enum. The listing of 0.23's public API
//!   names the variants and types, so none can be forgotten.
//! - `Debug` of other values without secrets.
//! - Errors without a more specific variant, from calls that fail in both crates. This crate's text
//!   may have an addition in parentheses.
//!
//! The labels of errors, which 0.23 lacks, are compared with a committed list.

#![allow(unreachable_pub, reason = "the macros over both crates make modules")]

mod configs;
mod connections;
mod enums;
mod errors;
mod labels;
mod listing;
mod log;
mod peer_errors;
mod primitives;

use std::collections::BTreeSet;
use std::fmt::Display;

use harness::comparison::{Judge, Section, agree};
use harness::peers::configs::{PROVIDERS, Provider};
use log::{Log, Printed};
use rustls::Error;

/// Enums that only contain connections, keys or bytes, and whose text is not compared.
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

fn upstream() -> Vec<Printed> {
    let [errors, enums] = [errors::upstream::all(), enums::upstream::all()];
    errors.0.into_iter().chain(enums.0).collect()
}

/// Fails unless both lists are the same.
fn compare<T: Display + PartialEq>(ours: &[T], theirs: &[T]) {
    let judge = Judge::new(Section::Any);
    judge.texts(ours, theirs, T::eq);
    judge.conclude(&[]);
}

/// Fails unless the calls of both crates had the same results. This crate's text of an error may
/// continue in parentheses.
fn compare_calls(calls: impl Fn(Provider) -> [Log; 2]) {
    let judge = Judge::new(Section::Any);
    for provider in PROVIDERS {
        let [ours, theirs] = calls(provider);
        let agree =
            |ours: &Printed, theirs: &Printed| agree(&ours.to_string(), &theirs.to_string());
        judge.texts(&ours.0, &theirs.0, agree);
    }
    judge.conclude(&[]);
}

#[test]
fn every_value_has_the_texts_of_0_23() {
    compare(&errors::this::all().0, &errors::upstream::all().0);
    compare(&enums::this::all().0, &enums::upstream::all().0);
}

#[test]
fn errors_equal_each_other_as_in_0_23() {
    compare(
        &errors::this::equal_errors(),
        &errors::upstream::equal_errors(),
    );
}

#[test]
fn errors_have_the_alerts_of_0_23_or_a_reason() {
    let judge = Judge::new(Section::Any);
    let is_explained = |ours: &String, theirs: &String| {
        ours == theirs || judge.explains(ours, theirs, "the alert of an error")
    };
    judge.texts(
        &errors::this::alerts(),
        &errors::upstream::alerts(),
        is_explained,
    );
    judge.conclude(&[]);
    for (_, cause) in peer_errors::this::invalid_messages() {
        assert_eq!(Error::from(cause).alert(), Some(cause.into()), "{cause:?}");
    }
    for (_, cause) in errors::this::certificate_errors() {
        let alert = Some(cause.clone().into());
        assert_eq!(Error::from(cause.clone()).alert(), alert, "{cause:?}");
    }
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
fn every_type_that_implements_display_is_compared() {
    let displayed: BTreeSet<_> = upstream()
        .into_iter()
        .filter(|printed| printed.has_display)
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
    use primitives::{this, upstream};
    compare_calls(|provider| [this::all(provider), upstream::all(provider)]);
}

#[test]
fn failed_calls_of_connections_have_the_texts_of_0_23() {
    use connections::{this, upstream};
    compare_calls(|provider| [this::all(provider), upstream::all(provider)]);
}

#[test]
fn configurations_that_cannot_be_used_have_the_texts_of_0_23() {
    use configs::{this, upstream};
    let list = configs::list();
    compare_calls(|provider| [this::all(provider, &list), upstream::all(provider, &list)]);
}
