//! Labels of errors. Dashboards contain them, so a committed list has each of them.
//!
//! 0.23 has no labels, but every error of its public API is among those that are labelled here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rustls::{AlertDescription, Error};

use crate::texts::errors::this::every_error;

/// The list of all labels, in alphabetical order. Lines are only ever added.
const LISTED: &str = include_str!("../../../docs/error-labels.txt");

/// Alerts whose variants are not named as in their RFC.
const ALERTS: [(AlertDescription, &str); 2] = [
    (AlertDescription::UnrecognisedName, "unrecognized_name"),
    (
        AlertDescription::EncryptedClientHelloRequired,
        "ech_required",
    ),
];

fn listed() -> Vec<&'static str> {
    let lines = LISTED.lines();
    lines.filter(|line| !line.starts_with('#')).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut letters = name.chars().peekable();
    let mut in_capitals = true;
    while let Some(letter) = letters.next() {
        let begins_word = letters.peek().is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && !snake.is_empty() && (begins_word || !in_capitals) {
            snake.push('_');
        }
        in_capitals = letter.is_ascii_uppercase();
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Returns the label of an error by the rule, from the names of its variant and of the innermost
/// one (`path`).
fn label_by_name(path: &str, error: &Error) -> String {
    if let Error::AlertReceived(alert) = error {
        let exception = ALERTS.iter().find(|(exception, _)| exception == alert);
        let name = exception.map(|(_, name)| name.to_string());
        let name = name.unwrap_or_else(|| snake_case(alert.as_str().unwrap_or("Unknown")));
        return format!("alert_received.{name}");
    }
    let (parent, variant) = path.split_once("::").unwrap();
    let cause = snake_case(variant.strip_suffix("Context").unwrap_or(variant));
    if parent == "Error" {
        return cause;
    }
    let debug = format!("{error:?}");
    let (group, _) = debug.split_once('(').unwrap();
    format!("{}.{cause}", snake_case(group))
}

#[test]
fn every_error_is_labelled_with_the_name_of_its_variant() {
    for (path, error) in every_error() {
        assert_eq!(error.label(), label_by_name(path, &error), "{error:?}");
    }
}

#[test]
fn no_two_variants_share_a_label() {
    let mut variants = BTreeMap::<_, BTreeSet<_>>::new();
    for (path, error) in every_error() {
        let variant = match error {
            Error::AlertReceived(alert) => alert.as_str().unwrap_or("Unknown"),
            _ => path.strip_suffix("Context").unwrap_or(path),
        };
        variants.entry(error.label()).or_default().insert(variant);
    }
    variants.retain(|_, variants| variants.len() > 1);
    assert!(variants.is_empty(), "{variants:?}");
}

/// If a label changes or disappears, dashboards and alerting rules stop working without a message.
#[test]
fn labels_are_those_of_the_committed_list() {
    let labels: BTreeSet<_> = every_error().iter().map(|(_, it)| it.label()).collect();
    let listed = listed();
    assert!(listed.is_sorted_by(|one, next| one < next));
    let listed = listed.into_iter().collect();
    let changed: Vec<_> = labels.symmetric_difference(&listed).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

/// A variant that 0.23 lacks may be missing in the lists of errors, but not in the table.
#[test]
fn every_line_of_the_table_is_in_the_committed_list() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core/src/error/label.rs");
    let table = fs::read_to_string(path).unwrap();
    let lines = table.lines().filter(|line| line.ends_with("\","));
    assert_eq!(lines.count(), listed().len());
}

#[test]
fn labels_suit_the_names_of_metrics() {
    for label in listed() {
        let parts: Vec<_> = label.split('.').collect();
        assert!(parts.len() <= 2 && label.len() <= 80, "{label}");
        for part in parts {
            let mut letters = part.chars();
            assert!(letters.next().is_some_and(|it| it.is_ascii_lowercase()));
            let is_allowed = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
            assert!(letters.all(is_allowed), "{label}");
        }
    }
}
