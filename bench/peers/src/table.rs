//! The table, in Markdown.

use std::fmt::Write;

use driver::document;

use crate::contenders::BASELINE;
use crate::results::{Results, Row};

/// Parts of the names of scenarios that BENCHMARKS.md leaves out: they combine what others show.
const COMBINATIONS: [&str; 3] = [
    "bulk TLS 1.2",
    "TLS 1.2 RSA-2048",
    "RSA-2048 X25519MLKEM768",
];

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
    let baseline = results
        .contenders
        .iter()
        .position(|known| known.name == BASELINE);
    let rows = results.rows();
    let rows = rows.iter().filter(|row| is_shown(&row.name));
    lines.extend(rows.map(|row| line(row, baseline)));
    let mut text = document::table(&lines);
    let mut versions: Vec<_> = results
        .contenders
        .iter()
        .map(|known| known.version())
        .collect();
    versions.dedup();
    let _ = writeln!(text, "\n{}", versions.join(", "));
    for note in results.notes.iter().filter(|note| is_shown(note)) {
        let _ = writeln!(text, "- {note}");
    }
    text
}

fn header(results: &Results<'_>) -> Vec<String> {
    let names = results.contenders.iter().map(|contender| contender.name);
    [""].into_iter().chain(names).map(str::to_owned).collect()
}

/// Returns the cells of `row`: ratios, and the absolute value of the contender `baseline`.
fn line(row: &Row, baseline: Option<usize>) -> Vec<String> {
    let best = row
        .cells
        .iter()
        .flatten()
        .map(|cell| cell.ratio)
        .fold(0.0, f64::max);
    let cells = row
        .cells
        .iter()
        .enumerate()
        .map(|(index, cell)| match cell {
            None => "–".to_owned(),
            Some(cell) => {
                let noise = if cell.is_noisy() { "~" } else { "" };
                let text = if Some(index) == baseline {
                    format!("{:.0} {}", cell.value, row.unit)
                } else {
                    format!("{noise}{:.2}", cell.ratio)
                };
                if cell.ratio > 0.99 * best {
                    format!("**{text}**")
                } else {
                    text
                }
            }
        });
    [row.name.clone()].into_iter().chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Cell;

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
