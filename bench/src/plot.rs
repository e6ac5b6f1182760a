//! Pictures of the rows, as SVG: bars, and curves over numbers of threads where these differ.

use core::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::workload::Result;

/// A value to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The bars of one group are adjacent; the curves of one group share a chart.
    pub(crate) group: String,
    /// The implementation. Points of one series have the same colour.
    pub(crate) series: String,
    pub(crate) threads: usize,
    pub(crate) value: f64,
}

/// A part of a picture.
#[derive(Debug)]
pub(crate) struct Chart {
    title: String,
    kind: ChartKind,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ChartKind {
    Bars,
    Curves,
}

/// Returns the charts of `points`, whose values are in `unit`. They are one bar chart, or one chart
/// of curves per group if the numbers of threads differ.
pub(crate) fn charts(title: &str, unit: &str, mut points: Vec<Point>) -> Vec<Chart> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    if points.iter().all(|point| point.threads == first.threads) {
        // rows may be sorted by implementation
        let groups = names(&points, |point| &point.group);
        points.sort_by_key(|point| groups.iter().position(|group| *group == point.group));
        return vec![Chart {
            title: format!("{title} ({unit})"),
            kind: ChartKind::Bars,
            points,
        }];
    }
    let of_group = |group: String| Chart {
        title: format!("{title} · {group} ({unit} over threads)"),
        kind: ChartKind::Curves,
        points: points
            .iter()
            .filter(|point| point.group == group)
            .cloned()
            .collect(),
    };
    let groups = names(&points, |point| &point.group);
    groups.into_iter().map(of_group).collect()
}

/// Writes a picture of `charts`, stacked vertically, to `file`.
pub(crate) fn write(file: &Path, charts: &[Chart]) -> Result<()> {
    std::fs::write(file, svg(charts)?)
        .map_err(|error| format!("cannot write {}: {error}", file.display()).into())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The width of a drawing without labels.
const WIDTH: u32 = 620;
const MARGIN: i32 = 16;
/// The approximate width of one character of a label.
const CHARACTER_WIDTH: u32 = 6;
/// The height of title and legend.
const HEAD_HEIGHT: u32 = 64;
const AXIS_HEIGHT: u32 = 36;
const BAR_HEIGHT: u32 = 16;
const CURVES_HEIGHT: u32 = 320;
const COLOURS: [RGBColor; 6] = [
    RGBColor(27, 108, 168),
    RGBColor(224, 142, 11),
    RGBColor(154, 154, 154),
    RGBColor(91, 140, 90),
    RGBColor(178, 80, 104),
    RGBColor(122, 92, 168),
];
const FONT: &str = "sans-serif";
const FONT_SIZE: i32 = 12;

fn svg(charts: &[Chart]) -> Result<String> {
    let height = charts.iter().map(Chart::height).sum::<u32>().max(1);
    let width = charts.iter().map(Chart::width).max().unwrap_or(WIDTH);
    let mut picture = String::new();
    {
        let mut rest = SVGBackend::with_string(&mut picture, (width, height)).into_drawing_area();
        rest.fill(&WHITE)?;
        for chart in charts {
            let (area, below) = rest.split_vertically(chart.height() as i32);
            chart.draw(&area)?;
            rest = below;
        }
        rest.present()?;
    }
    Ok(picture)
}

impl Chart {
    fn height(&self) -> u32 {
        let body = match self.kind {
            ChartKind::Bars => BAR_HEIGHT * self.bar_rows() as u32,
            ChartKind::Curves => CURVES_HEIGHT,
        };
        HEAD_HEIGHT + body + AXIS_HEIGHT
    }

    fn width(&self) -> u32 {
        // titles have a larger font
        let title = 10 * self.title.chars().count() as u32;
        let legend = self.series().iter().map(|name| legend_width(name)).sum();
        let head = Ord::max(title, legend);
        Ord::max(WIDTH + self.labels_width(), head) + 2 * MARGIN as u32
    }

    /// The width of the labels to the left of the values.
    fn labels_width(&self) -> u32 {
        let names = self.points.iter().map(|point| point.group.chars().count());
        match self.kind {
            ChartKind::Bars => CHARACTER_WIDTH * names.max().unwrap_or(0) as u32,
            ChartKind::Curves => 80,
        }
    }

    /// The number of rows: one for each bar, and an empty one between groups.
    fn bar_rows(&self) -> usize {
        self.points.len() + names(&self.points, |point| &point.group).len()
    }

    fn draw(&self, area: &Area<'_>) -> Result<()> {
        let (head, body) = area.split_vertically(HEAD_HEIGHT as i32);
        let title = (FONT, 16).into_font().style(FontStyle::Bold);
        head.draw_text(&self.title, &title.into(), (MARGIN, 10))?;
        let mut left = MARGIN;
        for (index, series) in self.series().iter().enumerate() {
            let corners = [(left, 40), (left + 12, 52)];
            head.draw(&Rectangle::new(corners, colour(index).filled()))?;
            head.draw_text(series, &text(HPos::Left), (left + 18, 46))?;
            left += legend_width(series) as i32;
        }
        match self.kind {
            ChartKind::Bars => self.draw_bars(&body),
            ChartKind::Curves => self.draw_curves(&body),
        }
    }

    fn draw_bars(&self, area: &Area<'_>) -> Result<()> {
        let rows = self.bar_rows() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin_left(MARGIN)
            .margin_right(MARGIN)
            .x_label_area_size(AXIS_HEIGHT)
            .y_label_area_size(self.labels_width())
            .build_cartesian_2d(self.values(), 0.0..rows)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&number)
            .draw()?;
        let (series, plane) = (self.series(), chart.plotting_area());
        let (offset, _) = area.get_pixel_range();
        let (mut top, mut group) = (rows, None);
        for point in &self.points {
            if group != Some(&point.group) {
                top -= if group.is_some() { 1.0 } else { 0.5 };
                group = Some(&point.group);
                let (left, y) = plane.map_coordinate(&(0.0, top - 0.5));
                let at = (left - offset.start - 8, y - area.get_pixel_range().1.start);
                area.draw_text(&point.group, &text(HPos::Right), at)?;
            }
            let index = series.iter().position(|name| *name == point.series);
            let corners = [(0.0, top - 0.06), (point.value.max(0.0), top - 0.94)];
            let style = colour(index.unwrap_or(0)).filled();
            plane.draw(&Rectangle::new(corners, style))?;
            let end = (point.value.max(0.0), top - 0.5);
            let label = EmptyElement::at(end)
                + Text::new(
                    format!(" {}", number(&point.value)),
                    (2, 0),
                    text(HPos::Left),
                );
            plane.draw(&label)?;
            top -= 1.0;
        }
        Ok(())
    }

    fn draw_curves(&self, area: &Area<'_>) -> Result<()> {
        let most = self.points.iter().map(|point| point.threads).max();
        let most = most.unwrap_or(1);
        let mut chart = ChartBuilder::on(area)
            .margin_right(2 * MARGIN)
            .x_label_area_size(AXIS_HEIGHT)
            .y_label_area_size(self.labels_width())
            .build_cartesian_2d(0.0..most as f64, self.values())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(most.min(16) + 1)
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .x_desc("threads")
            .draw()?;
        for (index, series) in self.series().iter().enumerate() {
            let points = self.points.iter().filter(|point| point.series == *series);
            let mut points: Vec<_> = points
                .map(|point| (point.threads as f64, point.value))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let style = colour(index).stroke_width(2);
            chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
            let dots = points.iter();
            chart.draw_series(dots.map(|point| Circle::new(*point, 4, colour(index).filled())))?;
        }
        Ok(())
    }

    fn series(&self) -> Vec<String> {
        names(&self.points, |point| &point.series)
    }

    /// The range from 0 to a little more than the largest value.
    fn values(&self) -> Range<f64> {
        let values = self.points.iter().map(|point| point.value);
        0.0..1.15 * values.fold(f64::MIN_POSITIVE, f64::max)
    }
}

