//! The frame around the jobs. Each measures rows, in one process per allocator; they are printed as
//! tables or JSON.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use itertools::Itertools;
use serde_json::Value;

use crate::choices::Allocator;
use crate::cli::Common;
use crate::jobs::Chosen;
use crate::plot::Picture;
use crate::row::Row;
use crate::statistics::median;
use crate::tables::{self, Part, Style, UPSTREAM, View, parts};
use crate::workload::Result;
use crate::{machine, processes};

/// Draws the rows that `run` returns, if `common` asks for a picture. Its file is opened before.
pub(crate) fn drawn(common: &Common, run: impl FnOnce() -> Result<Vec<Row>>) -> Result<()> {
    let file = common.plot.clone().filter(|_| !common.in_this_process);
    let picture = file.map(Picture::create).transpose()?;
    let rows = run()?;
    picture.map_or(Ok(()), |picture| picture.draw(&rows))
}

/// Runs a job, as requested by the command line `line`; prints its rows and returns them.
pub(crate) fn run(Chosen { job, run }: &Chosen, line: &[OsString]) -> Result<Vec<Row>> {
    let common = &run.common;
    let steps = job.steps(run)?;
    if common.in_this_process {
        for step in steps {
            step()?.iter().try_for_each(|row| print(&row.json()))?;
        }
        return Ok(Vec::new());
    }
    let (processors, most) = (machine::processors(), job.threads().iter().max());
    if let Some(most) = most.filter(|most| **most > processors) {
        eprintln!(
            "bench: {most} threads share {processors} processors, so their throughput does not add up"
        );
    }
    let earlier = common.compare.as_deref().map(Row::read_all).transpose()?;
    let machine = machine::describe();

    let allocators = match &common.allocators()[..] {
        [] if run.bench == "bulk" && (common.json || common.detail) => Allocator::ALL.to_vec(),
        [] => vec![Allocator::System],
        requested => requested.to_vec(),
    };
    let rows = processes::on_each(&allocators, line)?.into_iter();
    let rows = rows.map(|row| row.with("machine", machine.clone()));
    let rows = rows.collect_vec();
    if common.json {
        rows.iter().try_for_each(|row| print(&row.json()))?;
    } else {
        print(text(&rows, &machine, style(), common.detail).trim_end())?;
    }
    if let Some(warning) = warning(&rows) {
        eprintln!("bench: {warning}");
    }
    if let Some(earlier) = earlier {
        print(&compared(&earlier, &rows)?)?;
    }
    Ok(rows)
}

/// All that is printed of `rows`, unless as JSON.
fn text(rows: &[Row], machine: &Value, style: Style, detail: bool) -> String {
    let mut text = machine::header(machine);
    let all = if detail {
        rows.to_vec()
    } else {
        tables::with_slowest_offset(rows)
    };
    let table = |part: &Part<'_>| {
        if detail {
            part.detail(style)
        } else {
            part.summary(style)
        }
    };
    let gap = ["\n", "\n\n"][usize::from(style == Style::Markdown)];
    for part in parts(View::of(rows), &all) {
        text += &format!("\n{}{gap}{}", part.heading(), table(&part));
    }
    if all.len() > rows.len() {
        text += "* where the application's buffer has the slowest offset for each of them\n";
    }
    text + &sentence(rows).map_or_else(String::new, |line| format!("\n{line}\n"))
}

/// The result of `bulk` in one sentence.
fn sentence(rows: &[Row]) -> Option<String> {
    let is = |row: &&Row| row.text("bench") == "bulk" && row.text("impl") == "this";
    let of_this = || rows.iter().filter(is);
    let unbuffered = of_this().find(|row| row.text("api") == "unbuffered");
    let row = unbuffered.or_else(|| of_this().next())?;
    let direction = ["receiving", "sending"][usize::from(row.text("direction") == "send")];
    let bytes = row.number("plaintext_size")?;
    let size = if bytes % 1024.0 == 0.0 {
        format!("{} KiB", bytes / 1024.0)
    } else {
        format!("{bytes}-byte")
    };
    let what = ["records", "writes"][usize::from(bytes > 16384.0)];
    Some(format!(
        "{direction} {size} {what} {}: {:.2} × {UPSTREAM}, {:.1} % of the bare AEAD",
        row.text("api"),
        row.number("ratio_to_upstream")?,
        100.0 * row.number("share_of_limit")?
    ))
}

