//! Compares the public API of this workspace with that of rustls 0.23.46, item by item: signatures,
//! trait implementations and auto traits. `ci/api` runs it on the output of rustdoc.
//!
//! ```text
//! public-api-listing compare FOLDER [additions]   FOLDER has the rustdoc JSON of our crates
//! public-api-listing streams FILE [additions]     the same for our tokio-rustls and 0.26.6
//! public-api-listing list FILE                    the listing of one crate, to be the reference
//! ```
//!
//! `by-design.txt` next to this program's manifest lists the items that may be absent, with a
//! reason above their lines. Any other absence is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use crate::listing::{Crate, Listing, declared};

mod listing;

const PARTS: [&str; 3] = [
    "rustls_core.json",
    "rustls_provider_aws_lc.json",
    "rustls_provider_ring.json",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["compare", folder] => compare(Path::new(folder), false),
        ["compare", folder, "additions"] => compare(Path::new(folder), true),
        ["streams", file] => compare_streams(Path::new(file), false),
        ["streams", file, "additions"] => compare_streams(Path::new(file), true),
        ["list", file] => list(Path::new(file)),
        _ => Err(
            "expected: compare FOLDER [additions], streams FILE [additions], or list FILE"
                .to_owned(),
        ),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("public-api-listing: {error}");
            ExitCode::from(2)
        }
    }
}

fn list(file: &Path) -> Result<bool, String> {
    let krate = Crate::read(file)?;
    let listing = Listing::folded(&krate, &[]);
    let lines: BTreeSet<&str> = krate
        .lines()
        .filter(|line| {
            listing
                .normal_form(line)
                .is_some_and(|line| !line.is_empty())
        })
        .collect();
    for line in lines {
        println!("{line}");
    }
    Ok(true)
}

fn compare(folder: &Path, with_additions: bool) -> Result<bool, String> {
    let read = |name: &str| Crate::read(&folder.join(name));
    let parts: Vec<Crate> = PARTS.into_iter().map(read).collect::<Result<_, _>>()?;
    let listing = Listing::folded(&read("rustls.json")?, &parts);
    let comparison = Comparison::new(
        &listing,
        include_str!("../rustls-0.23.46.txt"),
        include_str!("../by-design.txt"),
    );
    Ok(comparison.print(with_additions))
}

fn compare_streams(file: &Path, with_additions: bool) -> Result<bool, String> {
    let listing = Listing::of_crate_over_rustls(&Crate::read(file)?);
    let reference = include_str!("../tokio-rustls-0.26.6.txt");
    println!("tokio-rustls:");
    Ok(Comparison::new(&listing, reference, "").print(with_additions))
}

/// The reference compared with this workspace.
#[derive(Default)]
struct Comparison {
    identical: usize,
    /// the number of lines, by reason
    by_design: BTreeMap<String, usize>,
    additions: BTreeSet<String>,
    problems: Vec<String>,
}

impl Comparison {
    fn new(ours: &Listing, reference: &str, by_design: &str) -> Self {
        let by_design = reasons(by_design, ours);
        let reference: BTreeSet<String> = reference
            .lines()
            .filter_map(|line| ours.normal_form(line))
            .collect();
        let ours = ours.compared();
        let names: BTreeSet<&str> = ours.iter().filter_map(|line| declared(line)).collect();

        let mut comparison = Self::default();
        for line in reference.difference(&ours) {
            if let Some(reason) = by_design.get(line) {
                *comparison.by_design.entry(reason.clone()).or_default() += 1;
                continue;
            }
            let is_different = declared(line).is_some_and(|name| names.contains(name));
            let kind = if is_different { "different" } else { "missing" };
            comparison.problems.push(format!("{kind}: {line}"));
        }
        for line in by_design.keys() {
            if ours.contains(line) {
                let problem = format!("here, so remove it from the list: {line}");
                comparison.problems.push(problem);
            } else if !reference.contains(line) {
                let problem = format!("on the list, but not in the reference: {line}");
                comparison.problems.push(problem);
            }
        }
        comparison.identical = reference.intersection(&ours).count();
        comparison.additions = ours.difference(&reference).cloned().collect();
        comparison
    }

    /// Prints the comparison. Returns true if it has no problems.
    fn print(&self, with_additions: bool) -> bool {
        print!("{}", self.summary());
        if with_additions {
            for line in &self.additions {
                println!("+ {line}");
            }
        }
        for problem in &self.problems {
            eprintln!("{problem}");
        }
        self.problems.is_empty()
    }

    fn summary(&self) -> String {
        let mut text = format!("{:6} identical\n", self.identical);
        let by_design: usize = self.by_design.values().sum();
        text += &format!("{by_design:6} gone or different by design\n");
        for (reason, count) in &self.by_design {
            text += &format!("{count:13} {reason}\n");
        }
        text + &format!("{:6} additions\n", self.additions.len())
    }
}

/// Returns the lines of a list, each with its reason: the last preceding line that starts with `#`.
fn reasons(list: &str, listing: &Listing) -> BTreeMap<String, String> {
    let mut reason = "";
    let mut reasons = BTreeMap::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(text) => reason = text,
            None => reasons.extend(listing.normal_form(line).map(|l| (l, reason.to_owned()))),
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Listing};

    const OURS: &str =
        "pub struct rustls::A\npub fn rustls::A::f(&self) -> u8\npub fn rustls::new()";

    fn compare(reference: &str, by_design: &str) -> Comparison {
        Comparison::new(&Listing::of_lines(OURS), reference, by_design)
    }

    #[test]
    fn missing_items_are_failures() {
        let gone = compare("pub struct rustls::A\npub struct rustls::B", "");
        assert_eq!(gone.problems, ["missing: pub struct rustls::B"]);
        assert_eq!(gone.identical, 1);
        let unimplemented = compare("impl core::marker::Send for rustls::A", "");
        assert_eq!(unimplemented.problems.len(), 1);
        let changed = compare("pub fn rustls::A::f(&self) -> u16", "");
        assert_eq!(
            changed.problems,
            ["different: pub fn rustls::A::f(&self) -> u16"]
        );
    }

    #[test]
    fn items_with_a_reason_are_counted() {
        let reference = "pub struct rustls::B\npub struct rustls::C\npub fn rustls::A::f(&self)";
        let comparison = compare(
            reference,
            "# of no use\npub struct rustls::B\n# other\npub struct rustls::C\npub fn rustls::A::f(&self)\n",
        );
        assert!(comparison.problems.is_empty(), "{:?}", comparison.problems);
        assert_eq!(comparison.by_design["of no use"], 1);
        assert_eq!(comparison.by_design["other"], 2);
        assert_eq!(comparison.additions.len(), 3);
    }

    #[test]
    fn outdated_list_entries_are_failures() {
        let here = compare("pub struct rustls::A", "# design\npub struct rustls::A");
        assert!(here.problems[0].contains("remove it from"));
        let unknown = compare("pub struct rustls::A", "# design\npub struct rustls::Z");
        assert!(unknown.problems[0].contains("not in the reference"));
    }
}
