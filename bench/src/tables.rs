//! Results as tables. A summary has a column for each implementation; details have a line for each
//! figure.
//!
//! The heading of a table has the values that all its rows share, so any selection of rows makes a
//! readable table. Tables for a terminal fit its width: labels that many lines share become
//! headings within the table, and names are shortened.

use core::hash::Hash;

use itertools::{Itertools, iproduct, izip};
use serde_json::Value;

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

    /// The ratios on each allocator; the other figures are those on the first one.
    const BY_ALLOCATOR: Self = Self {
        across: "allocator",
        main: "ratio_to_upstream",
        side_by_side: "",
        once: "mb_per_s handshakes_per_s share_of_limit allocations",
    };

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

/// The width of a terminal's tables.
pub(crate) const WIDTH: usize = 80;

/// Rows of one table, which have the same main figure.
pub(crate) struct Part {
    pub(crate) view: View,
    pub(crate) rows: Vec<Row>,
}

/// Divides `rows` among tables.
pub(crate) fn parts(view: View, rows: &[Row]) -> Vec<Part> {
    let tables = grouped(rows, |row| (view.main_of(row), row.get("topic")));
    let tables = tables.into_iter().map(|rows| rows.into_iter().cloned());
    let parts = tables.map(|rows| Part {
        view,
        rows: rows.collect(),
    });
    parts.collect()
}

/// The items with equal keys, in the order of the first of each.
pub(crate) fn grouped<'a, T, K: Eq + Hash>(
    items: &'a [T],
    key: impl Fn(&'a T) -> K,
) -> Vec<Vec<&'a T>> {
    let mut groups = items.iter().into_group_map_by(|item| key(item));
    let keys = items.iter().map(key);
    // a group is removed for the first of its items only
    keys.filter_map(|key| groups.remove(&key)).collect()
}

/// The cells of a table.
struct Table {
    /// The number of columns with labels, which are aligned to the left.
    labels: usize,
    /// The head first. Each has the heading that it belongs under.
    lines: Vec<(String, Vec<String>)>,
}

