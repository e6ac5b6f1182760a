//! The table of intended differences from upstream's results, `deviations.txt`.

use std::borrow::Cow;
use std::sync::LazyLock;

/// An intended difference. The fields are patterns, in which a `*` matches anything.
pub(super) struct Deviation {
    pub(super) section: Section,
    /// The result, as `error / alert` (the alert's number, or `none`) or as the accessors' values.
    pub(super) ours: &'static str,
    pub(super) theirs: &'static str,
    /// A part of the case's description.
    case: &'static str,
}

/// The comparisons in which a difference occurs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Section {
    Any,
    /// Comparisons of two live endpoints.
    Live,
    /// Comparisons that also feed the flights after the changed one.
    Later,
    /// Comparisons of accessors, after the same error and alert.
    Accessors,
}

const SECTIONS: [(&str, Section); 4] = [
    ("[any]", Section::Any),
    ("[live]", Section::Live),
    ("[later]", Section::Later),
    ("[accessors]", Section::Accessors),
];

/// All rows, in the order in which they are tried.
pub(super) static TABLE: LazyLock<Vec<Deviation>> =
    LazyLock::new(|| read(include_str!("deviations.txt")));

impl Deviation {
    /// True if the two results of a case differ in this way.
    pub(super) fn covers(&self, ours: &str, theirs: &str, case: &str) -> bool {
        let within = ["*", self.case, "*"].concat();
        matches(self.ours, &readable(ours, self.ours))
            && matches(self.theirs, &readable(theirs, self.theirs))
            && matches(&within, case)
    }
}

/// Returns the result, with the pattern's alert in place of an unreadable one.
fn readable<'a>(result: &'a str, pattern: &str) -> Cow<'a, str> {
    match (result.strip_suffix('?'), pattern.rsplit_once(' ')) {
        (Some(error), Some((_, alert))) => format!("{error}{alert}").into(),
        _ => result.into(),
    }
}

/// True if `name` matches `pattern`, in which each `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, pattern)) => name.strip_prefix(start).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(pattern, &rest[at..]))
        }),
    }
}

/// # Panics
///
/// Panics if a row lacks a required field, or has an unknown one.
fn read(table: &'static str) -> Vec<Deviation> {
    let mut rows = Vec::new();
    let mut section = Section::Any;
    for paragraph in table.split("\n\n") {
        let lines = || paragraph.lines().filter(|line| !line.starts_with('#'));
        let field = |name: &str| lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
        if let Some((_, named)) = SECTIONS.iter().find(|(header, _)| field(header).is_some()) {
            section = *named;
        } else if lines().next().is_some() {
            let is_known = |line: &str| FIELDS.iter().any(|name| line.starts_with(name));
            let [ours, theirs, because, case] = FIELDS.map(field);
            assert!(lines().all(is_known) && because.is_some(), "{paragraph}");
            rows.push(Deviation {
                section,
                ours: ours.expect("ours"),
                theirs: theirs.expect("theirs"),
                case: case.unwrap_or_default(),
            });
        }
    }
    rows
}

/// The names of a row's fields. Only the last one may be missing.
const FIELDS: [&str; 4] = ["ours ", "theirs ", "because ", "case "];
