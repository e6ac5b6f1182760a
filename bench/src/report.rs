//! The frame around the sub-commands. Each measures rows, in one process per allocator; they are
//! printed as tables or JSON and drawn as a picture.

use std::ffi::OsString;

use bench_allocator::Kind;
use comfy_table::{CellAlignment, Table, presets};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::RunArgs;
use crate::plot::{Chart, Point, charts};
use crate::processes;
use crate::statistics::{Summary, rounded};
use crate::workload::{Result, Scenario};

/// A sub-command that measures.
pub(crate) trait Job {
    type Row: Row;

    /// Notes for the reader, printed below the tables.
    const NOTES: &'static str;

    /// The unit of the plotted values.
    const UNIT: &'static str;

    fn args(&self) -> &RunArgs;

    /// The title of the picture.
    fn title(&self) -> String;

    /// Fails if the arguments cannot be measured. Takes no time.
    fn check(&self) -> Result<()>;

    /// Measures on the allocator of this process.
    fn measure(&self, allocator: Kind) -> Result<Vec<Self::Row>>;
}

/// One line of a result, as the measuring process prints it.
pub(crate) trait Row: DeserializeOwned + Serialize {
    /// Keys for the table only; `--json` leaves them out.
    const TABLE_ONLY: &'static [&'static str] = &[];

    /// The heading of this row's table. Rows of one heading have the same columns.
    fn heading(&self) -> String;

    fn cells(&self) -> Vec<Cell>;

    /// The point of this row in the picture, if it has one.
    fn point(&self) -> Option<Point>;

    /// The title of the chart that the point belongs to, if there are several.
    fn part(&self) -> &str {
        ""
    }
}

/// A cell of a table and its column.
pub(crate) struct Cell {
    column: &'static str,
    text: String,
    alignment: CellAlignment,
}

impl Cell {
    pub(crate) fn text(column: &'static str, text: impl Into<String>) -> Self {
        Self {
            column,
            text: text.into(),
            alignment: CellAlignment::Left,
        }
    }

    pub(crate) fn number(column: &'static str, text: impl Into<String>) -> Self {
        Self {
            alignment: CellAlignment::Right,
            ..Self::text(column, text)
        }
    }

    pub(crate) fn ratio(column: &'static str, ratio: f64) -> Self {
        Self::number(column, format!("{ratio:.2} ×"))
    }

    pub(crate) fn share(column: &'static str, share: f64) -> Self {
        Self::number(column, format!("{:.1} %", 100.0 * share))
    }

    /// A throughput with at least three digits, and the range of most of its samples.
    pub(crate) fn rate(column: &'static str, rate: f64, spread: (f64, f64)) -> [Self; 2] {
        let digits = |rate: f64| {
            if rate < 100.0 {
                format!("{rate:.1}")
            } else {
                format!("{rate:.0}")
            }
        };
        [
            Self::number(column, digits(rate)),
            Self::number(
                "p10–p90",
                format!("{}–{}", digits(spread.0), digits(spread.1)),
            ),
        ]
    }
}

/// The subject of a figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Subject {
    pub(crate) bench: String,
    #[serde(rename = "impl")]
    pub(crate) implementation: String,
    pub(crate) provider: String,
    pub(crate) suite: String,
    pub(crate) api: String,
    pub(crate) allocator: String,
}

impl Subject {
    pub(crate) fn new(
        bench: &str,
        implementation: &str,
        scenario: &Scenario,
        api: &str,
        allocator: Kind,
    ) -> Self {
        Self {
            bench: bench.to_owned(),
            implementation: implementation.to_owned(),
            provider: scenario.provider.name().to_owned(),
            suite: scenario.suite.name.clone(),
            api: api.to_owned(),
            allocator: allocator.name().to_owned(),
        }
    }

    /// The first cells of the row. Provider and suite are in the heading.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text("allocator", &self.allocator),
            Cell::text("implementation", &self.implementation),
            Cell::text("API", &self.api),
        ]
    }

    /// The point of `value` in the picture. `what` is appended to the name of its group.
    pub(crate) fn point(&self, what: &str, threads: usize, value: f64) -> Point {
        Point {
            group: format!(
                "{} · {} · {}{what}",
                self.provider, self.allocator, self.api
            ),
            series: self.implementation.clone(),
            threads,
            value,
        }
    }
}

