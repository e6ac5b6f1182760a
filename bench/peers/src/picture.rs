//! The table as a picture: a line for each row, on which each contender is a dot at its ratio.

use std::fmt::Write;

use crate::contenders::BASELINE;
use crate::results::Results;

const LABELS: f64 = 340.0;
const WIDTH: f64 = 920.0;
const MARGIN: f64 = 20.0;
const LINE: f64 = 22.0;
const COLOURS: [&str; 8] = [
    "#1b6ca8", "#c03028", "#e08e0b", "#000000", "#808080", "#5b8c5a", "#7a5ca8", "#b25068",
];

/// Draws the ratios of all rows.
pub(crate) fn svg(results: &Results<'_>) -> String {
    let rows = results.rows();
    let cells = rows.iter().flat_map(|row| row.cells.iter().flatten());
    let powers = cells.map(|cell| cell.ratio.log2());
    let (low, high) = powers.fold((-1.0, 1.0), |(low, high): (f64, f64), power| {
        (low.min(power.floor()), high.max(power.ceil()))
    });
    let x = |power: f64| LABELS + (power - low) / (high - low) * (WIDTH - LABELS - MARGIN);
    let (top, bottom) = (3.0 * LINE, (3.5 + rows.len() as f64) * LINE);
    let height = bottom + 2.0 * LINE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let mut left = MARGIN;
    for (contender, colour) in results.contenders.iter().zip(COLOURS) {
        dot(&mut svg, (left, LINE), colour);
        text(&mut svg, (left + 8.0, LINE + 4.0), "start", contender.name);
        left += 26.0 + 7.5 * contender.name.len() as f64;
    }
    for power in low as i32..=high as i32 {
        let x = x(power.into());
        let colour = if power == 0 { "#000000" } else { "#dddddd" };
        line(&mut svg, [(x, top - 6.0), (x, bottom)], colour);
        let ratio = 2f64.powi(power).to_string();
        text(&mut svg, (x, bottom + 16.0), "middle", &ratio);
    }
    let legend = format!("ratio to {BASELINE}.46, more is better (logarithmic)");
    let middle = (LABELS + WIDTH - MARGIN) / 2.0;
    text(&mut svg, (middle, bottom + 34.0), "middle", &legend);
    for (number, row) in rows.iter().enumerate() {
        let y = top + (number as f64 + 0.5) * LINE;
        text(&mut svg, (LABELS - 10.0, y + 4.0), "end", &row.name);
        line(&mut svg, [(LABELS, y), (WIDTH - MARGIN, y)], "#eeeeee");
        // the first contenders are drawn last, above the others
        for (cell, colour) in row.cells.iter().zip(COLOURS).rev() {
            if let Some(cell) = cell {
                dot(&mut svg, (x(cell.ratio.log2()), y), colour);
            }
        }
    }
    svg + "</svg>\n"
}

fn dot(svg: &mut String, (x, y): (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"
    );
}

fn line(svg: &mut String, [from, to]: [(f64, f64); 2], colour: &str) {
    let points = format!("{:.1},{:.1} {:.1},{:.1}", from.0, from.1, to.0, to.1);
    let _ = writeln!(svg, "<polyline points=\"{points}\" stroke=\"{colour}\"/>");
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use kit::Scenario;

    use super::*;
    use crate::contenders;

    #[test]
    fn every_value_is_drawn_as_a_dot() {
        let all: Vec<_> = contenders::ALL.iter().collect();
        let mut results = Results::new(&Scenario::all()[..2], &all);
        for contender in 0..all.len() {
            results.add(1, contender, [1.0, 2.0]);
        }
        let dots = svg(&results).matches("<circle").count();
        assert_eq!(dots, all.len() + 2 * all.len());
    }
}