/// The range from p10 to p90, relative to the median, beyond which a figure is in doubt.
const WIDE: f64 = 0.3;

/// A warning if the samples of many figures vary widely.
fn warning(rows: &[Row]) -> Option<String> {
    let view = View::of(rows);
    let spread = |row: &Row| -> Option<f64> {
        let key = view.main_of(row)?;
        let [low, high] = ["p10", "p90"].map(|which| row.number(&format!("{key}_{which}")));
        Some((high? - low?) / row.number(key)?)
    };
    let spreads: Vec<_> = rows.iter().filter_map(spread).collect();
    let wide = spreads.iter().filter(|spread| **spread > WIDE).count();
    let most = spreads.iter().copied().fold(0.0, f64::max);
    (wide > 0).then(|| {
        format!(
            "{wide} of {} figures vary by more than {:.0} % from p10 to p90 (up to {:.0} %): other work disturbs \
             this machine, so repeat, or raise --multiplier",
            spreads.len(),
            100.0 * WIDE,
            100.0 * most
        )
    })
}

/// A table of this library's figures in `earlier` and `rows`, and the median change of its ratios
/// to upstream. Absolute figures depend on the state of the machine; ratios hardly do.
fn compared(earlier: &[Row], rows: &[Row]) -> Result<String> {
    let mut view = View::of(rows);
    let ratio = view.once.split(' ').next().filter(|key| !key.is_empty());
    (view.side_by_side, view.once) = (ratio.unwrap_or_default(), "");
    let (mut both, mut changes) = (Vec::new(), Vec::new());
    for now in rows.iter().filter(|row| row.text("impl") == "this") {
        let subject = now.subject(&[]);
        if let Some(before) = earlier.iter().find(|before| before.subject(&[]) == subject) {
            both.extend([
                before.clone().with("impl", "before"),
                now.clone().with("impl", "now"),
            ]);
            let figure = ratio.or_else(|| view.main_of(now)).unwrap_or_default();
            let figures = now.number(figure).zip(before.number(figure));
            changes.extend(figures.map(|(now, before)| now / before - 1.0));
        }
    }
    let mut text = String::new();
    for part in parts(view, &both) {
        text += &format!("\n{}\n\n{}", part.heading(), part.summary(style()));
    }
    let count = changes.len();
    let change = median(&changes).ok_or("--compare: the file has no row of these measurements")?;
    let machine = both[0].get("machine").unwrap_or(&Value::Null);
    let commit = machine["commit"].as_str();
    Ok(format!(
        "{text}\ncompared with commit {}: median change {:+.1} % over {count} rows",
        commit.unwrap_or("unknown"),
        100.0 * change
    ))
}

fn style() -> Style {
    if io::stdout().is_terminal() {
        Style::Terminal
    } else {
        Style::Markdown
    }
}

/// Prints `text` and a line break. Unlike `println!`, it does not panic when the reader has closed
/// the pipe.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    Ok(written.map_err(|error| format!("cannot write to standard output: {error}"))?)
}

#[cfg(test)]
mod tests {
    use itertools::iproduct;
    use serde_json::json;

    use super::*;
    use crate::choices::{Choice, Provider};

