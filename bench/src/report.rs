//! The frame around the jobs. Each measures rows, in one process per allocator; they are printed as
//! tables or JSON.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use itertools::Itertools;
use serde_json::Value;

use crate::arguments::Common;
use crate::choices::Allocator;
use crate::jobs::{Job, Run, view_of};
use crate::machine;
use crate::plot::Picture;
use crate::processes::{self, print};
use crate::row::Row;
use crate::statistics::median;
use crate::tables::{self, Part, Style, UPSTREAM, parts};
use crate::workload::Result;

/// Draws the rows that `run` returns, if `common` asks for a picture. Its file is opened before.
pub(crate) fn drawn(common: &Common, run: impl FnOnce() -> Result<Vec<Row>>) -> Result<()> {
    let file = common.plot.clone().filter(|_| !common.in_this_process);
    let picture = file.map(Picture::create).transpose()?;
    let rows = run()?;
    picture.map_or(Ok(()), |picture| picture.draw(&charts(&rows)))
}

/// The charts of `rows`: one for each table, and for each allocator.
pub(crate) fn charts(rows: &[Row]) -> Vec<Part> {
    let run = |row: &Row| ["bench", "allocator"].map(|key| row.text(key).to_owned());
    let charts = rows.chunk_by(|a, b| run(a) == run(b));
    let charts = charts.flat_map(|rows| parts(view_of(rows), &tables::with_slowest_offset(rows)));
    charts.collect()
}

/// Runs `job`, as requested by the command line `line`; prints its rows and returns them.
pub(crate) fn run(job: &dyn Job, run: &Run, line: &[OsString]) -> Result<Vec<Row>> {
    let common = &run.common;
    if common.in_this_process {
        job.measure(run)?;
        return Ok(Vec::new());
    }
    let earlier = common.compare.as_deref().map(Row::read_all).transpose()?;
    let machine = machine::describe();
    let allocators = match &common.allocators[..] {
        [] if run.bench == "bulk" => Allocator::ALL.to_vec(),
        [] => vec![Allocator::System],
        requested => requested.to_vec(),
    };
    let rows = processes::on_each(&allocators, line)?.into_iter();
    let rows = rows.map(|row| row.with("machine", machine.clone()));
    let rows = rows.collect_vec();
    if common.json {
        rows.iter().try_for_each(|row| print(&row.json()))?;
    } else {
        let text = text(&rows, &machine, style(), common.detail, &job.note(run));
        print(text.trim_end())?;
    }
    if let Some(warning) = warning(&rows) {
        eprintln!("bench: {warning}");
    }
    if let Some(earlier) = earlier {
        print(&compared(&earlier, &rows)?)?;
    }
    Ok(rows)
}

/// Returns the text that is printed for `rows`, unless JSON is requested.
fn text(rows: &[Row], machine: &Value, style: Style, detail: bool, note: &str) -> String {
    let mut text = machine::header(machine);
    if detail {
        for part in parts(view_of(rows), rows) {
            text += &format!("\n{}", part.detail(style));
        }
        return text + note;
    }
    let all = tables::with_slowest_offset(rows);
    let by_allocator = tables::by_allocator(&all);
    let first = by_allocator
        .as_ref()
        .map(|part| part.values("allocator").swap_remove(0));
    for part in by_allocator.map_or_else(|| parts(view_of(rows), &all), |part| vec![part]) {
        text += &format!("\n{}", part.summary(style));
    }
    text += &format!("\n{note}");
    if let Some(Value::String(allocator)) = first {
        text += &format!("Other columns: {allocator} allocator. Allocations: here / {UPSTREAM}\n");
    }
    if all.len() > rows.len() {
        text += "* where the application's buffer has the slowest offset for each of them\n";
    }
    text
}

/// The range from p10 to p90, relative to the median, beyond which a figure is in doubt.
const WIDE: f64 = 0.3;

