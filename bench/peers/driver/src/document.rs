//! Tables for a terminal and in Markdown, and their places in documents.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use kit::Result;

/// The width of a terminal.
pub const WIDTH: usize = 80;

/// Returns a table for a terminal. The first line is its header. A line of one cell is a heading of
/// the lines below.
pub fn terminal(lines: &[Vec<String>]) -> String {
    let rows: Vec<_> = lines.iter().filter(|line| line.len() > 1).collect();
    let widths = widths(&rows);
    let gaps = widths.len().saturating_sub(1);
    let is_wide = widths.iter().sum::<usize>() + 2 * gaps > WIDTH;
    let gap = if is_wide { " " } else { "  " };
    let mut text = String::new();
    for line in lines {
        let mut cells = line.iter().zip(&widths);
        // writing to a string cannot fail
        match cells.next() {
            Some((label, _)) if line.len() == 1 => text.push_str(label),
            Some((label, width)) => {
                let _ = write!(text, "{label:<width$}");
            }
            None => {}
        }
        for (cell, width) in cells {
            let _ = write!(text, "{gap}{cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// Breaks the lines of `text` that are wider than a terminal.
pub fn wrapped(text: &str) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split(' ') {
            let len = word.chars().count();
            if column > 0 && column + 1 + len > WIDTH {
                wrapped.push('\n');
                column = 0;
            } else if column > 0 {
                wrapped.push(' ');
                column += 1;
            }
            wrapped.push_str(word);
            column += len;
        }
        wrapped.push('\n');
    }
    wrapped
}

fn widths(lines: &[&Vec<String>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, |line| line.len());
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or_default()
    };
    (0..columns).map(width).collect()
}

/// Returns a table in Markdown. The first line is its header.
pub fn table(lines: &[Vec<String>]) -> String {
    let widths = widths(&lines.iter().collect::<Vec<_>>());
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        // writing to a string cannot fail
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, width) in widths.iter().enumerate() {
                let end = if column == 0 { "-" } else { ":" };
                let _ = write!(text, "|{}{end}", "-".repeat(width + 1));
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Replaces the text between the marks of `name` in a file of this repository.
pub fn insert(file: &str, name: &str, content: &str) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .join(file);
    let text = fs::read_to_string(&file)?;
    let updated = updated(&text, name, content);
    let updated = updated.ok_or_else(|| format!("{} has no {name}", file.display()))?;
    Ok(fs::write(&file, updated)?)
}

fn updated(text: &str, name: &str, content: &str) -> Option<String> {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let (before, rest) = text.split_once(&start)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{start}\n{content}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let line = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = table(&[line(["", "a"]), line(["row", "1 µs"])]);
        let expected = "|     | a    |\n|-----|-----:|\n| row | 1 µs |\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn headings_in_a_terminal_do_not_widen_columns() {
        let line = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let lines = [
            line(&["", "a"]),
            line(&["a long heading"]),
            line(&["x", "10"]),
        ];
        assert_eq!(terminal(&lines), "    a\na long heading\nx  10\n");
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        let words = "word ".repeat(30);
        let wrapped = wrapped(words.trim());
        assert!(wrapped.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(wrapped.split_whitespace().count(), 30);
        assert_eq!(wrapped.lines().count(), 2);
    }

    #[test]
    fn text_between_marks_is_replaced() {
        let text = "a\n<!-- x -->\n\nold\n<!-- /x -->\nb\n";
        let expected = "a\n<!-- x -->\n\nnew\n<!-- /x -->\nb\n";
        assert_eq!(updated(text, "x", "new\n").as_deref(), Some(expected));
        assert_eq!(updated(text, "y", "new\n"), None);
        assert_eq!(updated("<!-- x -->\n", "x", "new\n"), None);
    }
}