impl Part {
    pub(crate) fn main(&self) -> &'static str {
        let first = self.rows.first();
        let main = first.and_then(|row| self.view.main_of(row));
        main.unwrap_or_default()
    }

    /// The distinct values of `key`, in order of appearance.
    pub(crate) fn values(&self, key: &str) -> Vec<Value> {
        let values = self.rows.iter().map(|row| row.get(key));
        let values = values.map(|value| value.unwrap_or(&Value::Null));
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
        let unit = match self.main() {
            "ratio_to_upstream" => format!("ratio to {UPSTREAM}"),
            main => title(main),
        };
        common.chain([unit]).join(" · ")
    }

    /// Writes the heading, and a line for each subject with the values of `across` beside each
    /// other.
    pub(crate) fn summary(&self, style: Style) -> String {
        let keys = self.varying(&["bench", "impl", self.view.across]);
        let side = self.present(self.view.side_by_side);
        if style == Style::Markdown {
            let table = self.table(&keys, 0, &side, &title, "rustls-inplace");
            return format!("{}\n\n{}", self.heading(), table.text(style));
        }
        wrapped(&self.heading()) + "\n" + &self.narrow(&keys, &side)
    }

    /// Writes the table in the first way that fits a terminal.
    fn narrow(&self, keys: &[&'static str], side: &[&str]) -> String {
        let folds = 0..=keys.len().saturating_sub(1);
        let ways = iproduct!((0..=side.len()).rev(), folds, ["rustls-inplace", "here"]);
        let mut texts = ways.filter_map(|(shown, folded, this)| {
            let table = self.table(keys, folded, &side[..shown], &short_title, this);
            let groups = table.lines[1..].iter().dedup_by(|a, b| a.0 == b.0).count();
            let is_useful = folded == 0 || 5 * groups <= 3 * table.lines.len();
            is_useful.then(|| table.text(Style::Terminal))
        });
        let mut last = String::new();
        let fitting = texts.find(|text| {
            last.clone_from(text);
            width(text) <= WIDTH
        });
        fitting.unwrap_or(last)
    }

    /// Returns the keys, of `keys`, that at least one row has.
    fn present(&self, keys: &'static str) -> Vec<&'static str> {
        let has = |key: &&str| self.rows.iter().any(|row| row.get(key).is_some());
        keys.split([' ', ',']).filter(has).collect()
    }

    /// The rows of each subject, which differ in the implementation and `across`.
    fn subjects(&self) -> Vec<Vec<&Row>> {
        grouped(&self.rows, |row| row.subject(&["impl", self.view.across]))
    }

    /// The table with labels of `keys`, of which the first `folded` form a heading.
    fn table(
        &self,
        keys: &[&'static str],
        folded: usize,
        side: &[&str],
        title: &dyn Fn(&str) -> String,
        this: &str,
    ) -> Table {
        let across = self.view.across;
        let bench = self.rows[0].text("bench");
        let mut columns = self.values(across);
        let once = self.present(self.view.once);
        // shares of the limit replace its column
        columns.retain(|value| value != "limit" || !once.contains(&"share_of_limit"));
        let (folded, keys) = keys.split_at(folded);

        let mut head = labels(keys, title);
        let labels_len = head.len();
        head.extend(columns.iter().map(|value| match name(bench, value) {
            long if long == "rustls-inplace" => this.to_owned(),
            long if this == "here" => long.trim_start_matches("rustls ").to_owned(),
            long => long,
        }));
        head.extend(once.iter().map(|key| match (*key, bench) {
            ("share_of_limit", "bulk") => "of AEAD".to_owned(),
            (key, _) => title(key),
        }));
        head.extend(side.iter().map(|key| title(key)));

        let mut lines = vec![(String::new(), head)];
        for rows in self.subjects() {
            let in_column = |column: &Value| {
                let is = |row: &&&Row| row.get(across) == Some(column);
                rows.iter().find(is).copied()
            };
            if !columns.iter().any(|column| in_column(column).is_some()) {
                continue;
            }
            let of = |key: &str, column: &Value| {
                let value = in_column(column).and_then(|row| row.get(key));
                value.map_or_else(|| "–".to_owned(), |value| shown(key, value))
            };
            let mut line = labels(keys, &|key| cell(rows[0], key));
            line.extend(columns.iter().map(|column| of(self.main(), column)));
            line.extend(once.iter().map(|key| of(key, &columns[0])));
            let of_all = |key: &&str| columns.iter().map(|column| of(key, column)).join(" / ");
            line.extend(side.iter().map(of_all));
            lines.push((phrases(rows[0], folded), line));
        }
        Table {
            labels: labels_len,
            lines,
        }
    }

    /// Writes the heading and all figures: a table for each subject, with a line for each figure.
    pub(crate) fn detail(&self, style: Style) -> String {
        let keys = self.varying(&["bench", "impl", self.view.across]);
        let mut text = wrapped(&self.heading()) + "\n";
        for rows in self.subjects() {
            let figures = rows.iter().flat_map(|row| row.figures()).unique();
            // the main figure first, and each with its spread
            let figures = figures
                .filter(|figure| !figure.ends_with("_p90"))
                .sorted_by_key(|key| !key.starts_with(self.main()));
            let of = |row: &&Row| name(row.text("bench"), row.get(self.view.across)?).into();
            let head = rows.iter().filter_map(of);
            let head = [String::new()].into_iter().chain(head).collect_vec();
            let mut lines = vec![(String::new(), head)];
            for key in figures {
                let value = |row: &&Row| match (row.get(key), key.strip_suffix("_p10")) {
                    (Some(low), Some(figure)) => {
                        let high = row.get(&format!("{figure}_p90")).unwrap_or(&Value::Null);
                        format!("{}–{}", shown(key, low), shown(key, high))
                    }
                    _ => cell(row, key),
                };
                let line = [title(key)].into_iter().chain(rows.iter().map(value));
                lines.push((String::new(), line.collect()));
            }
            let (table, heading) = (Table { labels: 1, lines }, phrases(rows[0], &keys));
            text += &format!("\n{}\n\n{}", wrapped(&heading), table.text(style));
        }
        text
    }
}

/// The label columns of `keys`; API and direction share one.
fn labels(keys: &[&str], of: &dyn Fn(&str) -> String) -> Vec<String> {
    let shared = keys.contains(&"api") && keys.contains(&"direction");
    let keys = keys.iter().filter(|key| !shared || **key != "direction");
    keys.map(|key| match *key {
        "api" if shared && of("api") == title("api") => title("api"),
        "api" if shared => format!("{} {}", of("api"), of("direction")),
        key => of(key),
    })
    .collect()
}

/// The values of `keys` in a heading.
pub(crate) fn phrases(row: &Row, keys: &[&str]) -> String {
    let phrases = keys.iter().filter_map(|key| phrase(key, row.get(key)?));
    phrases.filter(|phrase| !phrase.is_empty()).join(" · ")
}

/// The prefix of figures at the slowest offset.
const SLOWEST: &str = "slowest_offset_";

/// The subject of a row, without the parts that vary in one run of a provider.
fn group(row: &Row) -> Vec<Option<&Value>> {
    row.subject(&["impl", "api", "direction", "allocator"])
}

/// Appends, for each provider, the rows of the API that loses most at the slowest offset, compared
/// with its usual share of the limit.
pub(crate) fn with_slowest_offset(rows: &[Row]) -> Vec<Row> {
    let left = |row: &Row| -> Option<f64> {
        let slowest = row.number(&format!("{SLOWEST}share_of_limit"))?;
        Some(slowest / row.number("share_of_limit")?)
    };
    if rows.iter().all(|row| left(row).is_none()) {
        return rows.to_vec();
    }
    let mut all = Vec::new();
    for rows in grouped(rows, group) {
        let of_this = rows.iter().filter(|row| row.text("impl") == "this");
        let losses = of_this.filter_map(|row| Some((left(row)?, row)));
        let most = losses.min_by(|a, b| a.0.total_cmp(&b.0));
        let most = most.map(|(_, row)| row.subject(&["impl", "allocator"]));
        let is_most = |row: &&&Row| Some(row.subject(&["impl", "allocator"])) == most;
        all.extend(rows.iter().copied().cloned());
        all.extend(rows.iter().filter(is_most).map(|row| {
            let marked = format!("{}*", row.text("direction"));
            let keys = row
                .figures()
                .filter_map(|key| Some((key.strip_prefix(SLOWEST)?, key)));
            let row = (*row).clone().with("direction", marked);
            keys.fold(row.clone(), |new, (key, slowest)| {
                new.with(key, row.get(slowest).cloned())
            })
        }));
    }
    all
}

const ALLOCATIONS: [&str; 2] = ["allocations_per_record", "allocations_per_handshake"];

/// The ratios of `rows` on each allocator. `None` if there is only one, or nothing to compare.
pub(crate) fn by_allocator(rows: &[Row]) -> Option<Part> {
    let is = |row: &&Row| row.text("impl") == "this" && row.get("share_of_limit").is_some();
    let of_this = rows.iter().filter(is).map(|row| {
        let is_other = |other: &&Row| {
            other.text("impl") == "upstream" && other.subject(&["impl"]) == row.subject(&["impl"])
        };
        let of = |row: &Row| ALLOCATIONS.map(|key| cell(row, key)).concat();
        let upstream = rows.iter().find(is_other);
        let upstream = upstream.map_or_else(|| "–".to_owned(), of);
        let allocations = format!("{} / {upstream}", of(row));
        row.clone().with("allocations", allocations)
    });
    let part = Part {
        view: View::BY_ALLOCATOR,
        rows: of_this.collect(),
    };
    (part.values("allocator").len() > 1).then_some(part)
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
    if let Some(key) = key
        .strip_prefix(SLOWEST)
        .filter(|key| !key.ends_with("_p10"))
    {
        return format!("{}, slowest offset", title(key));
    }
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
        "share_of_copying_limit" => "of AEAD and copy",
        key if key.ends_with("_p10") => "p10–p90",
        key => return key.replace('_', " "),
    }
    .to_owned()
}

/// The heading of a column at a terminal, which is shorter.
fn short_title(key: &str) -> String {
    let long = title(key);
    match key {
        "client_auth" => "client auth".to_owned(),
        "ratio_to_no_handshakes" => "ratio".to_owned(),
        "ratio_to_one_direction" => "of one direction".to_owned(),
        _ => long.split(" per ").next().unwrap_or(&long).to_owned(),
    }
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
    if key.contains("share_") {
        return format!("{:.1} %", 100.0 * number);
    }
    let is_ratio = key.contains("ratio_") || key == "times_as_fast";
    let places = match number.abs() {
        _ if number.fract() == 0.0 && !is_ratio => 0,
        large if large >= 100.0 => 0,
        medium if medium >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.places$}{}", if is_ratio { " ×" } else { "" })
}

impl Table {
    fn text(&self, style: Style) -> String {
        let widest = |at: usize| {
            self.lines
                .iter()
                .map(move |(_, line)| line[at].chars().count())
        };
        let columns = 0..self.lines[0].1.len();
        let widths = columns
            .map(|at| widest(at).max().unwrap_or(0))
            .collect_vec();
        let (mut text, mut under) = (String::new(), "");
        for (number, (heading, line)) in self.lines.iter().enumerate() {
            let cells = izip!(0.., line, &widths).map(|(at, cell, width)| match at < self.labels {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
            if style == Style::Markdown {
                text += &format!("| {} |\n", cells.format(" | "));
                if number == 0 {
                    let rule = widths.iter().map(|width| "-".repeat(width + 2));
                    text += &format!("|{}|\n", rule.format("|"));
                }
                continue;
            }
            if heading != under {
                text += &format!("{}\n", wrapped(heading));
                under = heading;
            }
            text += &format!("{}\n", cells.format("  ").to_string().trim_end());
        }
        text
    }
}

/// The width of the widest line.
pub(crate) fn width(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or(0)
}

/// Breaks a heading into lines for a terminal.
fn wrapped(heading: &str) -> String {
    broken(heading, |line| line.chars().count() <= WIDTH).join("\n")
}

/// Breaks a heading into lines that fit.
pub(crate) fn broken(heading: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in heading.split(" · ") {
        let longer = lines.last().map(|line| format!("{line} · {piece}"));
        match longer.filter(|line| fits(line)) {
            Some(longer) => *lines.last_mut().unwrap_or(&mut String::new()) = longer,
            None => lines.push(piece.to_owned()),
        }
    }
    lines
}
