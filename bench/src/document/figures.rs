//! The figures of BENCHMARKS.md in other documents.
//!
//! A document quotes a figure as `<!--=NAME-->FIGURE<!--/-->`. `figures.txt` gives the place of each
//! name in BENCHMARKS.md; its first lines explain the form.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workload::Result;

const PLACES: &str = include_str!("figures.txt");

/// The folders of documents that may quote figures.
const FOLDERS: [&str; 3] = ["", "docs", "rustls/manual"];

/// The marks around a figure: before its name, after its name, and after the figure.
const MARKS: [&str; 3] = ["<!--=", "-->", "<!--/-->"];

/// Figures by name.
type Figures = BTreeMap<&'static str, String>;

/// Replaces the figures in all documents below `root` by those of BENCHMARKS.md.
pub(super) fn insert(root: &Path) -> Result<()> {
    let figures = figures(&fs::read_to_string(root.join("BENCHMARKS.md"))?)?;
    for path in documents(root)? {
        let text = fs::read_to_string(&path)?;
        let updated = updated(&text, &figures);
        let updated = updated.map_err(|error| format!("{}: {error}", path.display()))?;
        if updated != text {
            fs::write(&path, updated)?;
        }
    }
    Ok(())
}

fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut documents = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        documents.extend(entries.collect::<std::io::Result<Vec<_>>>()?);
    }
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|it| it == "md");
    documents.retain(|path| is_markdown(path) && !path.ends_with("BENCHMARKS.md"));
    Ok(documents)
}

/// Reads all figures of `figures.txt` from the text of BENCHMARKS.md.
fn figures(benchmarks: &str) -> Result<Figures> {
    let rows = rows(benchmarks);
    let lines = PLACES.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let figures = lines.map(|line| {
        let (name, place) = line.split_once(": ").ok_or("a figure without a place")?;
        let figure = figure(&rows, place).map_err(|error| format!("{name}: {error}"))?;
        Ok((name, figure))
    });
    figures.collect()
}

/// A row of a table in BENCHMARKS.md.
struct Row<'a> {
    /// The heading of the section, the line above the table, the parts of the two lines above it,
    /// and the cells.
    words: Vec<&'a str>,
    /// The name and the cell of each column.
    columns: Vec<(&'a str, &'a str)>,
}

fn rows(benchmarks: &str) -> Vec<Row<'_>> {
    let (mut section, mut above, mut names) = ("", [""; 2], Vec::new());
    let mut rows = Vec::new();
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with("|-");
    for line in benchmarks.lines().filter(is_content) {
        let Some(cells) = line.strip_prefix('|').and_then(|it| it.strip_suffix('|')) else {
            section = line.strip_prefix("## ").unwrap_or(section);
            // the lines above a finished table do not belong to the next one
            let before = if names.is_empty() { above[1] } else { "" };
            (above, names) = ([before, line.trim_end_matches(':')], Vec::new());
            continue;
        };
        let cells: Vec<_> = cells.split('|').map(str::trim).collect();
        if names.is_empty() {
            names = cells;
            continue;
        }
        let title = above.iter().flat_map(|line| line.split(" · "));
        let words = [section, above[1]].into_iter().chain(title);
        rows.push(Row {
            words: words.chain(cells.iter().copied()).collect(),
            columns: names.iter().copied().zip(cells).collect(),
        });
    }
    rows
}

