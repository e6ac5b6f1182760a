//! Pictures of rows, as SVG: bars, and curves over numbers of threads where these differ.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use itertools::Itertools;

use crate::row::Row;
use crate::tables::{self, Part, View, parts};
use crate::workload::Result;

/// A file for a picture, which is opened before anything is measured.
pub(crate) struct Picture {
    path: PathBuf,
    file: File,
}

impl Picture {
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path);
        let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Self { path, file })
    }

    /// Draws one chart for each table of `rows`, stacked vertically.
    pub(crate) fn draw(mut self, rows: &[Row]) -> Result<()> {
        let written = self.file.write_all(svg(rows).as_bytes());
        Ok(written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))?)
    }
}

/// A value to be drawn, with the 10th and 90th percentile if it has samples.
struct Point {
    /// The bars of one group are adjacent; the curves of one group share a chart.
    group: String,
    /// The implementation. Points of one series have the same colour.
    series: String,
    colour: &'static str,
    threads: f64,
    value: f64,
    spread: Option<(f64, f64)>,
}

/// The width of a printed page.
const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
/// The approximate width of one character.
const CHARACTER: f64 = 6.2;
/// The height of title and legend, and that of an axis with its numbers.
const HEAD: f64 = 56.0;
const AXIS: f64 = 44.0;
const BAR: f64 = 13.0;
const CURVES: f64 = 260.0;
const BLACK: &str = "stroke=\"black\"";
const GRID: &str = "stroke=\"#dddddd\"";
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#e08e0b", "#9a9a9a", "#5b8c5a", "#b25068", "#7a5ca8",
];