/// A warning if the samples of many figures vary widely.
fn warning(rows: &[Row]) -> Option<String> {
    let view = view_of(rows);
    let spread = |row: &Row| -> Option<f64> {
        let key = view.main_of(row)?;
        let [low, high] = ["p10", "p90"].map(|which| row.number(&format!("{key}_{which}")));
        Some((high? - low?) / row.number(key)?)
    };
    let spreads: Vec<_> = rows.iter().filter_map(spread).collect();
    let wide = spreads.iter().filter(|spread| **spread > WIDE).count();
    let most = 100.0 * spreads.iter().copied().fold(0.0, f64::max);
    let (figures, limit) = (spreads.len(), 100.0 * WIDE);
    (wide > 0).then(|| {
        format!(
            "{wide} of {figures} figures vary by more than {limit:.0} % from p10 to p90 (up to {most:.0} %): other \
             work disturbs this machine, so repeat, or raise --multiplier"
        )
    })
}

/// A table of this library's figures in `earlier` and `rows`, and the median change of its ratios
/// to upstream. Absolute figures depend on the state of the machine; ratios hardly do.
fn compared(earlier: &[Row], rows: &[Row]) -> Result<String> {
    let mut view = view_of(rows);
    let ratio = view.once.split(' ').next().filter(|key| !key.is_empty());
    (view.side_by_side, view.once) = (ratio.unwrap_or_default(), "");
    let of_this = rows.iter().filter(|row| row.text("impl") == "this");
    let pairs = of_this.filter_map(|now| {
        let is_same = |row: &&Row| row.subject(&[]) == now.subject(&[]);
        let before = earlier.iter().find(is_same)?.clone();
        let now = now.clone().with("impl", "now");
        Some([before.with("impl", "before"), now])
    });
    let pairs = pairs.collect_vec();
    let changes = pairs.iter().filter_map(|[before, now]| {
        let figure = ratio.or_else(|| view.main_of(now))?;
        Some(now.number(figure)? / before.number(figure)? - 1.0)
    });
    let (changes, both) = (changes.collect_vec(), pairs.concat());
    let tables = parts(view, &both).into_iter();
    let text = tables
        .map(|part| format!("\n{}", part.summary(style())))
        .join("");
    let count = changes.len();
    let change = median(&changes).ok_or("--compare: the file has no row of these measurements")?;
    let machine = both[0].get("machine").unwrap_or(&Value::Null);
    let commit = machine["commit"].as_str().unwrap_or("unknown");
    let change = 100.0 * change;
    Ok(format!(
        "{text}\ncompared with commit {commit}: median change {change:+.1} % over {count} rows"
    ))
}

fn style() -> Style {
    if io::stdout().is_terminal() {
        Style::Terminal
    } else {
        Style::Markdown
    }
}

#[cfg(test)]
mod every_job;

#[cfg(test)]
mod tests {
    use itertools::iproduct;
    use serde_json::json;

    use super::*;
    use crate::choices::{Choice, Provider};

    /// Returns sample rows of `bulk`, on `allocators`.
    fn rows(factor: f64, allocators: &[Allocator]) -> Vec<Row> {
        let apis = "buffered send, buffered receive, fill-buf receive, open-into receive, \
            unbuffered send, unbuffered receive, in-place send";
        let rates = [
            ("this", 10000.0 * factor),
            ("upstream", 8000.0),
            ("limit", 12500.0),
        ];
        let all = iproduct!(allocators, Provider::ALL, apis.split(", "), rates);
        let all =
            all.filter(|(_, _, api, (name, _))| (*name, *api) != ("upstream", "in-place send"));
        let rows = all.map(|(allocator, provider, api, (name, rate))| {
            let (api, direction) = api.split_once(' ').unwrap();
            let mut row = json!({
                "bench": "bulk", "impl": name, "provider": provider.name(), "allocator": allocator.name(),
                "suite": "TLS13_CHACHA20_POLY1305_SHA256", "plaintext_size": 16384, "api": api, "direction": direction,
                "mb_per_s": rate, "mb_per_s_p10": 0.6 * rate, "mb_per_s_p90": 1.08 * rate, "threads": 1,
                "ratio_to_upstream": rate / 8000.0, "share_of_limit": rate / 12500.0,
                "allocations_per_record": if name == "this" { 0.0 } else { 1.25 },
            });
            if (api, direction) == ("buffered", "send") {
                row["slowest_offset_mb_per_s"] = json!(rate / 2.0);
                row["slowest_offset_ratio_to_upstream"] = json!(rate / 2000.0);
                row["slowest_offset_share_of_limit"] = json!(0.4);
            }
            Row::parse(&row.to_string()).unwrap()
        });
        rows.collect()
    }