    /// Rows as `bulk` has them by default.
    fn rows(factor: f64) -> Vec<Row> {
        let apis = "buffered send, buffered receive, fill-buf receive, unbuffered send, \
            unbuffered receive, in-place send";
        let rates = [
            ("this", 10000.0 * factor),
            ("upstream", 8000.0),
            ("limit", 12500.0),
        ];
        let all = iproduct!(Provider::ALL, apis.split(", "), rates);
        let all = all.filter(|(_, api, (name, _))| (*name, *api) != ("upstream", "in-place send"));
        let rows = all.map(|(provider, api, (name, rate))| {
            let (api, direction) = api.split_once(' ').unwrap();
            let mut row = json!({
                "bench": "bulk", "impl": name, "provider": provider.name(), "allocator": "system", "threads": 1,
                "suite": "TLS13_CHACHA20_POLY1305_SHA256", "plaintext_size": 16384, "api": api, "direction": direction,
                "mb_per_s": rate, "mb_per_s_p10": 0.6 * rate, "mb_per_s_p90": 1.08 * rate,
                "ratio_to_upstream": rate / 8000.0, "share_of_limit": rate / 12500.0, "allocations_per_record": 1.25,
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

    fn machine() -> Value {
        json!({ "cpu": "AMD EPYC 9R14", "processors": 2, "kernel": "6.1", "compiler": "rustc 1.95.0 (x)",
                "commit": "a32ab328", "load": 1.5 })
    }

    #[test]
    fn the_default_output_fits_a_screen() {
        let text = text(&rows(1.0), &machine(), Style::Terminal, false);
        let expected = "\
AMD EPYC 9R14, 2 threads · Linux 6.1
rustc 1.95.0 · commit a32ab328 · load 1.5

TLS13_CHACHA20_POLY1305_SHA256 · writes of 16 KiB · system allocator · MB/s
provider   API                 rustls-inplace  rustls 0.23.46   ratio  of AEAD
aws-lc-rs  buffered send                10000            8000  1.25 ×   80.0 %
aws-lc-rs  buffered receive             10000            8000  1.25 ×   80.0 %
aws-lc-rs  fill-buf receive             10000            8000  1.25 ×   80.0 %
aws-lc-rs  unbuffered send              10000            8000  1.25 ×   80.0 %
aws-lc-rs  unbuffered receive           10000            8000  1.25 ×   80.0 %
aws-lc-rs  in-place send                10000               –  1.25 ×   80.0 %
aws-lc-rs  buffered send*                5000            4000  5.00 ×   40.0 %
ring       buffered send                10000            8000  1.25 ×   80.0 %
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.ends_with(
            "\nsending 16 KiB records unbuffered: 1.25 × rustls 0.23.46, 80.0 % of the bare AEAD\n"
        ));
        assert!(text.lines().count() <= 23, "{text}");
        let (tables, _) = text.split_once("\nsending").unwrap();
        assert!(tables::width(tables) <= tables::WIDTH, "{text}");
    }

    #[test]
    fn the_detailed_table_has_every_row_with_its_spread() {
        let text = text(&rows(1.0), &machine(), Style::Markdown, true);
        assert_eq!(text.matches("\n| aws-lc-rs |").count(), 17, "{text}");
        for part in ["p10–p90", "AEAD alone", " 6000–10800 "] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_wide_spread_is_reported() {
        let text = warning(&rows(1.0)).unwrap();
        let expected = "34 of 34 figures vary by more than 30 %";
        assert!(text.starts_with(expected), "{text}");
        let steady = rows(1.0)
            .into_iter()
            .map(|row| row.with("mb_per_s_p10", 8000.0));
        let text = warning(&steady.collect_vec());
        assert!(text.is_none_or(|text| !text.starts_with("34")));
    }

    #[test]
    fn figures_are_compared_with_earlier_ones_of_the_same_subject() {
        let earlier = rows(1.0)
            .into_iter()
            .map(|row| row.with("machine", machine()));
        let earlier = earlier.collect_vec();
        let text = compared(&earlier[..17], &rows(1.1)).unwrap();
        assert!(text.contains("| unbuffered send    |"), "{text}");
        assert!(text.contains(" 10000 | 11000 |"), "{text}");
        let expected = "compared with commit a32ab328: median change +10.0 % over 6 rows";
        assert!(text.ends_with(expected), "{text}");
        assert!(compared(&[], &rows(1.0)).is_err());
    }
}