fn svg(rows: &[Row]) -> String {
    let mut picture = Drawing::default();
    for of_bench in rows.chunk_by(|a, b| a.text("bench") == b.text("bench")) {
        for part in parts(View::of(of_bench), &tables::with_slowest_offset(of_bench)) {
            picture.part(&part);
        }
    }
    let (body, height) = (picture.elements, picture.top.max(1.0));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

#[derive(Default)]
struct Drawing {
    elements: String,
    /// The height so far.
    top: f64,
}

impl Drawing {
    fn element(&mut self, element: &str) {
        self.elements += element;
        self.elements.push('\n');
    }

    /// Writes a text whose `anchor` ("start", "middle" or "end") lies at the position.
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        self.element(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, points: &[(f64, f64)], style: &str) {
        let points = points
            .iter()
            .format_with(" ", |(x, y), f| f(&format_args!("{x:.1},{y:.1}")));
        self.element(&format!(
            "<polyline points=\"{points}\" fill=\"none\" {style}/>"
        ));
    }

    fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        self.element(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        ));
    }

    /// Draws the rows of one table: bars, or for each group a chart of curves.
    fn part(&mut self, part: &Part<'_>) {
        let (across, main) = (part.view.across, part.main());
        let keys = part.varying(&["bench", "impl", across, "threads"]);
        let series = part.values(across);
        let points = part.rows.iter().filter_map(|row| {
            let own = row.get(across)?;
            let index = series.iter().position(|series| series == own)?;
            let percentile = |which| row.number(&format!("{main}_{which}"));
            Some(Point {
                group: tables::labels(&keys, &|key| tables::cell(row, key)).join(" · "),
                series: tables::name(row.text("bench"), own),
                colour: COLOURS[index % COLOURS.len()],
                threads: row.number("threads").unwrap_or(1.0),
                value: row.number(main)?,
                spread: percentile("p10").zip(percentile("p90")),
            })
        });
        let points = points.collect_vec();
        let (heading, unit) = (part.heading(), tables::title(main));
        let groups = points.iter().into_group_map_by(|point| &point.group[..]);
        let names = points.iter().map(|point| &point.group[..]).unique();
        if part.values("threads").len() == 1 {
            let groups = names.map(|name| (name, &groups[name][..])).collect_vec();
            return self.bars(&heading, &points, &groups, &unit);
        }
        for name in names {
            self.curves(&format!("{name} · {heading}"), &groups[name], &unit);
        }
    }

    /// Writes title and legend; returns where the legend ends.
    fn head<'p>(&mut self, title: &str, points: impl IntoIterator<Item = &'p Point>) -> f64 {
        let y = self.top + 24.0;
        // a title that would not fit is shortened
        let title: String = title.chars().take((WIDTH / CHARACTER) as usize).collect();
        self.element("<g font-weight=\"bold\">");
        self.text((MARGIN, y), "start", &title);
        self.element("</g>");
        let mut x = MARGIN;
        for point in points.into_iter().unique_by(|point| &point.series) {
            self.rectangle((x, y + 11.0), (11.0, 11.0), point.colour);
            self.text((x + 16.0, y + 21.0), "start", &point.series);
            x += 36.0 + 7.0 * point.series.chars().count() as f64;
        }
        self.top += HEAD;
        x
    }

    fn bars(&mut self, title: &str, points: &[Point], groups: &[(&str, &[&Point])], unit: &str) {
        self.head(title, points);
        let lens = groups.iter().map(|(group, _)| group.chars().count());
        let longest = CHARACTER * lens.max().unwrap_or(0) as f64;
        let left = MARGIN + (longest + 8.0).clamp(8.0, WIDTH / 2.0);
        let scale = Scale::of(points, left, WIDTH - MARGIN - 48.0);
        let bottom = self.top + BAR * (points.len() + groups.len()) as f64;
        for (value, x) in scale.ticks() {
            self.line(&[(x, self.top), (x, bottom + 4.0)], GRID);
            self.text((x, bottom + 17.0), "middle", &number(value));
        }
        let axes = [(left, self.top), (left, bottom), (WIDTH - MARGIN, bottom)];
        self.line(&axes, BLACK);
        self.text(((left + WIDTH) / 2.0, bottom + 33.0), "middle", unit);
        let mut y = self.top + BAR / 2.0;
        for (group, points) in groups {
            self.text((left - 6.0, y + 10.0), "end", group);
            for point in *points {
                let mut end = scale.place(point.value);
                let size = (end - left, BAR - 2.0);
                self.rectangle((left, y + 1.0), size, point.colour);
                if let Some((low, high)) = point.spread {
                    let (low, high, middle) = (scale.place(low), scale.place(high), y + BAR / 2.0);
                    self.line(&[(low, middle), (high, middle)], BLACK);
                    for x in [low, high] {
                        self.line(&[(x, middle - 3.0), (x, middle + 3.0)], BLACK);
                    }
                    end = high.max(end);
                }
                self.text((end + 4.0, y + 10.5), "start", &number(point.value));
                y += BAR;
            }
            y += BAR;
        }
        self.top = bottom + AXIS;
    }

    fn curves(&mut self, title: &str, points: &[&Point], unit: &str) {
        let legend = self.head(title, points.iter().copied());
        let (left, top, bottom) = (MARGIN + 56.0, self.top, self.top + CURVES);
        let values = Scale::of(points.iter().copied(), bottom, top);
        let points = points
            .iter()
            .sorted_by(|a, b| a.threads.total_cmp(&b.threads));
        let points = points.collect_vec();
        let most = points.last().map_or(1.0, |point| point.threads);
        let threads = Scale {
            most: 1.05 * most,
            from: left,
            to: WIDTH - 2.0 * MARGIN,
        };
        for (value, y) in values.ticks() {
            self.line(&[(left - 4.0, y), (threads.to, y)], GRID);
            self.text((left - 8.0, y + 4.0), "end", &number(value));
        }
        for number in points.iter().map(|point| point.threads).dedup() {
            let x = threads.place(number);
            self.line(&[(x, bottom), (x, bottom + 4.0)], BLACK);
            self.text((x, bottom + 17.0), "middle", &number.to_string());
        }
        self.line(&[(left, top), (left, bottom), (threads.to, bottom)], BLACK);
        let middle = (left + threads.to) / 2.0;
        self.text((middle, bottom + 33.0), "middle", "threads");
        self.text((left + 6.0, top + 10.0), "start", unit);
        // the first implementation's throughput on the fewest threads, on each of them
        if let Some(first) = points.first() {
            let slope = first.value / first.threads;
            let end = most.min(values.most / slope);
            let end = (threads.place(end), values.place(slope * end));
            let dashed = "stroke=\"#666666\" stroke-dasharray=\"5 4\"";
            self.line(&[(left, bottom), end], dashed);
            self.line(&[(legend, top - 16.0), (legend + 24.0, top - 16.0)], dashed);
            self.text((legend + 30.0, top - 11.0), "start", "ideal");
        }
        let place = |point: &Point| (threads.place(point.threads), values.place(point.value));
        for (series, colour) in points.iter().map(|p| (&p.series, p.colour)).unique() {
            let points = points.iter().filter(|point| point.series == *series);
            let places = points.clone().map(|point| place(point)).collect_vec();
            self.line(&places, &format!("stroke=\"{colour}\" stroke-width=\"2\""));
            for (point, (x, y)) in points.zip(places) {
                self.element(&format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
                ));
                if let Some((low, high)) = point.spread {
                    let whisker = [(x, values.place(low)), (x, values.place(high))];
                    self.line(&whisker, &format!("stroke=\"{colour}\""));
                }
            }
        }
        self.top = bottom + AXIS;
    }
}

