//! `document`: writes BENCHMARKS.md from its template and the output of `all --json`, and the
//! picture of README. Then inserts its figures in the other documents.
//!
//! A line of the template in double braces is replaced by a table of the rows that it selects:
//!
//! ```text
//! {{machine}}                                      the header of the run
//! {{bulk suite=NAME threads=1 working_set=}}       rows with these values, or without the key
//! {{bulk provider!=TEXT}}                          rows whose value does not contain TEXT
//! {{bulk impl=this across=allocator main=KEY}}     columns for each value of `across`
//! {{bulk without=KEY}}                             no column for `KEY`
//! ```

mod figures;

use std::path::{Path, PathBuf};
use std::{env, fs};

use itertools::Itertools;
use serde_json::Value;

use crate::jobs::view_of;
use crate::machine;
use crate::plot::Picture;
use crate::processes::print;
use crate::row::Row;
use crate::tables::{self, Style, View, parts};
use crate::workload::Result;

const TEMPLATE: &str = include_str!("document/template.md");

/// Writes both files, from the results in `file`, to the repository, and the figures that other
/// documents quote. Without `file`, only those figures, from BENCHMARKS.md.
pub(crate) fn write(file: Option<PathBuf>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if let Some(file) = file {
        let rows = Row::read_all(&file)?;
        let picture = Picture::create(root.join("docs/results.svg"))?;
        fs::write(root.join("BENCHMARKS.md"), filled(TEMPLATE, &rows)?)?;
        let (view, mut rows) = select(&rows, PICTURE)?;
        rows.retain(|row| !["fill-buf", "open-into"].contains(&row.text("api")));
        picture.draw(&parts(view, &rows))?;
        print("wrote BENCHMARKS.md and docs/results.svg")?;
    }
    figures::insert(&root)?;
    print("inserted the figures of BENCHMARKS.md in the other documents")
}

/// The rows of the picture, which shows five of each provider: each API in both directions.
const PICTURE: &str = "bulk suite=TLS13_AES_128_GCM_SHA256 plaintext_size=16384 working_set= \
    allocator=system";

fn filled(template: &'static str, rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    for line in template.lines() {
        let braced = line.strip_prefix("{{");
        match braced.and_then(|line| line.strip_suffix("}}")) {
            Some("machine") => text += &runs(rows),
            Some(selection) => {
                let (view, mut selected) = select(rows, selection)?;
                if (view.across, view.main) == ("impl", "mb_per_s") {
                    selected = tables::with_slowest_offset(&selected);
                }
                let parts = parts(view, &selected).into_iter();
                text += &parts.map(|part| part.summary(Style::Markdown)).join("\n");
            }
            None => text += &format!("{line}\n"),
        }
    }
    Ok(text)
}

/// The machines and builds of `rows`, if they are of several runs, with the highest load of each.
fn runs(rows: &[Row]) -> String {
    let machines = rows.iter().filter_map(|row| row.get("machine"));
    let mut text = String::new();
    for (system, machines) in &machines.chunk_by(|machine| machine::system(machine)) {
        let loads = machines.map(|machine| (machine::build(machine), machine["load"].as_f64()));
        text += &format!("{system}\n");
        for (build, loads) in &loads.chunk_by(|(build, _)| build.clone()) {
            let highest = loads.filter_map(|(_, load)| load).fold(0.0, f64::max);
            text += &format!("{build} · load up to {highest}\n");
        }
    }
    text
}

