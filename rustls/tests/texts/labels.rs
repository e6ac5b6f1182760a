//! Labels of errors, and of the enums in events of observers. Dashboards contain them, so committed
//! lists have each of them.
//!
//! 0.23 has no labels, but every error of its public API is among those that are labelled here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rustls::client::EchStatus;
use rustls::observer::{
    Alert, Carrier, ClientCertificate, Direction, EarlyData, EarlyDataRejected, End, Fault,
    NotResumed, PeerChainCheck, SessionSource, TicketAction,
};
use rustls::{AlertDescription, Error, HandshakeKind, Side};

use crate::texts::errors::this::every_error;

/// The list of all labels, in alphabetical order. Lines are only ever added.
const LISTED: &str = include_str!("../../../docs/error-labels.txt");

/// The list of the labels in events.
const OF_EVENTS: &str = include_str!("../../../docs/observer-labels.txt");

/// Alerts whose variants are not named as in their RFC.
const ALERTS: [(AlertDescription, &str); 2] = [
    (AlertDescription::UnrecognisedName, "unrecognized_name"),
    (
        AlertDescription::EncryptedClientHelloRequired,
        "ech_required",
    ),
];

fn listed() -> Vec<&'static str> {
    lines(LISTED)
}

/// Returns the lines of a committed list.
fn lines(list: &'static str) -> Vec<&'static str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<_> = lines.collect();
    assert!(lines.is_sorted_by(|one, next| one < next));
    lines
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
fn labels_match_the_committed_list() {
    let labels: BTreeSet<_> = every_error().iter().map(|(_, it)| it.label()).collect();
    let listed = listed().into_iter().collect();
    let changed: Vec<_> = labels.symmetric_difference(&listed).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

/// A variant that 0.23 lacks may be missing in the lists of errors, but not in the table.
#[test]
fn every_line_of_the_table_is_in_the_committed_list() {
    let table = lines_of_table("../../core/src/error/label.rs");
    assert_eq!(table, listed().len());
}

/// Returns the number of labels in a source file.
fn lines_of_table(path: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let table = fs::read_to_string(path).unwrap();
    table.lines().filter(|line| line.ends_with("\",")).count()
}

/// Returns the labels of each enum in events, in the format of the committed list.
fn labels_of_events() -> Vec<String> {
    let mut lines = vec![
        "connection_failed.dropped".to_owned(),
        "connection_failed.end_of_stream".to_owned(),
    ];
    macro_rules! add {
        ($($enum:ident),* $(,)?) => {$(
            let name = snake_case(stringify!($enum));
            lines.extend($enum::LABELS.iter().map(|label| format!("{name}.{label}")));
        )*};
    }
    add!(
        Alert,
        AlertDescription,
        Carrier,
        ClientCertificate,
        Direction,
        EarlyData,
        EarlyDataRejected,
        EchStatus,
        End,
        Fault,
        HandshakeKind,
        NotResumed,
        PeerChainCheck,
        SessionSource,
        Side,
        TicketAction,
    );
    lines.sort();
    lines
}

#[test]
fn labels_of_events_match_the_committed_list() {
    assert_eq!(labels_of_events(), lines(OF_EVENTS));
    // no enum is missing here
    let table = lines_of_table("../src/config/observer/label.rs");
    let elsewhere = Side::LABELS.len() + AlertDescription::LABELS.len() + 2;
    assert_eq!(table + elsewhere, lines(OF_EVENTS).len());
}

#[test]
fn an_alert_has_the_same_label_in_an_error() {
    for value in 0..=u8::MAX {
        let alert = AlertDescription::from(value);
        let of_error = Error::AlertReceived(alert).label();
        assert_eq!(of_error, format!("alert_received.{}", alert.label()));
        assert!(AlertDescription::LABELS.contains(&alert.label()));
    }
}

#[test]
fn labels_are_short_and_in_snake_case() {
    for label in listed().into_iter().chain(lines(OF_EVENTS)) {
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
