//! Results as tables. A summary has a column for each implementation; a detailed table has a line
//! for each row.
//!
//! The heading of a table has the values that all its rows share, so any selection of rows makes a
//! readable table.

use comfy_table::{CellAlignment, presets};
use itertools::Itertools;
use serde_json::Value;

use crate::jobs::JOBS;
use crate::row::{Row, subject_keys};

/// The choice of columns of a summary. Keys are separated by spaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The key whose values have a column each.
    pub(crate) across: &'static str,
    /// The figure in these columns: the first that a row has.
    pub(crate) main: &'static str,
    /// Further figures, with the values of all these columns in one.
    pub(crate) side_by_side: &'static str,
    /// Figures that only one of the columns has, or that compare it with the others.
    pub(crate) once: &'static str,
}

/// The figures that compare a row with both other implementations.
pub(crate) const TO_BOTH: &str = "ratio_to_upstream share_of_limit";

impl View {
    /// The view of jobs that this program does not know, in a file of a newer one.
    pub(crate) const GENERAL: Self = Self {
        across: "impl",
        main: "mb_per_s handshakes_per_s ns_per_op",
        side_by_side: "",
        once: TO_BOTH,
    };

    /// The view of `rows`, which are of one job.
    pub(crate) fn of(rows: &[Row]) -> Self {
        let bench = rows.first().map_or("", |row| row.text("bench"));
        let job = JOBS.iter().find(|job| job.bench() == bench);
        job.map_or(Self::GENERAL, |job| job.view)
    }

    /// The main figure of `row`.
    pub(crate) fn main_of(&self, row: &Row) -> Option<&'static str> {
        let mut main = self.main.split(' ');
        main.find(|key| row.get(key).is_some())
    }
}

/// The two ways to write a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Style {
    Terminal,
    Markdown,
}

/// The width of a terminal's tables, unless their contents need more.
pub(crate) const WIDTH: usize = 80;

/// Rows of one table, which have the same main figure.
pub(crate) struct Part<'a> {
    pub(crate) view: View,
    pub(crate) rows: Vec<&'a Row>,
}

/// Divides `rows` among tables.
pub(crate) fn parts(view: View, rows: &[Row]) -> Vec<Part<'_>> {
    let of = |row: &Row| (view.main_of(row), row.text("topic").to_owned());
    let tables = rows.iter().map(of).unique().collect_vec().into_iter();
    let parts = tables.map(|table| Part {
        view,
        rows: rows.iter().filter(|row| of(row) == table).collect(),
    });
    parts.collect()
}