/// The distinct values of `name`, in order of appearance.
fn names(points: &[Point], name: impl Fn(&Point) -> &String) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for point in points {
        if !names.contains(name(point)) {
            names.push(name(point).clone());
        }
    }
    names
}

/// The width of a series in the legend, with the gap before the next.
fn legend_width(series: &str) -> u32 {
    48 + 8 * series.chars().count() as u32
}

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

fn text(side: HPos) -> TextStyle<'static> {
    let style = TextStyle::from((FONT, FONT_SIZE).into_font());
    style.pos(Pos::new(side, VPos::Center))
}

/// Formats `value` with a sensible number of digits.
#[allow(clippy::trivially_copy_pass_by_ref)] // the signature of plotters' formatters
fn number(value: &f64) -> String {
    if *value != 0.0 && *value < 10.0 && value.fract().abs() > 1e-6 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64], threads: fn(usize) -> usize) -> Vec<Point> {
        let point = |(index, value): (usize, &f64)| Point {
            group: format!("group <{}> & more", index / 2 % 2),
            series: ["this", "upstream"][index % 2].to_owned(),
            threads: threads(index),
            value: *value,
        };
        values.iter().enumerate().map(point).collect()
    }

    /// Asserts that the tags of `svg` nest and that its text is escaped.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').expect("a tag ends");
            assert!(!text.contains('>'), "{text}");
            for (at, _) in text.match_indices('&') {
                let end = text[at..].find(';').expect("an entity ends");
                assert!(["&amp;", "&lt;", "&gt;"].contains(&&text[at..=at + end]));
            }
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split_whitespace().next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn pictures_are_well_formed() {
        for values in [&[][..], &[0.0], &[1.0, 2.0, 3.0], &[5e9, 0.1]] {
            let bars = charts("a & b", "MB/s", points(values, |_| 1));
            assert_eq!(bars.len(), usize::from(!values.is_empty()));
            assert_well_formed(&svg(&bars).unwrap());
        }
    }

    #[test]
    fn the_length_of_a_bar_is_proportional_to_its_value() {
        let picture = svg(&charts("t", "MB/s", points(&[1000.0, 500.0], |_| 1))).unwrap();
        let widths = picture.split("<rect ").filter_map(|tag| {
            // only the bars: the squares of the legend are 12 wide
            let width = tag.split("width=\"").nth(1)?.split('"').next()?;
            let width: f64 = width.parse().ok()?;
            (tag.contains("#1B6CA8") || tag.contains("#E08E0B"))
                .then_some(width)
                .filter(|width| *width > 12.0)
        });
        let widths: Vec<_> = widths.collect();
        assert_eq!(widths.len(), 2, "{picture}");
        assert!((widths[0] / widths[1] - 2.0).abs() < 0.02, "{widths:?}");
        assert!(picture.contains("1000") && picture.contains("500"));
    }

    #[test]
    fn several_numbers_of_threads_are_drawn_as_curves() {
        let values: Vec<_> = (0..12).map(f64::from).collect();
        let curves = charts("t", "MB/s", points(&values, |index| 1 + index / 4));
        assert_eq!(curves.len(), 2);
        assert!(curves.iter().all(|chart| chart.kind == ChartKind::Curves));
        let picture = svg(&curves).unwrap();
        assert_well_formed(&picture);
        // two implementations in each chart, in addition to the lines of the axes
        let lines = picture.matches("<polyline").count();
        assert!(lines >= 4, "{picture}");
        assert_eq!(picture.matches("<circle").count(), 12);
    }
}