/// The 10th and 90th percentile, in `unit`.
pub(crate) fn spread(samples: &Summary, unit: f64) -> (f64, f64) {
    (
        rounded(samples.p10 / unit, 1),
        rounded(samples.p90 / unit, 1),
    )
}

/// Runs `job`, as requested by the command line `line`; prints its rows and returns their charts.
pub(crate) fn run<J: Job>(job: &J, line: &[OsString]) -> Result<Vec<Chart>> {
    let RunArgs {
        allocator, output, ..
    } = job.args();
    let allocators = allocator.kinds();
    if output.in_this_process {
        for row in job.measure(processes::allocator(&allocators)?)? {
            print(&format!("{}\n", serde_json::to_string(&row)?))?;
        }
        return Ok(Vec::new());
    }
    job.check()?;
    let rows: Vec<J::Row> = processes::on_each(&allocators, line)?;
    if output.json {
        for row in &rows {
            print(&format!("{}\n", json(row)?))?;
        }
    } else {
        print(&format!("{}{}\n", tables(&rows), J::NOTES))?;
    }
    Ok(picture(job, &rows))
}

/// The charts of `rows`, separately for each part.
fn picture<J: Job>(job: &J, rows: &[J::Row]) -> Vec<Chart> {
    let mut parts: Vec<(&str, Vec<Point>)> = Vec::new();
    for row in rows {
        let (part, point) = (row.part(), row.point());
        match parts.iter_mut().find(|(known, _)| *known == part) {
            Some((_, points)) => points.extend(point),
            None => parts.push((part, point.into_iter().collect())),
        }
    }
    let charts = parts.into_iter().flat_map(|(part, points)| match part {
        "" => charts(&job.title(), J::UNIT, points),
        part => charts(part, J::UNIT, points),
    });
    charts.collect()
}

/// The JSON that `--json` prints for `row`.
pub(crate) fn json<R: Row>(row: &R) -> Result<Value> {
    let mut value = serde_json::to_value(row)?;
    if let Some(object) = value.as_object_mut() {
        object.retain(|key, _| !R::TABLE_ONLY.contains(&&key[..]));
    }
    Ok(value)
}

/// The rows as Markdown tables.
pub(crate) fn tables<R: Row>(rows: &[R]) -> String {
    let mut tables: Vec<(String, Table)> = Vec::new();
    for row in rows {
        let (heading, cells) = (row.heading(), row.cells());
        let known = tables.iter().position(|(known, _)| *known == heading);
        let index = known.unwrap_or_else(|| {
            tables.push((heading, empty_table(&cells)));
            tables.len() - 1
        });
        tables[index].1.add_row(
            cells
                .into_iter()
                .map(|cell| comfy_table::Cell::new(cell.text).set_alignment(cell.alignment)),
        );
    }
    let tables = tables.iter();
    tables
        .map(|(heading, table)| format!("{heading}\n\n{table}\n\n"))
        .collect()
}

fn empty_table(cells: &[Cell]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(
        cells
            .iter()
            .map(|cell| comfy_table::Cell::new(cell.column).set_alignment(cell.alignment)),
    );
    table
}

/// Prints `text`. Unlike `print!`, it does not panic when the reader has closed the pipe.
pub(crate) fn print(text: &str) -> Result<()> {
    use std::io::Write;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Line {
        name: String,
        spread: u32,
    }

    impl Row for Line {
        const TABLE_ONLY: &'static [&'static str] = &["spread"];

        fn heading(&self) -> String {
            self.name[..1].to_owned()
        }

        fn cells(&self) -> Vec<Cell> {
            vec![
                Cell::text("name", &self.name),
                Cell::number("spread", self.spread.to_string()),
            ]
        }

        fn point(&self) -> Option<Point> {
            None
        }
    }

    fn lines() -> Vec<Line> {
        let line = |(name, spread): (&str, u32)| Line {
            name: name.to_owned(),
            spread,
        };
        [("a·1", 1), ("b", 22222222), ("a2", 3)].map(line).into()
    }

    #[test]
    fn rows_with_the_same_heading_share_a_table() {
        let text = tables(&lines());
        let expected = "\
a

| name | spread |
|------|--------|
| a·1  |      1 |
| a2   |      3 |

b

| name |   spread |
|------|----------|
| b    | 22222222 |

";
        assert_eq!(text, expected);
    }

    #[test]
    fn json_omits_table_only_keys() {
        let value = json(&lines()[0]).unwrap();
        assert_eq!(value, serde_json::json!({ "name": "a·1" }));
    }
}
