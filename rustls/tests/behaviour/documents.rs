//! Claims of the documents that a test can check: names of tests, commands and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The tests exist that SECURITY.md and docs/differences.md name behind a link to their file.
#[test]
fn each_rule_has_the_tests_that_are_named_for_it() {
    for (document, least) in [("SECURITY.md", 60), ("docs/differences.md", 3)] {
        let mut tests = 0;
        let text = read(document);
        for (path, rest) in text.split("](").skip(1).filter_map(|it| it.split_once(')')) {
            if !path.ends_with(".rs") {
                continue;
            }
            let path = Path::new(document).with_file_name(path);
            let file = fs::read_to_string(root().join(&path)).unwrap();
            for name in names(rest) {
                assert!(
                    is_test(&file, name),
                    "{} has no test {name}",
                    path.display()
                );
                tests += 1;
            }
        }
        assert!(tests >= least, "{document}: {tests}");
    }
}

/// Returns the names at the start of `text`: "`name`, `name`".
fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((name, behind)) = [" `", ", `"]
        .iter()
        .find_map(|start| rest.strip_prefix(start)?.split_once('`'))
    {
        names.push(name);
        rest = behind;
    }
    names
}

/// True if `name` is a test of `file`. An attribute that skips it under Miri may stand in between.
fn is_test(file: &str, name: &str) -> bool {
    let function = format!("\nfn {name}()");
    let before = file.split_once(&function).map(|(before, _)| before);
    let attributes = before.unwrap_or_default().lines().rev();
    attributes
        .take_while(|line| line.starts_with("#["))
        .any(|line| line == "#[test]")
}

/// Returns the manifests of all packages, which name their test programs.
fn manifests() -> String {
    let workspace = read("Cargo.toml");
    let (_, members) = workspace.split_once("\nmembers = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let folders = members.split('"').skip(1).step_by(2);
    folders
        .map(|folder| read(&format!("{folder}/Cargo.toml")))
        .collect()
}

/// Returns the name and the text of each file of the manual.
fn chapters() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join("rustls/manual")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Returns the links that `text` defines: labels and targets.
fn definitions(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix('['));
    lines.filter_map(|line| line.split_once("]: ")).collect()
}

/// Returns the name by which a link leads to `heading`.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>();
    kept.replace(' ', "-")
}

/// True if `text` has a link to the target of `label`.
fn has_link(text: &str, label: &str) -> bool {
    let label = format!("[{label}]");
    let links = text.replace(&format!("\n{label}: "), "");
    let mut links = links.split(&label).skip(1);
    // not the text of a link to another target
    links.any(|behind| !behind.starts_with('['))
}

/// Each chapter defines the links that it has, for a forge. `links.md` defines them for rustdoc.
#[test]
fn links_of_the_manual_lead_to_files_and_headings() {
    let in_rustdoc = read("rustls/src/manual/links.md");
    let in_rustdoc = definitions(&in_rustdoc);
    let mut unused: BTreeSet<_> = in_rustdoc.keys().collect();
    for (chapter, text) in chapters() {
        let on_forge = definitions(&text);
        for (label, target) in &on_forge {
            let link = format!("{chapter}: [{label}]: {target}");
            assert!(has_link(&text, label), "{link}");
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = root().join("rustls/manual").join(path);
            assert!(path.exists(), "{link}");
            if target.contains(".md") {
                let of_rustdoc = format!("crate::manual::{}", target.replace(".md", ""));
                assert_eq!(in_rustdoc[label], of_rustdoc, "{link}");
            }
            let headings = fs::read_to_string(path).unwrap();
            let mut headings = headings.lines().filter_map(|line| line.strip_prefix("## "));
            assert!(
                heading.is_empty() || headings.any(|it| anchor(it) == heading),
                "{link}"
            );
        }
        let links = in_rustdoc.keys().copied();
        let links: BTreeSet<_> = links.filter(|label| has_link(&text, label)).collect();
        assert_eq!(links, on_forge.keys().copied().collect(), "{chapter}");
        unused.retain(|label| !links.contains(*label));
    }
    assert!(unused.is_empty(), "{unused:?}");
}