/// An axis from 0 to `most`, between two pixels.
struct Scale {
    most: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn of<'p>(points: impl IntoIterator<Item = &'p Point>, from: f64, to: f64) -> Self {
        let ends = points.into_iter().map(|point| {
            let (_, high) = point.spread.unwrap_or_default();
            high.max(point.value)
        });
        let most = ends.fold(f64::MIN_POSITIVE, f64::max);
        Self { most, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * value / self.most
    }

    /// Round values and their places: four to nine of them.
    fn ticks(&self) -> Vec<(f64, f64)> {
        let magnitude = 10f64.powf((self.most / 4.0).log10().floor());
        let step = match self.most / 4.0 / magnitude {
            few if few < 2.0 => magnitude,
            few if few < 5.0 => 2.0 * magnitude,
            _ => 5.0 * magnitude,
        };
        let values = (0..=(self.most / step) as usize).map(|count| count as f64 * step);
        values.map(|value| (value, self.place(value))).collect()
    }
}

/// Formats `value` with a sensible number of digits.
fn number(value: f64) -> String {
    if value != 0.0 && value < 10.0 && value.fract() > 1e-6 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Allocator, Provider};

    fn row(name: &str, value: f64, threads: usize) -> Row {
        Row::new("bulk", name, Provider::Ring, Allocator::System)
            .with("suite", "<a & b>")
            .with("threads", threads)
            .with("mb_per_s", value)
            .with("mb_per_s_p10", 0.9 * value)
            .with("mb_per_s_p90", 1.1 * value)
    }

    /// Asserts that the tags of `svg` nest and that its text is escaped.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a tag ends");
            let entities = ["&amp;", "&lt;", "&gt;"].iter();
            let text = entities.fold(text.to_owned(), |text, entity| text.replace(entity, ""));
            assert!(!text.contains(['>', '&']), "{text}");
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split_whitespace().next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn the_length_of_a_bar_is_proportional_to_its_value() {
        let picture = svg(&[row("this", 1000.0, 1), row("upstream", 500.0, 1)]);
        assert_well_formed(&picture);
        // only the bars: the squares of the legend are 11 wide
        let widths = picture.split("<rect ").filter_map(|tag| {
            let (_, width) = tag.split_once(" width=\"")?;
            let width: f64 = width.split('"').next()?.parse().ok()?;
            let is_bar = tag.contains("#1b6ca8") || tag.contains("#e08e0b");
            (is_bar && width > 11.0).then_some(width)
        });
        let widths = widths.collect_vec();
        assert_eq!(widths.len(), 2, "{picture}");
        assert!((widths[0] / widths[1] - 2.0).abs() < 0.02, "{widths:?}");
        for text in ["1000", "500", "rustls-inplace", "MB/s", "&lt;a &amp; b&gt;"] {
            assert!(picture.contains(text), "{picture}");
        }
        // a whisker with two ends for each, six ticks, and the axes
        assert_eq!(picture.matches("<polyline").count(), 2 * 3 + 6 + 1);
        assert_well_formed(&svg(&[]));
    }

    #[test]
    fn several_numbers_of_threads_are_drawn_as_curves() {
        let row = |at: usize| row(["this", "upstream"][at % 2], at as f64, 1 + at / 2);
        let picture = svg(&(0..6).map(row).collect::<Vec<_>>());
        assert_well_formed(&picture);
        assert_eq!(picture.matches("<circle").count(), 6);
        assert!(picture.contains("ideal") && picture.contains("threads"));
    }
}
