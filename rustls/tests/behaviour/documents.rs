//! Claims of the documents that a test can check: names of tests, commands and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use harness::peers::configs::{KeyType, PROVIDERS, Versions, product};
use harness::peers::pairs::this::Configs;
use harness::peers::pairs::this::buffered::{Pair, take_in};
use rustls::ClientConnection;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The tests that `docs/rules.txt` names for its rules exist. It has a rule in each paragraph: the
/// subject, the rule, paths of files, and the tests in each file, each indented further.
#[test]
fn each_rule_has_the_tests_that_are_named_for_it() {
    let text = read("docs/rules.txt");
    let (mut rules, mut tests) = (0, 0);
    for rule in text.split("\n\n").filter(|rule| !rule.starts_with('#')) {
        let mut file = String::new();
        let mut has_test = false;
        for line in rule.lines() {
            if let Some(name) = line.strip_prefix("      ") {
                assert!(is_test(&file, name), "{rule}: no test {name}");
                (has_test, tests) = (true, tests + 1);
            } else if let Some(path) = line.strip_prefix("    ") {
                file = read(path.strip_suffix(':').unwrap());
            }
        }
        assert!(has_test, "{rule}");
        rules += 1;
    }
    assert!(rules >= 16 && tests >= 60, "{rules} {tests}");
}

/// The tests that docs/differences.md names after a link to their file exist.
#[test]
fn differences_have_the_tests_that_are_named_for_them() {
    let text = read("docs/differences.md");
    let mut tests = 0;
    for (path, rest) in text.split("](").skip(1).filter_map(|it| it.split_once(')')) {
        if !path.ends_with(".rs") {
            continue;
        }
        let file = read(&format!("docs/{path}"));
        let Some((name, _)) = rest.strip_prefix(" `").and_then(|it| it.split_once('`')) else {
            continue;
        };
        assert!(is_test(&file, name), "{path} has no test {name}");
        tests += 1;
    }
    assert!(tests >= 3, "{tests}");
}

/// True if `name` is a test of `file`. An attribute that skips it under Miri may precede `fn`.
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

/// Sends the start of `file`. README has the same lines.
fn send(tls: &mut ClientConnection, mut file: impl Read, mut socket: impl Write) -> io::Result<()> {
    let room = tls.in_place_room();
    let (start, end) = (room.headroom, room.headroom + room.max_payload);
    let mut buffer = vec![0; end + room.tailroom];

    let len = file.read(&mut buffer[start..end])?;
    tls.send_in_place(&mut buffer, start..start + len, &mut socket)?;
    Ok(())
}

#[test]
fn the_program_in_the_readme_encrypts_a_file() {
    for (provider, versions) in product(PROVIDERS, [Versions::Tls12, Versions::Tls13]) {
        let configs = Configs::new(versions, provider.this(), KeyType::EcdsaP256);
        let mut pair = Pair::connect(&configs).unwrap();
        let mut wire = Vec::new();
        send(&mut pair.client, &b"a file"[..], &mut wire).unwrap();
        let mut received = [0; 100];
        let len = take_in(&mut pair.server, &wire, &mut received).unwrap();
        assert_eq!(&received[..len], b"a file");
    }

    let readme = read("README.md");
    let (_, program) = readme.split_once("```rust,ignore\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    assert!(lines(include_str!("documents.rs")).contains(&lines(program)));
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

/// Returns the fragment of a link to `heading`.
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

/// Each chapter defines its links to other chapters for readers of the repository. `links.md`
/// defines them for rustdoc, with those to items of the API, which `manual.rs` lists below each
/// chapter.
#[test]
fn links_in_the_manual_lead_to_chapters_and_headings() {
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
            assert!(target.contains(".md"), "{link}");
            let of_rustdoc = format!("crate::manual::{}", target.replace(".md", ""));
            assert_eq!(in_rustdoc[label], of_rustdoc, "{link}");
            let headings = fs::read_to_string(path).unwrap();
            let mut headings = headings.lines().filter_map(|line| line.strip_prefix("## "));
            let is_found = heading.is_empty() || headings.any(|it| anchor(it) == heading);
            assert!(is_found, "{link}");
        }
        let links = in_rustdoc.keys().copied();
        let links: BTreeSet<_> = links.filter(|label| has_link(&text, label)).collect();
        assert_eq!(links, on_forge.keys().copied().collect(), "{chapter}");
        unused.retain(|label| !links.contains(*label));
    }
    let lists = read("rustls/src/manual.rs");
    unused.retain(|label| !has_link(&lists, label));
    assert!(unused.is_empty(), "{unused:?}");
}

/// The packages, test programs and scripts that the documents' commands name exist.
#[test]
fn commands_in_the_documents_can_be_run() {
    let documents = ["README.md", "docs/assurance.md", "CONTRIBUTING.md"].map(read);
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

/// Returns the text of a document in one line.
fn words(path: &str) -> String {
    let text = read(path);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the digits before `unit`, which `text` contains once.
fn count_before(text: &str, unit: &str) -> String {
    let (before, _) = text.split_once(unit).unwrap_or_else(|| panic!("{unit}"));
    let is_part = |c: char| c.is_ascii_digit() || c == ' ';
    let count = before.rsplit(|c| !is_part(c)).next().unwrap();
    count.trim().to_owned()
}

/// Counts that several documents state, or that the repository itself determines, agree.
#[test]
fn counts_in_the_documents_agree() {
    let (readme, assurance) = (words("README.md"), words("docs/assurance.md"));
    let count = count_before(&readme, " wrong messages");
    assert_eq!(count, count_before(&assurance, " cases. The same error"));
    assert!(readme.contains("fuzzing** of twelve targets"));
    assert!(assurance.contains("**Fuzzing**: twelve targets"));
    let targets = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    assert_eq!(targets.count(), 12);

    // of each run of BoGo: passed, failed, not implemented, disabled, and all of them
    let cells = |row: &str| {
        let cells = row.split('|').filter_map(|cell| cell.trim().parse().ok());
        <[u32; 5]>::try_from(cells.collect::<Vec<_>>()).ok()
    };
    let results = read("docs/assurance.md");
    let runs: Vec<_> = results.lines().filter_map(cells).collect();
    for [passed, failed, not_implemented, disabled, cases] in &runs {
        assert_eq!(passed + failed + not_implemented + disabled, *cases);
    }
    assert_eq!(runs.len(), 4);
    let [passed, ..] = runs[0];
    assert!(readme.contains(&format!("{passed} cases pass, none fails")));

    let by_design = read("ci/public-api/by-design.txt");
    let is_item = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let items = by_design.lines().filter(is_item).count();
    let sentence = format!("{items} are missing or different by design");
    let differences = words("docs/differences.md");
    assert!(differences.contains(&sentence), "{sentence}");

    let drop_in = read("docs/drop-in.md");
    let crates = drop_in.lines().filter(|line| line.starts_with('|')).count() - 2;
    assert!(
        crates == 20 && readme.contains("the twenty published crates"),
        "{crates}"
    );
}