impl Part<'_> {
    pub(crate) fn main(&self) -> &'static str {
        self.view.main_of(self.rows[0]).unwrap_or_default()
    }

    /// The distinct values of `key`, in order of appearance.
    pub(crate) fn values(&self, key: &str) -> Vec<Value> {
        let values = self
            .rows
            .iter()
            .map(|row| row.get(key).unwrap_or(&Value::Null));
        values.unique().cloned().collect()
    }

    /// The keys that distinguish rows, except for `without`.
    pub(crate) fn varying(&self, without: &[&str]) -> Vec<&'static str> {
        let keys = subject_keys().filter(|key| !without.contains(key));
        keys.filter(|key| self.values(key).len() > 1).collect()
    }

    /// Returns the values that all rows share, and the unit.
    pub(crate) fn heading(&self) -> String {
        let keys = subject_keys().filter(|key| !["bench", "impl"].contains(key));
        let common = keys.filter_map(|key| match &self.values(key)[..] {
            [value] => phrase(key, value),
            _ => None,
        });
        common.chain([title(self.main())]).join(" · ")
    }

    /// A line for each subject, with the values of `across` beside each other.
    pub(crate) fn summary(&self, style: Style) -> String {
        let table = self.summary_table(style, self.view.side_by_side);
        if style == Style::Terminal && width(&table) > WIDTH {
            return self.summary_table(style, "");
        }
        table
    }

    fn summary_table(&self, style: Style, side_by_side: &str) -> String {
        let View { across, once, .. } = self.view;
        let bench = self.rows[0].text("bench");
        let mut columns = self.values(across);
        // shares of the limit replace its column
        columns.retain(|value| value != "limit" || !once.contains("share_of_limit"));
        let keys = self.varying(&["bench", "impl", across]);
        let has = |key: &&str| self.rows.iter().any(|row| row.get(key).is_some());
        let once = once.split(' ').filter(has).collect_vec();
        let side_by_side = side_by_side.split(' ').filter(has).collect_vec();

        let mut head = labels(&keys, &title);
        let left = head.len();
        head.extend(columns.iter().map(|value| name(bench, value)));
        head.extend(once.iter().map(|key| match (*key, bench) {
            ("share_of_limit", "bulk") => "of AEAD".to_owned(),
            (key, _) => title(key),
        }));
        head.extend(side_by_side.iter().map(|key| title(key)));

        let has_column = |row: &&&Row| columns.iter().any(|value| Some(value) == row.get(across));
        let firsts = self.rows.iter().filter(has_column);
        let firsts = firsts.unique_by(|row| row.subject(&["impl", across]));
        let lines = firsts.map(|first| {
            let subject = first.subject(&["impl", across]);
            let same = |row: &&&Row| row.subject(&["impl", across]) == subject;
            let rows = self.rows.iter().filter(same).collect_vec();
            let of = |key: &str, column: &Value| {
                let row = rows.iter().find(|row| row.get(across) == Some(column));
                let value = row.and_then(|row| row.get(key));
                value.map_or_else(|| "–".to_owned(), |value| shown(key, value))
            };
            let mut line = labels(&keys, &|key| cell(first, key));
            line.extend(columns.iter().map(|column| of(self.main(), column)));
            line.extend(once.iter().map(|key| of(key, &columns[0])));
            let of_all = |key: &&str| columns.iter().map(|column| of(key, column)).join(" / ");
            line.extend(side_by_side.iter().map(of_all));
            line
        });
        table(style, head, lines, left)
    }

    /// A line for each row, with all figures.
    pub(crate) fn detail(&self, style: Style) -> String {
        let keys = self.varying(&["bench"]);
        let figures = self.rows.iter().flat_map(|row| row.figures()).unique();
        // the main figure first, and each with its spread
        let figures = figures
            .filter(|figure| !figure.ends_with("_p90"))
            .sorted_by_key(|key| !key.starts_with(self.main()));
        let columns = keys.iter().copied().chain(figures).collect_vec();
        let lines = self.rows.iter().map(|row| {
            let cells = columns
                .iter()
                .map(|key| match (row.get(key), key.strip_suffix("_p10")) {
                    (Some(low), Some(figure)) => {
                        let high = row.get(&format!("{figure}_p90")).unwrap_or(&Value::Null);
                        format!("{}–{}", shown(key, low), shown(key, high))
                    }
                    (Some(value), None) if *key == "impl" => name(row.text("bench"), value),
                    _ => cell(row, key),
                });
            cells.collect()
        });
        let head = columns.iter().map(|key| title(key)).collect();
        table(style, head, lines, keys.len())
    }
}

/// The label columns of `keys`; API and direction share one.
pub(crate) fn labels(keys: &[&str], of: &dyn Fn(&str) -> String) -> Vec<String> {
    let shared = keys.contains(&"api") && keys.contains(&"direction");
    let keys = keys.iter().filter(|key| !shared || **key != "direction");
    keys.map(|key| match *key {
        "api" if shared && of("api") == title("api") => title("api"),
        "api" if shared => format!("{} {}", of("api"), of("direction")),
        key => of(key),
    })
    .collect()
}

/// Appends, for each provider and allocator, the rows of the API that loses most at the slowest
/// offset, compared with its usual share of the limit.
pub(crate) fn with_slowest_offset(rows: &[Row]) -> Vec<Row> {
    const PREFIX: &str = "slowest_offset_";
    fn group(row: &Row) -> Vec<Option<&Value>> {
        row.subject(&["impl", "api", "direction"])
    }
    let left = |row: &Row| -> Option<f64> {
        let slowest = row.number(&format!("{PREFIX}share_of_limit"))?;
        Some(slowest / row.number("share_of_limit")?)
    };
    let mut all = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        all.push(row.clone());
        if rows[at + 1..].iter().any(|next| group(next) == group(row)) {
            continue;
        }
        let same = rows.iter().filter(|same| group(same) == group(row));
        let of_this = same.filter(|row| row.text("impl") == "this");
        let losses = of_this.filter_map(|row| Some((left(row)?, row)));
        let Some((_, most)) = losses.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            continue;
        };
        let alike = rows
            .iter()
            .filter(|row| row.subject(&["impl"]) == most.subject(&["impl"]));
        all.extend(alike.map(|row| {
            let marked = format!("{}*", row.text("direction"));
            let figures = row
                .figures()
                .filter_map(|key| Some((key.strip_prefix(PREFIX)?, key)));
            figures.fold(
                row.clone().with("direction", marked),
                |new, (key, slowest)| new.with(key, row.get(slowest).cloned()),
            )
        }));
    }
    all
}

