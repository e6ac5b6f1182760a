//! `document`: writes BENCHMARKS.md from its template and the output of `all --json`, and the
//! picture of README.
//!
//! A line of the template in double braces is replaced by a table of the rows that it selects:
//!
//! ```text
//! {{machine}}                                      the header of the run
//! {{bulk suite=NAME threads=1 working_set=}}       rows with these values, or without the key
//! {{bulk impl=this across=allocator main=KEY}}     columns for each value of `across`
//! ```

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::plot::Picture;
use crate::row::Row;
use crate::tables::{self, Style, View, parts};
use crate::workload::Result;
use crate::{machine, report};

const TEMPLATE: &str = include_str!("document/template.md");

/// Writes both files, from the results in `file`, to the repository.
pub(crate) fn write(file: &Path) -> Result<()> {
    let rows = Row::read_all(file)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let picture = Picture::create(root.join("docs/results.svg"))?;
    fs::write(root.join("BENCHMARKS.md"), filled(TEMPLATE, &rows)?)?;
    picture.draw(&select(&rows, PICTURE)?.1)?;
    report::print("wrote BENCHMARKS.md and docs/results.svg")
}

/// The rows of the picture.
const PICTURE: &str =
    "bulk suite=TLS13_AES_128_GCM_SHA256 plaintext_size=16384 working_set= allocator=system";

fn filled(template: &str, rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    for line in template.lines() {
        match line
            .strip_prefix("{{")
            .and_then(|line| line.strip_suffix("}}"))
        {
            Some("machine") => {
                let machine = rows.first().and_then(|row| row.get("machine"));
                text += &machine::header(machine.unwrap_or(&Value::Null));
            }
            Some(selection) => {
                let (view, mut selected) = select(rows, selection)?;
                if view.across == "impl" && view.main == ["mb_per_s"] {
                    selected = tables::with_slowest_offset(&selected);
                }
                let tables = parts(&view, &selected);
                let tables = tables
                    .iter()
                    .map(|part| format!("{}\n\n{}", part.heading(), part.summary(Style::Markdown)));
                text += &tables.collect::<Vec<_>>().join("\n");
            }
            None => text += &format!("{line}\n"),
        }
    }
    Ok(text)
}

/// The rows that `selection` describes, and their view.
fn select(rows: &[Row], selection: &str) -> Result<(View, Vec<Row>)> {
    let mut words = selection.split_whitespace();
    let bench = words.next().unwrap_or_default();
    let mut view = View::of(bench);
    let mut rows = rows.to_vec();
    rows.retain(|row| row.text("bench") == bench);
    for word in words {
        match word.split_once('=').ok_or("a selection without a value")? {
            ("across", key) => {
                view.across = key.to_owned();
                view.once.clear();
                view.side_by_side.clear();
            }
            ("main", key) => view.main = vec![key.to_owned()],
            (key, value) => rows.retain(|row| match row.get(key) {
                Some(Value::String(text)) => text == value,
                other => other.map_or_else(String::new, Value::to_string) == value,
            }),
        }
    }
    if rows.is_empty() {
        return Err(format!("the results have no rows for {{{{{selection}}}}}").into());
    }
    Ok((view, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Allocator, Provider};

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
    fn every_selection_of_the_template_names_a_subcommand() {
        let selections = TEMPLATE.lines().filter_map(|line| line.strip_prefix("{{"));
        let names: Vec<_> = selections
            .filter_map(|line| line.split([' ', '}']).next())
            .collect();
        assert!(names.len() > 10);
        for name in names {
            assert!(
                crate::all::BENCHES.contains(name) || name == "machine",
                "{name}"
            );
        }
    }
}