/// Packages, test programs and scripts that SECURITY.md and the manual name in commands exist.
#[test]
fn commands_of_the_documents_can_be_run() {
    let documents = ["README.md", "SECURITY.md", "CONTRIBUTING.md"].map(read);
    let manifests = manifests();
    let mut commands = 0;
    let manual = chapters().into_iter().map(|(_, text)| text);
    for text in documents.into_iter().chain(manual) {
        for command in text.split('`').skip(1).step_by(2) {
            let words: Vec<_> = command.split_whitespace().collect();
            let after = |flag| {
                words
                    .iter()
                    .skip_while(move |word| **word != flag)
                    .nth(1)
                    .copied()
            };
            let found = match words[..] {
                [script, ..] if script.starts_with("ci/") || script == "fuzz/run" => {
                    root().join(script).exists()
                }
                ["cargo", "test" | "run", ..] => {
                    let exists = |name: &str| manifests.contains(&format!("\nname = \"{name}\"\n"));
                    after("-p").is_none_or(exists) && after("--test").is_none_or(exists)
                }
                _ => continue,
            };
            assert!(found, "{command}");
            commands += 1;
        }
    }
    assert!(commands > 30, "{commands}");
}

/// Returns the digits in front of `unit`, which `text` has once.
fn count_before(text: &str, unit: &str) -> String {
    let (before, _) = text.split_once(unit).unwrap_or_else(|| panic!("{unit}"));
    let is_part = |c: char| c.is_ascii_digit() || c == ' ';
    let count = before.rsplit(|c| !is_part(c)).next().unwrap();
    count.trim().to_owned()
}

/// Counts that stand in several places, or that the repository itself shows, agree.
#[test]
fn counts_of_the_documents_agree() {
    let (readme, security) = (read("README.md"), read("SECURITY.md"));
    for (of_readme, of_security) in [
        (" cases pass, none fails", " passed, 0 failed, 1251 "),
        (" wrong messages", " cases: the same error"),
    ] {
        let (count, stated) = (
            count_before(&readme, of_readme),
            count_before(&security, of_security),
        );
        assert!(!count.is_empty());
        assert_eq!(count, stated, "{of_readme}");
    }
    assert!(readme.contains("fuzzing** of twelve targets"));
    assert!(security.contains("Fuzzing: twelve targets"));
    let targets = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    assert_eq!(targets.count(), 12);

    // of each run of BoGo: passed, failed, not implemented, disabled
    let runs = security.lines().filter(|line| line.starts_with("| BoGo"));
    for run in runs.clone() {
        let number = |text: &str| {
            text.trim()
                .split(' ')
                .next()
                .unwrap()
                .parse::<u32>()
                .unwrap()
        };
        let (title, results) = run.split_once(" | aws-lc-rs: ").unwrap();
        let cases = number(title.rsplit(',').next().unwrap());
        for results in [results, results.split_once("ring: ").unwrap().1] {
            let results = results.split(['.', ';']).next().unwrap();
            let sum: u32 = results.split(',').map(number).sum();
            assert_eq!(sum, cases, "{results}");
        }
    }
    assert_eq!(runs.count(), 2);

    let by_design = read("ci/public-api/by-design.txt");
    let is_item = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let items = by_design.lines().filter(is_item).count();
    let sentence = format!("{items} are missing or different by design");
    assert!(
        read("docs/differences.md").contains(&sentence),
        "{sentence}"
    );

    let drop_in = read("docs/drop-in.md");
    let crates = drop_in.lines().filter(|line| line.starts_with('|')).count() - 2;
    assert!(
        crates == 20 && readme.contains("the twenty published crates"),
        "{crates}"
    );
}