pub(crate) const UPSTREAM: &str = "rustls 0.23.46";

/// The name of an implementation.
pub(crate) fn name(bench: &str, value: &Value) -> String {
    match value.as_str().unwrap_or_default() {
        "this" => "rustls-inplace".to_owned(),
        "upstream" => UPSTREAM.to_owned(),
        "limit" if bench == "bulk" => "AEAD alone".to_owned(),
        "limit" => "primitives alone".to_owned(),
        other => other.to_owned(),
    }
}

/// The heading of a column, or the unit of a figure.
pub(crate) fn title(key: &str) -> String {
    match key {
        "api" => "API",
        "role" => "side",
        "impl" => "implementation",
        "client_auth" => "client certificate",
        "key_type" => "key",
        "write_size" => "bytes/write",
        "mb_per_s" => "MB/s",
        "handshakes_per_s" => "handshakes/s",
        "ns_per_op" => "ns",
        "echo_p50_us" => "p50, µs",
        "echo_p99_us" => "µs until the echo of a message, 99th percentile",
        "ns_per_record" => "ns/record",
        "cpu_s_per_gb" => "CPU s/GB",
        "system_calls_per_mb" => "calls/MB",
        "ratio_to_upstream" => "ratio",
        "times_as_fast" => "as fast",
        "share_of_limit" => "of limit",
        key if key.ends_with("_p10") => "p10–p90",
        key => return key.replace('_', " "),
    }
    .to_owned()
}

/// A value that all rows of a table share, as a part of its heading.
fn phrase(key: &str, value: &Value) -> Option<String> {
    Some(match key {
        _ if value.is_null() => return None,
        "plaintext_size" | "write_size" => format!("writes of {}", bytes(value)),
        "read_size" => format!("reads of {}", bytes(value)),
        "working_set" => format!("{} a thread", bytes(value)),
        "connections" => format!("{value} connections"),
        "threads" if *value == 1 => return None,
        "threads" => format!("{value} threads"),
        "allocator" => format!("{} allocator", value.as_str()?),
        "client_auth" => return (*value == true).then(|| title(key)),
        "certificates" => return (*value != 1).then(|| format!("chains of {value} certificates")),
        "verified" => format!("chains verified {}", value.as_str()?),
        _ => value.as_str()?.to_owned(),
    })
}

fn bytes(value: &Value) -> String {
    match value.as_u64().unwrap_or_default() {
        bytes if bytes != 0 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes != 0 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

/// The value of `key` in a cell, which is empty without one.
pub(crate) fn cell(row: &Row, key: &str) -> String {
    let value = row.get(key);
    value.map_or_else(String::new, |value| shown(key, value))
}

/// A value in a cell.
fn shown(key: &str, value: &Value) -> String {
    let Some(number) = value.as_f64() else {
        return match value {
            Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
            value => value.as_str().unwrap_or_default().to_owned(),
        };
    };
    match key {
        _ if key.contains("ratio_") || key == "times_as_fast" => format!("{number:.2} ×"),
        _ if key.contains("share_") => format!("{:.1} %", 100.0 * number),
        _ if number.fract() == 0.0 || number.abs() >= 100.0 => format!("{number:.0}"),
        _ if number.abs() >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// Writes a table. Its first `left` columns are aligned to the left.
pub(crate) fn table(
    style: Style,
    head: Vec<String>,
    lines: impl Iterator<Item = Vec<String>>,
    left: usize,
) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(match style {
        Style::Terminal => presets::NOTHING,
        Style::Markdown => presets::ASCII_MARKDOWN,
    });
    table.set_header(head).add_rows(lines);
    for (at, column) in table.column_iter_mut().enumerate() {
        if at >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if style == Style::Terminal {
            column.set_padding((0, 2));
        }
    }
    let lines = table.lines();
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

/// The width of the widest line.
pub(crate) fn width(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}
