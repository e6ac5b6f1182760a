//! Tables in Markdown, and their places in documents.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use kit::Result;

/// Returns a table. The first line is its header.
pub fn table(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
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
    fn text_between_marks_is_replaced() {
        let text = "a\n<!-- x -->\n\nold\n<!-- /x -->\nb\n";
        let expected = "a\n<!-- x -->\n\nnew\n<!-- /x -->\nb\n";
        assert_eq!(updated(text, "x", "new\n").as_deref(), Some(expected));
        assert_eq!(updated(text, "y", "new\n"), None);
        assert_eq!(updated("<!-- x -->\n", "x", "new\n"), None);
    }
}
