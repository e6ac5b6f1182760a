//! The intended differences between this crate and upstream in their reactions to wrong bytes, with
//! reasons.

mod noted;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use noted::noted;

/// An intended difference.
///
/// Patterns are `error / alert`: the error as printed, and the alert as a number or `none`. A `*`
/// matches anything.
pub struct Deviation {
    pub ours: &'static str,
    pub theirs: &'static str,
    /// A substring of the case's description; a `*` in it matches anything, too.
    pub case: &'static str,
    /// The reason: the RFC's MUST, if there is one.
    pub because: &'static str,
}

impl Deviation {
    /// True if the two outcomes of a case differ in this way.
    pub fn covers(&self, ours: &str, theirs: &str, case: &str) -> bool {
        let within = ["*", self.case, "*"].concat();
        matches(self.ours, ours) && matches(self.theirs, theirs) && matches(&within, case)
    }
}

/// The index in [`DEVIATIONS`] of the deviation between these outcomes of a case.
pub fn find(ours: &str, theirs: &str, case: &str) -> Option<usize> {
    let covers = |deviation: &Deviation| deviation.covers(ours, theirs, case);
    DEVIATIONS.iter().position(covers)
}

/// True if `name` matches `pattern`, in which each `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, pattern)) => name.strip_prefix(start).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(pattern, &rest[at..]))
        }),
    }
}

/// Reads a table. Its entries are paragraphs of lines, each a field's name and its text. Without
/// `case`, an entry covers any. Lines with `#` are comments.
///
/// # Panics
///
/// If an entry lacks another field or has an unknown one.
pub fn read(table: &'static str) -> Vec<Deviation> {
    let lines = |paragraph: &'static str| paragraph.lines().filter(|line| !line.starts_with('#'));
    let entries = table.split("\n\n").filter(|it| lines(it).next().is_some());
    entries.map(|it| entry(lines(it))).collect()
}

fn entry(lines: impl Iterator<Item = &'static str>) -> Deviation {
    let [mut ours, mut theirs, mut case, mut because] = [None, None, Some(""), None];
    for line in lines {
        let (name, text) = line.split_once(' ').expect("a name and a text");
        let field = match name {
            "ours" => &mut ours,
            "theirs" => &mut theirs,
            "case" => &mut case,
            "because" => &mut because,
            _ => panic!("unknown field: {line}"),
        };
        *field = Some(text.trim());
    }
    Deviation {
        ours: ours.expect("ours"),
        theirs: theirs.expect("theirs"),
        case: case.unwrap_or_default(),
        because: because.expect("because"),
    }
}

/// The differences that appear in any case.
pub static DEVIATIONS: LazyLock<Vec<Deviation>> =
    LazyLock::new(|| read(include_str!("deviations/all.txt")));

/// Differences that appear only if the flights after the changed one are received, as in the fuzz
/// target `differential`.
static LATER_DEVIATIONS: LazyLock<Vec<Deviation>> =
    LazyLock::new(|| read(include_str!("deviations/later.txt")));

/// The differences between the accessors of connections that failed in the same way.
pub static ACCESSOR_DEVIATIONS: LazyLock<Vec<Deviation>> =
    LazyLock::new(|| read(include_str!("deviations/accessors.txt")));

/// True if a deviation covers these outcomes of a case in which all flights were received.
pub fn is_known(ours: &str, theirs: &str, case: &str) -> bool {
    let mut later = LATER_DEVIATIONS.iter();
    find(ours, theirs, case).is_some() || later.any(|it| it.covers(ours, theirs, case))
}

/// Differences that were found: each kind with its count and a few examples.
#[derive(Default)]
pub struct Differences(BTreeMap<String, (usize, Vec<String>)>);

impl Differences {
    pub fn add(&mut self, kind: String, example: &str) {
        let (count, examples) = self.0.entry(kind).or_default();
        *count += 1;
        if examples.len() < 5 {
            examples.push(example.to_owned());
        }
    }

    /// True if there are none. Prints them otherwise.
    pub fn is_empty(&self) -> bool {
        for (kind, (count, examples)) in &self.0 {
            println!("{count} times: {kind}");
            for example in examples {
                println!("    {example:.300}");
            }
        }
        self.0.is_empty()
    }
}
