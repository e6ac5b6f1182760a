//! Results as tables. A summary has a column for each implementation; a detailed table has a line
//! for each row.
//!
//! The heading of a table has the values that all its rows share, so any selection of rows makes a
//! readable table.

use comfy_table::{Cell, CellAlignment, presets};
use serde_json::Value;

use crate::row::{Row, SUBJECT};

/// The choice of columns of a summary.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The key whose values have a column each.
    pub(crate) across: String,
    /// The figure in these columns: the first that a row has.
    pub(crate) main: Vec<String>,
    /// Further figures, with the values of all these columns in one.
    pub(crate) side_by_side: Vec<&'static str>,
    /// Figures that only one of the columns has, or that compare it with the others.
    pub(crate) once: Vec<&'static str>,
}

impl View {
    /// The view of the sub-command `bench`.
    pub(crate) fn of(bench: &str) -> Self {
        const TO_BOTH: &str = "ratio_to_upstream share_of_limit";
        const HEAP: &str = "bytes_per_connection allocations_per_handshake pool_bytes_per_thread";
        let (main, side_by_side, once) = match bench {
            "bulk" => ("mb_per_s", "allocations_per_record", TO_BOTH),
            "tcp" => (
                "mb_per_s",
                "cpu_s_per_gb system_calls_per_mb",
                "ratio_to_upstream",
            ),
            "duplex" => ("mb_per_s", "ratio_to_one_direction", ""),
            "memory" => (HEAP, "", ""),
            "primitives" => ("ns_per_op", "", ""),
            "certificates" => (
                "ns_per_op bytes_per_session",
                "allocations_per_op heap_bytes_per_op",
                "times_as_fast",
            ),
            "load-connections" => ("bytes_per_connection", "", "growth_bytes"),
            "load-handshakes" => ("handshakes_per_s", "growth_bytes peak_bytes", ""),
            "handshake" | "handshake-resume" | "handshake-ticket" => {
                ("handshakes_per_s", "allocations_per_handshake", TO_BOTH)
            }
            // rows of a newer file
            _ => ("mb_per_s handshakes_per_s ns_per_op", "", TO_BOTH),
        };
        Self {
            across: if bench == "primitives" {
                "provider"
            } else {
                "impl"
            }
            .to_owned(),
            main: main.split_whitespace().map(str::to_owned).collect(),
            side_by_side: side_by_side.split_whitespace().collect(),
            once: once.split_whitespace().collect(),
        }
    }

    /// The main figure of `row`.
    pub(crate) fn main_of<'v>(&'v self, row: &Row) -> Option<&'v str> {
        let mut main = self.main.iter().map(String::as_str);
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
    pub(crate) view: &'a View,
    pub(crate) rows: Vec<&'a Row>,
}

/// Divides `rows` among tables.
pub(crate) fn parts<'a>(view: &'a View, rows: &'a [Row]) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let of = |row: &Row| {
        (
            view.main_of(row).map(str::to_owned),
            row.text("topic").to_owned(),
        )
    };
    for row in rows {
        match parts.iter_mut().find(|part| of(part.rows[0]) == of(row)) {
            Some(part) => part.rows.push(row),
            None => parts.push(Part {
                view,
                rows: vec![row],
            }),
        }
    }
    parts
}