/// Returns the figure at `place`, a line of `figures.txt` without its name.
fn figure(rows: &[Row<'_>], place: &str) -> Result<String> {
    let mut parts: Vec<_> = place.split(" | ").collect();
    let conversion = parts.pop_if(|part| part.contains(" / "));
    let column = parts.pop().ok_or("no column")?;
    // one of several figures in a cell
    let numbered = column.strip_suffix(']').and_then(|it| it.rsplit_once('['));
    let (column, number) = numbered.map_or((column, None), |(column, at)| (column, Some(at)));
    let is = |row: &&Row<'_>| parts.iter().all(|part| row.words.contains(part));
    let rows = rows.iter().filter(is);
    let mut found = rows.flat_map(|row| row.columns.iter().filter(|(name, _)| *name == column));
    let (Some((_, cell)), None) = (found.next(), found.next()) else {
        return Err("not one place in BENCHMARKS.md".into());
    };
    let figure = match number {
        Some(number) => cell
            .split(" / ")
            .nth(number.parse()?)
            .ok_or("no such figure")?,
        None => cell,
    };
    let Some((dividend, divisor)) = conversion.and_then(|it| it.split_once(" / ")) else {
        return Ok(figure.to_owned());
    };
    let number = |operand: &str| -> Result<f64> {
        let text = if operand == "x" { figure } else { operand };
        Ok(text.trim_end_matches([' ', '×']).parse()?)
    };
    Ok(rounded(number(dividend)? / number(divisor)?))
}

/// Returns `value` with two significant digits.
fn rounded(value: f64) -> String {
    let places = 1 - value.abs().log10().floor() as i32;
    let unit = 10f64.powi(places);
    let value = (value * unit).round() / unit;
    format!("{value:.*}", places.max(0) as usize)
}

/// Returns `text` with the current `figures`.
fn updated(text: &str, figures: &Figures) -> Result<String> {
    let [start, named, end] = MARKS;
    let mut pieces = text.split(start);
    let mut updated = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once(named).ok_or("a figure without a name")?;
        let figure = figures.get(name);
        let figure = figure.ok_or_else(|| format!("no figure {name}"))?;
        let rest = rest.split_once(end);
        let (_, rest) = rest.ok_or_else(|| format!("{name} has no end"))?;
        updated += &[start, name, named, figure, end, rest].concat();
    }
    Ok(updated)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BENCHMARKS: &str = "
## Speed

Small records:

aws-lc-rs · send · MB/s

| API      | this | ratio   | CPU |
|----------|------|---------|-----|
| buffered | 1648 | 2.049 × | 1 / 2 |

Large records:

aws-lc-rs · send · MB/s

| API      | this |
|----------|------|
| buffered | 9    |
";

    #[test]
    fn a_figure_is_found_and_converted() {
        let rows = rows(BENCHMARKS);
        let small = "Speed | send | Small records | buffered";
        for (place, expected) in [
            (format!("{small} | this"), "1648"),
            (format!("{small} | this | x / 1000"), "1.6"),
            (format!("{small} | this | 1 / x"), "0.00061"),
            (format!("{small} | this | x / 1"), "1600"),
            (format!("{small} | ratio | x / 1"), "2.0"),
            (format!("{small} | CPU"), "1 / 2"),
            (format!("{small} | CPU[1]"), "2"),
            ("Speed | Large records | this".to_owned(), "9"),
        ] {
            assert_eq!(figure(&rows, &place).unwrap(), expected, "{place}");
        }
        for place in [
            "Speed | this",
            "Speed | unbuffered | ratio",
            "Memory | ratio",
        ] {
            assert!(figure(&rows, place).is_err(), "{place}");
        }
    }

    #[test]
    fn marked_figures_are_replaced() {
        let figures = Figures::from([("a", "10".to_owned()), ("b", "20".to_owned())]);
        let text = "x <!--=a-->1<!--/--> y <!--=b-->2<!--/-->";
        let expected = "x <!--=a-->10<!--/--> y <!--=b-->20<!--/-->";
        assert_eq!(updated(text, &figures).unwrap(), expected);
        for wrong in ["<!--=c-->1<!--/-->", "<!--=a-->1", "<!--=a"] {
            assert!(updated(wrong, &figures).is_err(), "{wrong}");
        }
    }

    /// If this fails, run `bench document`, or mark the figure.
    #[test]
    fn documents_quote_the_figures_of_benchmarks_md() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let figures = figures(&fs::read_to_string(root.join("BENCHMARKS.md")).unwrap()).unwrap();
        let mut unused: BTreeSet<_> = figures.keys().copied().collect();
        for path in documents(&root).unwrap() {
            let text = fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let place = format!("{}:{}", path.display(), number + 1);
                assert_eq!(updated(line, &figures).unwrap(), line, "{place}");
                unused.retain(|name| !line.contains(&[MARKS[0], name, MARKS[1]].concat()));
                let is_about_speed = path.ends_with("README.md") || place.contains("/manual/");
                assert!(
                    !is_about_speed || !has_unmarked_speed(line),
                    "{place}: {line}"
                );
            }
        }
        assert!(unused.is_empty(), "nothing quotes {unused:?}");
    }

    /// True if `line` has a number and a unit of speed, and the number is not marked.
    fn has_unmarked_speed(line: &str) -> bool {
        ["MB/s", "GB/s", "µs", "ns"].iter().any(|unit| {
            let mut before = line.split(&format!(" {unit}")).collect::<Vec<_>>();
            before.pop();
            before
                .iter()
                .any(|text| text.ends_with(|last: char| last.is_ascii_digit()))
        })
    }

    #[test]
    fn speeds_without_a_mark_are_found() {
        assert!(has_unmarked_speed("It reaches 20 MB/s."));
        assert!(!has_unmarked_speed("It reaches <!--=a-->20<!--/--> MB/s."));
    }
}