/// The rows that `selection` describes, and their view.
fn select(rows: &[Row], selection: &'static str) -> Result<(View, Vec<Row>)> {
    let (bench, words) = selection.split_once(' ').unwrap_or((selection, ""));
    let mut rows = rows.to_vec();
    rows.retain(|row| row.text("bench") == bench);
    let mut view = view_of(&rows);
    for word in words.split_whitespace() {
        match word.split_once('=').ok_or("a selection without a value")? {
            ("across", key) => (view.across, view.once, view.side_by_side) = (key, "", ""),
            ("main", key) => view.main = key,
            ("once", keys) => view.once = keys,
            ("without", key) => rows = rows.into_iter().map(|row| row.without(key)).collect(),
            (key, value) => match key.strip_suffix('!') {
                Some(key) => rows.retain(|row| !row.text(key).contains(value)),
                None => rows.retain(|row| match row.get(key) {
                    Some(Value::String(text)) => text == value,
                    other => other.map_or_else(String::new, Value::to_string) == value,
                }),
            },
        }
    }
    if rows.is_empty() {
        return Err(format!("the results have no rows for {{{{{selection}}}}}").into());
    }
    Ok((view, rows))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::choices::{Allocator, Provider};
    use crate::jobs::JOBS;

    #[test]
    fn a_template_is_filled_with_the_selected_rows() {
        let row = |allocator, size: usize, rate: f64| {
            Row::new("bulk", "this", Provider::Ring, allocator)
                .with("plaintext_size", size)
                .with("mb_per_s", rate)
        };
        let rows = [
            row(Allocator::System, 64, 1.0),
            row(Allocator::System, 1000, 2000.0),
            row(Allocator::Jemalloc, 1000, 3000.0),
        ];
        let text = filled(
            "a\n{{bulk plaintext_size=1000 across=allocator working_set=}}\nb\n",
            &rows,
        );
        let expected = "\
a
ring · writes of 1000 bytes · MB/s

| system | jemalloc |
|--------|----------|
|   2000 |     3000 |
b
";
        assert_eq!(text.unwrap(), expected);
        assert!(filled("{{tcp}}", &rows).is_err());
    }

    #[test]
    fn a_template_leaves_out_rows_and_columns() {
        let row = |provider, version: &str, state: &str| {
            Row::new("handshake", "this", provider, Allocator::System)
                .with("suite", format!("suite of {version}"))
                .with("version", version)
                .with("state", state)
                .with("handshakes_per_s", 1000)
        };
        let rows = [
            row(Provider::Ring, "TLS 1.2", "fresh"),
            row(Provider::Ring, "TLS 1.2", "resumed"),
            row(Provider::Ring, "TLS 1.3", "resumed"),
            row(Provider::Fastest, "TLS 1.3", "resumed"),
        ];
        let text = filled(
            "{{handshake provider!=fastest state!=fre without=suite}}\n",
            &rows,
        );
        let expected = "\
ring · resumed · system allocator · handshakes/s

| version | rustls-inplace |
|---------|----------------|
| TLS 1.2 |           1000 |
| TLS 1.3 |           1000 |
";
        assert_eq!(text.unwrap(), expected);
    }

    #[test]
    fn runs_on_one_machine_share_one_line() {
        let row = |cpu: &str, commit: &str, load: f64| {
            let machine = serde_json::json!({ "cpu": cpu, "processors": 2, "kernel": "6.1",
                "compiler": "rustc 1.95.0", "commit": commit, "load": load });
            Row::new("tcp", "this", Provider::Ring, Allocator::System).with("machine", machine)
        };
        let rows = [
            row("A", "1", 1.5),
            row("A", "2", 2.5),
            row("A", "2", 1.5),
            row("B", "2", 1.5),
        ];
        let expected = "\
A, 2 threads · Linux 6.1
rustc 1.95.0 · commit 1 · load up to 1.5
rustc 1.95.0 · commit 2 · load up to 2.5
B, 2 threads · Linux 6.1
rustc 1.95.0 · commit 2 · load up to 1.5
";
        assert_eq!(filled("{{machine}}\n", &rows).unwrap(), expected);
    }

    #[test]
    fn every_job_has_a_selection_in_the_template_and_every_selection_a_job() {
        let selections = TEMPLATE.lines().filter_map(|line| line.strip_prefix("{{"));
        let names = selections.filter_map(|line| line.split([' ', '}']).next());
        let names: BTreeSet<_> = names.map(str::to_owned).collect();
        let jobs = JOBS.iter().map(|job| job.bench());
        assert_eq!(names, jobs.chain(["machine".to_owned()]).collect());
    }
}