impl Part<'_> {
    pub(crate) fn main(&self) -> &str {
        self.view.main_of(self.rows[0]).unwrap_or_default()
    }

    /// The distinct values of `key`, in order of appearance.
    pub(crate) fn values(&self, key: &str) -> Vec<Value> {
        let mut values = Vec::new();
        for row in &self.rows {
            let value = row.get(key).unwrap_or(&Value::Null);
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    }

    /// The keys that distinguish rows, except for `without`.
    pub(crate) fn varying(&self, without: &[&str]) -> Vec<&'static str> {
        let keys = SUBJECT.into_iter().filter(|key| !without.contains(key));
        keys.filter(|key| self.values(key).len() > 1).collect()
    }

    /// Returns the values that all rows share, and the unit.
    pub(crate) fn heading(&self) -> String {
        let keys = SUBJECT
            .into_iter()
            .filter(|key| !["bench", "impl"].contains(key));
        let common = keys.filter_map(|key| match &self.values(key)[..] {
            [value] => phrase(key, value),
            _ => None,
        });
        let unit = title(self.main());
        common.chain([unit]).collect::<Vec<_>>().join(" · ")
    }

    /// The heading of the column of `key`.
    fn title(&self, key: &str) -> String {
        match (key, self.rows[0].text("bench")) {
            ("share_of_limit", "bulk") => "of AEAD".to_owned(),
            _ => title(key),
        }
    }

    /// The values of the column of `across`, except for the limit where shares of it are given.
    fn columns(&self) -> Vec<Value> {
        let mut columns = self.values(&self.view.across);
        if self.view.once.contains(&"share_of_limit") {
            columns.retain(|value| value != "limit");
        }
        columns
    }

    /// A line for each subject, with the values of `across` beside each other.
    pub(crate) fn summary(&self, style: Style) -> String {
        let table = self.summary_table(style, &self.view.side_by_side);
        if style == Style::Terminal && width(&table) > WIDTH {
            return self.summary_table(style, &[]);
        }
        table
    }

    fn summary_table(&self, style: Style, side_by_side: &[&str]) -> String {
        let across = &self.view.across[..];
        let (columns, main) = (self.columns(), self.main());
        let keys = self.varying(&["bench", "impl", across]);
        let bench = self.rows[0].text("bench");
        let mut head = labels(&keys, &title);
        let left = head.len();
        head.extend(columns.iter().map(|value| name(bench, value)));
        let has = |key: &str| self.rows.iter().any(|row| row.get(key).is_some());
        let once: Vec<_> = self.view.once.iter().filter(|key| has(key)).collect();
        head.extend(once.iter().map(|key| self.title(key)));
        let mut side_by_side = side_by_side.to_vec();
        side_by_side.retain(|key| has(key));
        head.extend(side_by_side.iter().map(|key| title(key)));

        let mut lines: Vec<Vec<String>> = Vec::new();
        let mut done = Vec::new();
        for first in &self.rows {
            let subject = first.subject(&["impl", across]);
            if done.contains(&subject)
                || columns.iter().all(|value| Some(value) != first.get(across))
            {
                continue;
            }
            let rows: Vec<_> = self
                .rows
                .iter()
                .filter(|row| row.subject(&["impl", across]) == subject)
                .collect();
            let of = |key: &str, column: &Value| {
                let row = rows.iter().find(|row| row.get(across) == Some(column));
                row.and_then(|row| row.get(key))
                    .map_or_else(|| "–".to_owned(), |value| shown(key, value))
            };
            let mut line = labels(&keys, &|key| cell(first, key));
            line.extend(columns.iter().map(|column| of(main, column)));
            line.extend(once.iter().map(|key| of(key, &columns[0])));
            for key in &side_by_side {
                let values: Vec<_> = columns.iter().map(|column| of(key, column)).collect();
                line.push(values.join(" / "));
            }
            lines.push(line);
            done.push(subject);
        }
        table(style, &head, &lines, left)
    }

    /// A line for each row, with all figures.
    pub(crate) fn detail(&self, style: Style) -> String {
        let keys = self.varying(&["bench"]);
        let mut figures: Vec<&str> = Vec::new();
        for figure in self.rows.iter().flat_map(|row| row.figures()) {
            if !figures.contains(&figure) && !figure.ends_with("_p90") {
                figures.push(figure);
            }
        }
        // the main figure first, and each with its spread
        figures.sort_by_key(|key| !key.starts_with(self.main()));
        let head = keys.iter().chain(&figures).map(|key| title(key));
        let lines = self.rows.iter().map(|row| {
            let cells = keys.iter().chain(&figures).map(|key| {
                match (row.get(key), key.strip_suffix("_p10")) {
                    (Some(low), Some(figure)) => {
                        let high = row.get(&format!("{figure}_p90")).unwrap_or(&Value::Null);
                        format!("{}–{}", shown(key, low), shown(key, high))
                    }
                    (Some(value), None) if *key == "impl" => name(row.text("bench"), value),
                    _ => cell(row, key),
                }
            });
            cells.collect()
        });
        table(
            style,
            &head.collect::<Vec<_>>(),
            &lines.collect::<Vec<_>>(),
            keys.len(),
        )
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

/// Appends, for each provider and allocator, the rows of the API whose ratio is largest at the
/// slowest offset, compared with its usual ratio.
pub(crate) fn with_slowest_offset(rows: &[Row]) -> Vec<Row> {
    const RATIO: &str = "slowest_offset_ratio_to_upstream";
    const KEYS: [&str; 5] = [
        "mb_per_s",
        "mb_per_s_p10",
        "mb_per_s_p90",
        "ratio_to_upstream",
        "share_of_limit",
    ];
    let without = ["impl", "api", "direction"];
    let mut all = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        all.push(row.clone());
        let group = row.subject(&without);
        let mut later = rows[at + 1..].iter();
        if later.any(|next| next.subject(&without) == group) {
            continue;
        }
        let same = rows
            .iter()
            .filter(|row| row.subject(&without) == group && row.text("impl") == "this");
        let measured = same
            .filter_map(|row| Some((row, row.number(RATIO)? / row.number("ratio_to_upstream")?)));
        if let Some((most, _)) = measured.max_by(|a, b| a.1.total_cmp(&b.1)) {
            let subject = most.subject(&["impl"]);
            for row in rows.iter().filter(|row| row.subject(&["impl"]) == subject) {
                let mut row = row
                    .clone()
                    .with("direction", format!("{}*", row.text("direction")));
                for key in KEYS {
                    if let Some(value) = row.get(&format!("slowest_offset_{key}")).cloned() {
                        row = row.with(key, value);
                    }
                }
                all.push(row);
            }
        }
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
pub(crate) fn table(style: Style, head: &[String], lines: &[Vec<String>], left: usize) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(match style {
        Style::Terminal => presets::NOTHING,
        Style::Markdown => presets::ASCII_MARKDOWN,
    });
    let cells = |texts: &[String]| -> Vec<Cell> {
        let aligned = texts.iter().enumerate().map(|(at, text)| {
            let side = if at < left {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            };
            Cell::new(text).set_alignment(side)
        });
        aligned.collect()
    };
    table.set_header(cells(head));
    for line in lines {
        table.add_row(cells(line));
    }
    if style == Style::Terminal {
        table.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
    }
    let text = table.to_string();
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// The width of the widest line.
pub(crate) fn width(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}