    const SYSTEM: &[Allocator] = &[Allocator::System];

    fn machine() -> Value {
        json!({ "cpu": "AMD EPYC 9R14", "processors": 2, "kernel": "6.1", "compiler": "rustc 1.95.0 (x)",
                "commit": "a32ab328", "load": 1.5 })
    }

    #[test]
    fn the_default_output_shows_all_allocators_on_one_screen() {
        let text = text(
            &rows(1.0, &Allocator::ALL),
            &machine(),
            Style::Terminal,
            false,
            "",
        );
        let expected = "\
AMD EPYC 9R14, 2 threads · Linux 6.1
rustc 1.95.0 · commit a32ab328 · load 1.5

TLS13_CHACHA20_POLY1305_SHA256 · writes of 16 KiB · ratio to rustls 0.23.46
API                 system  jemalloc  mimalloc   MB/s  of AEAD  allocations
aws-lc-rs
buffered send       1.25 ×    1.25 ×    1.25 ×  10000   80.0 %     0 / 1.25
";
        assert!(text.starts_with(expected), "{text}");
        for line in [
            "\nin-place send       1.25 ×    1.25 ×    1.25 ×  10000   80.0 %        0 / –\n",
            "\nbuffered send*      5.00 ×    5.00 ×    5.00 ×   5000   40.0 %     0 / 1.25\n",
        ] {
            assert_eq!(text.matches(line).count(), Provider::ALL.len(), "{text}");
        }
        assert!(text.lines().count() <= 40, "{text}");
        assert!(tables::width(&text) <= tables::WIDTH, "{text}");
    }

    #[test]
    fn tables_for_one_allocator_show_the_throughput_of_both_crates() {
        let text = text(&rows(1.0, SYSTEM), &machine(), Style::Terminal, false, "");
        let expected = "
TLS13_CHACHA20_POLY1305_SHA256 · writes of 16 KiB · system allocator · MB/s
provider   API                  here  0.23.46   ratio  of AEAD  allocations
aws-lc-rs  buffered send       10000     8000  1.25 ×   80.0 %     0 / 1.25
";
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains("aws-lc-rs  in-place send       10000        –  1.25 ×"),
            "{text}"
        );
        assert!(tables::width(&text) <= tables::WIDTH, "{text}");
    }

    #[test]
    fn details_have_every_figure_with_its_spread() {
        let text = text(&rows(1.0, SYSTEM), &machine(), Style::Terminal, true, "");
        assert_eq!(text.matches("\naws-lc-rs · ").count(), 7, "{text}");
        for part in [
            "p10–p90",
            "AEAD alone",
            " 6000–10800 ",
            "ratio, slowest offset",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_wide_spread_is_reported() {
        let text = warning(&rows(1.0, SYSTEM)).unwrap();
        let expected = "60 of 60 figures vary by more than 30 %";
        assert!(text.starts_with(expected), "{text}");
        let steady = rows(1.0, SYSTEM).into_iter();
        let steady = steady.map(|row| row.with("mb_per_s_p10", 8000.0));
        let text = warning(&steady.collect_vec());
        assert!(text.is_none_or(|text| !text.starts_with("60")));
    }

    #[test]
    fn figures_are_compared_with_earlier_ones_of_the_same_subject() {
        let earlier = rows(1.0, SYSTEM).into_iter();
        let earlier = earlier
            .map(|row| row.with("machine", machine()))
            .collect_vec();
        let text = compared(&earlier[..17], &rows(1.1, SYSTEM)).unwrap();
        assert!(text.contains("| unbuffered send    |"), "{text}");
        assert!(text.contains(" 10000 | 11000 |"), "{text}");
        let expected = "compared with commit a32ab328: median change +10.0 % over 6 rows";
        assert!(text.ends_with(expected), "{text}");
        assert!(compared(&[], &rows(1.0, SYSTEM)).is_err());
    }
}
