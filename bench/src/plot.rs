//! Pictures of rows as bars, in SVG. A picture is at most a page high; what does not fit goes to
//! further files.

use std::fs::{self, File};
use std::path::PathBuf;

use harness::peers::pairs::Result;
use itertools::Itertools;

use crate::row::Row;
use crate::tables::{self, Part, broken, grouped};

/// A file for a picture.
pub(crate) struct Picture(PathBuf);

impl Picture {
    /// Creates the file, so that a mistake is found before anything is measured.
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path);
        file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Draws the charts of `parts`. The second page is `NAME-2.svg`, and so on.
    pub(crate) fn draw(self, parts: &[Part]) -> Result<()> {
        let mut path = self.0.clone();
        for (page, number) in pages(parts).iter().zip(1..) {
            if number > 1 {
                let name = self.0.file_stem().unwrap_or_default().to_string_lossy();
                path.set_file_name(format!("{name}-{number}.svg"));
                eprintln!("bench: the picture continues in {}", path.display());
            }
            fs::write(&path, page)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

/// A value to be drawn, with the 10th and 90th percentile if it has samples.
struct Point {
    /// The heading that its label belongs under, and its label. The bars of a label are adjacent.
    place: [String; 2],
    /// The implementation. Points of one series have the same colour.
    series: String,
    colour: &'static str,
    value: f64,
    spread: Option<(f64, f64)>,
}

/// The size of a printed page.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 1075.0;
const MARGIN: f64 = 16.0;
/// The most room for labels on the left of bars.
const LABELS: f64 = 300.0;
const LINE: f64 = 16.0;
/// The height of the legend, and that of an axis with its numbers.
const LEGEND: f64 = 32.0;
const AXIS: f64 = 44.0;
const BAR: f64 = 13.0;
const BLACK: &str = "stroke=\"black\"";
const GRID: &str = "stroke=\"#dddddd\"";
const COLOURS: [&str; 6] = [
    "#1b6ca8", "#e08e0b", "#9a9a9a", "#5b8c5a", "#b25068", "#7a5ca8",
];

/// The approximate width of `text` in a wide font of 12 pixels.
pub(crate) fn text_width(text: &str) -> f64 {
    let widths = text.chars().map(|letter| match letter {
        'm' | 'w' | 'M' | 'W' | '%' => 11.6,
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | '·' | '/' | '-' => 4.7,
        'A'..='Z' | '×' | '–' => 8.7,
        _ => 7.5,
    });
    widths.sum()
}

/// Draws charts, one below the other.
pub(crate) fn pages(parts: &[Part]) -> Vec<String> {
    let mut drawing = Drawing::default();
    for part in parts {
        drawing.part(part);
    }
    drawing.end_page();
    drawing.pages
}

#[derive(Default)]
struct Drawing {
    pages: Vec<String>,
    elements: String,
    /// The height so far.
    top: f64,
}

impl Drawing {
    fn end_page(&mut self) {
        let (body, height) = (core::mem::take(&mut self.elements), self.top.max(1.0));
        self.pages.push(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        ));
        self.top = 0.0;
    }

    /// Writes a text whose `anchor` ("start", "middle" or "end") lies at the position.
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;");
        let text = text.replace('<', "&lt;").replace('>', "&gt;");
        self.elements +=
            &format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n");
    }

    fn line(&mut self, points: &[(f64, f64)], style: &str) {
        let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points = points.format(" ");
        self.elements += &format!("<polyline points=\"{points}\" fill=\"none\" {style}/>\n");
    }

    fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
        self.elements += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>\n"
        );
    }

    /// Draws the rows of one table.
    fn part(&mut self, part: &Part) {
        let (across, main) = (part.view.across, part.main());
        let keys = part.varying(&["bench", "impl", across]);
        // long labels become headings, except for their ends
        let most = keys.len().saturating_sub(1);
        let fits = |folded: &usize| {
            let label = |row: &Row| text_width(&tables::phrases(row, &keys[*folded..]));
            part.rows.iter().all(|row| label(row) <= LABELS)
        };
        let (folded, shown) = keys.split_at((0..most).find(fits).unwrap_or(most));
        let series = part.values(across);
        let points = part.rows.iter().filter_map(|row| {
            let own = row.get(across)?;
            let index = series.iter().position(|series| series == own)?;
            let percentile = |which| row.number(&format!("{main}_{which}"));
            Some(Point {
                place: [folded, shown].map(|keys| tables::phrases(row, keys)),
                series: tables::name(row.text("bench"), own),
                colour: COLOURS[index % COLOURS.len()],
                value: row.number(main)?,
                spread: percentile("p10").zip(percentile("p90")),
            })
        });
        let points = points.collect_vec();
        let groups = grouped(&points, |point| &point.place);
        let mut rest = &groups[..];
        while !rest.is_empty() {
            let mut height = LINE * 3.0 + LEGEND + AXIS;
            let fitting = (0..rest.len()).take_while(|&at| {
                height += BAR * (rest[at].len() + 1) as f64;
                height += if is_new(rest, at) { LINE } else { 0.0 };
                at == 0 || height <= HEIGHT
            });
            let (now, later) = rest.split_at(fitting.count());
            if self.top > 0.0 && self.top + height > HEIGHT {
                self.end_page();
            }
            self.head(&part.heading(), &now.concat());
            self.bars(now, &tables::title(main));
            rest = later;
        }
    }

    /// Writes title and legend.
    fn head(&mut self, title: &str, points: &[&Point]) {
        let fits = |line: &str| 1.1 * text_width(line) <= WIDTH - 2.0 * MARGIN;
        self.top += 8.0;
        self.elements += "<g font-weight=\"bold\">\n";
        for line in broken(title, fits) {
            self.top += LINE;
            self.text((MARGIN, self.top), "start", &line);
        }
        self.elements += "</g>\n";
        let (mut x, y) = (MARGIN, self.top + 11.0);
        for point in points.iter().unique_by(|point| &point.series) {
            self.rectangle((x, y), (11.0, 11.0), point.colour);
            self.text((x + 16.0, y + 10.0), "start", &point.series);
            x += 36.0 + text_width(&point.series);
        }
        self.top += LEGEND;
    }

    fn bars(&mut self, groups: &[Vec<&Point>], unit: &str) {
        let points = groups.concat();
        let widest = |width: &dyn Fn(&Point) -> f64| {
            let widths = points.iter().map(|point| width(point));
            widths.fold(0.0, f64::max)
        };
        let left = MARGIN + 8.0 + widest(&|point| text_width(&point.place[1]));
        let right = WIDTH - MARGIN - 4.0 - widest(&|point| text_width(&number(point.value)));
        // times differ by orders of magnitude
        let is_log = unit.contains("µs") || unit == "ns";
        let scale = Scale::of(&points, (left, right), is_log);
        let (top, start) = (self.top, self.elements.len());
        let mut y = top + BAR / 2.0;
        for (at, group) in groups.iter().enumerate() {
            let [heading, label] = &group[0].place;
            if is_new(groups, at) {
                y += LINE;
                self.text((MARGIN, y - 4.0), "start", heading);
            }
            self.text((left - 6.0, y + 10.0), "end", label);
            for point in group {
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
        let bottom = y - BAR / 2.0;
        // the grid is behind the bars
        let bars = self.elements.split_off(start);
        for (value, x) in scale.ticks() {
            self.line(&[(x, top), (x, bottom + 4.0)], GRID);
            self.text((x, bottom + 17.0), "middle", &number(value));
        }
        self.elements += &bars;
        let corner = [(left, top), (left, bottom), (WIDTH - MARGIN, bottom)];
        self.line(&corner, BLACK);
        let unit = unit.to_owned() + if is_log { " (logarithmic)" } else { "" };
        let middle = f64::max(left.floor(), (text_width(&unit) / 2.0).floor());
        self.text(((middle + WIDTH) / 2.0, bottom + 33.0), "middle", &unit);
        self.top = bottom + AXIS;
    }
}

/// True if the group at `at` is the first under its heading.
fn is_new(groups: &[Vec<&Point>], at: usize) -> bool {
    let heading = |at: usize| &groups[at][0].place[0];
    !heading(at).is_empty() && (at == 0 || heading(at) != heading(at - 1))
}

/// An axis from `low` to `high`, between two pixels. These are powers of ten if it is logarithmic.
struct Scale {
    low: f64,
    high: f64,
    pixels: (f64, f64),
    is_log: bool,
}

impl Scale {
    fn of(points: &[&Point], pixels: (f64, f64), is_log: bool) -> Self {
        let values = points.iter().flat_map(|point| {
            let (low, high) = point.spread.unwrap_or((point.value, point.value));
            [low, point.value, high]
        });
        let (mut low, mut high) = (0.0, values.clone().fold(f64::MIN_POSITIVE, f64::max));
        if is_log {
            low = values.filter(|low| *low > 0.0).fold(high, f64::min);
            (low, high) = (low.log10().floor(), high.log10().ceil());
        }
        Self {
            low,
            high,
            pixels,
            is_log,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.is_log { value.log10() } else { value };
        let share = (value.max(self.low) - self.low) / (self.high - self.low);
        self.pixels.0 + (self.pixels.1 - self.pixels.0) * share
    }

    /// Returns round values and their places: four to nine, or powers of ten. Leaves out those
    /// whose numbers would overlap the one on their left.
    fn ticks(&self) -> Vec<(f64, f64)> {
        let fourth = self.high / 4.0;
        let steps = [5.0, 2.0, 1.0].map(|step| step * 10f64.powf(fourth.log10().floor()));
        let mut round = steps.into_iter().filter(|step| *step <= fourth);
        let step = round.next().filter(|_| !self.is_log).unwrap_or(1.0);
        let count = ((self.high - self.low) / step) as usize;
        let mut end = f64::MIN;
        let ticks = (0..=count).filter_map(|count| {
            let value = self.low + count as f64 * step;
            let value = if self.is_log {
                10f64.powf(value)
            } else {
                value
            };
            let (x, half) = (self.place(value), text_width(&number(value)) / 2.0);
            let is_apart = x - half > end + 4.0;
            end = if is_apart { x + half } else { end };
            is_apart.then_some((value, x))
        });
        ticks.collect()
    }
}

/// Formats `value` with a sensible number of digits.
fn number(value: f64) -> String {
    let (value, unit) = match value {
        1e6.. => (value / 1e6, " M"),
        _ => (value, ""),
    };
    let places = usize::from(value != 0.0 && value < 10.0 && value.fract() > 1e-6);
    format!("{value:.places$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Allocator, Provider};
    use crate::tables::{View, parts};

    fn row(name: &str, value: f64, threads: usize) -> Row {
        Row::new("bulk", name, Provider::Ring, Allocator::System)
            .with("suite", "<a & b>")
            .with("threads", threads)
            .with("mb_per_s", value)
            .with("mb_per_s_p10", 0.9 * value)
            .with("mb_per_s_p90", 1.1 * value)
    }

    /// The only page of `rows`.
    fn svg(rows: &[Row]) -> String {
        let pages = pages(&parts(View::GENERAL, rows));
        assert_eq!(pages.len(), 1);
        pages.concat()
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
}
