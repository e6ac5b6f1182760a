//! The table, for a terminal and in Markdown.

use std::fmt::Write;

use driver::document;

use crate::results::{Results, Row};

/// Parts of the names of scenarios that BENCHMARKS.md leaves out: they combine what others show.
const COMBINATIONS: [&str; 3] = [
    "bulk TLS 1.2",
    "TLS 1.2 RSA-2048",
    "RSA-2048 X25519MLKEM768",
];

/// Returns the ratios of all rows for a terminal, with the two rows of a scenario below its name.
/// `*` marks the best of a row, and what is less than 1 % behind it.
pub(crate) fn terminal(results: &Results<'_>) -> String {
    let short = |name: &str| {
        let name = name.rsplit(", ").next().unwrap_or(name);
        name.trim_start_matches("rustls ").replace(' ', "-")
    };
    let names = results.contenders.iter().map(|known| short(known.name));
    let mut lines = vec![[String::new()].into_iter().chain(names).collect()];
    let baseline = results.baseline();
    let mut shown = String::new();
    for row in results.rows() {
        let (scenario, side) = row.name.split_once(", ").unwrap_or((&row.name, ""));
        if shown != scenario {
            shown = scenario.to_owned();
            lines.push(vec![format!("{scenario}, {}", row.unit)]);
        }
        let cells = cells(&row, baseline, "", |text| format!("*{text}"));
        lines.push([side.to_owned()].into_iter().chain(cells).collect());
    }
    document::terminal(&lines) + &document::wrapped(&notes(results, |_| true))
}

/// Returns the ratios of all rows. The best of a row, and what is less than 1 % behind it, is bold.
pub(crate) fn markdown(results: &Results<'_>) -> String {
    table_of(results, |_| true)
}

/// Returns [`markdown`] as BENCHMARKS.md has it.
pub(crate) fn documented(results: &Results<'_>) -> String {
    table_of(results, |text| {
        !COMBINATIONS.iter().any(|part| text.contains(part))
    })
}

/// Returns a table of the rows and the notes that `is_shown` accepts.
fn table_of(results: &Results<'_>, is_shown: impl Fn(&str) -> bool) -> String {
    let mut lines = vec![header(results)];
    let baseline = results.baseline();
    let rows = results.rows();
    let rows = rows.iter().filter(|row| is_shown(&row.name));
    lines.extend(rows.map(|row| line(row, baseline)));
    document::table(&lines) + &notes(results, is_shown)
}

/// Returns the versions of the libraries, and the notes that `is_shown` accepts.
fn notes(results: &Results<'_>, is_shown: impl Fn(&str) -> bool) -> String {
    let mut versions: Vec<_> = results
        .contenders
        .iter()
        .map(|known| known.version())
        .collect();
    versions.dedup();
    let mut text = format!("\n{}\n", versions.join(", "));
    for note in results.notes.iter().filter(|note| is_shown(note)) {
        let _ = writeln!(text, "- {note}");
    }
    text
}

fn header(results: &Results<'_>) -> Vec<String> {
    let names = results.contenders.iter().map(|contender| contender.name);
    [""].into_iter().chain(names).map(str::to_owned).collect()
}

fn line(row: &Row, baseline: Option<usize>) -> Vec<String> {
    let unit = format!(" {}", row.unit);
    let cells = cells(row, baseline, &unit, |text| format!("**{text}**"));
    [row.name.clone()].into_iter().chain(cells).collect()
}

/// Returns the cells of `row`: ratios, and the absolute value of the contender `baseline`, followed
/// by `unit`. The best are passed through `mark`.
fn cells<'a>(
    row: &'a Row,
    baseline: Option<usize>,
    unit: &'a str,
    mark: fn(&str) -> String,
) -> impl Iterator<Item = String> + 'a {
    let best = row
        .cells
        .iter()
        .flatten()
        .map(|cell| cell.ratio)
        .fold(0.0, f64::max);
    row.cells
        .iter()
        .enumerate()
        .map(move |(index, cell)| match cell {
            None => "–".to_owned(),
            Some(cell) => {
                let noise = if cell.is_noisy() { "~" } else { "" };
                let text = if Some(index) == baseline {
                    format!("{:.0}{unit}", cell.value)
                } else {
                    format!("{noise}{:.2}", cell.ratio)
                };
                if cell.ratio > 0.99 * best {
                    mark(&text)
                } else {
                    text
                }
            }
        })
}

#[cfg(test)]
mod tests {
    use kit::Scenario;

    use super::*;
    use crate::contenders;
    use crate::results::Cell;

    #[test]
    fn the_table_of_all_contenders_fits_a_terminal() {
        let contenders: Vec<_> = contenders::ALL.iter().collect();
        let scenarios = Scenario::all();
        let mut results = Results::new(&scenarios, &contenders);
        for (place, scenario) in scenarios.iter().enumerate() {
            for (index, contender) in contenders.iter().enumerate() {
                if contender.measures(scenario) {
                    results.add(place, index, [367_710.0; 2]);
                    results.add(place, index, [123_456.0; 2]);
                } else {
                    results.note(scenario, contender, "a reason that needs more than a line");
                }
            }
        }
        let table = terminal(&results);
        let width = table.lines().map(|line| line.chars().count()).max();
        assert!(width <= Some(document::WIDTH), "{table}");
        assert!(table.contains("idle TLS 1.3, bytes\nclient "), "{table}");
    }

    #[test]
    fn the_best_ratios_are_bold_and_noisy_ones_are_marked() {
        let cell = |ratio, spread| {
            Some(Cell {
                value: 7.0,
                ratio,
                spread,
            })
        };
        let row = Row {
            name: "a".to_owned(),
            unit: "bytes",
            cells: vec![
                cell(1.0, [1.0, 1.0]),
                cell(1.5, [1.2, 1.6]),
                cell(1.49, [1.4, 1.5]),
                None,
            ],
        };
        let expected = ["a", "7 bytes", "**~1.50**", "**1.49**", "–"];
        assert_eq!(line(&row, Some(0)), expected);
    }
}
