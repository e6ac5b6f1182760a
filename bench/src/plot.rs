//! Horizontal bars as an SVG picture.

use core::fmt::Write;

/// One bar.
pub(crate) struct Bar {
    /// What is compared: bars of the same group stand together.
    pub(crate) group: String,
    /// Which implementation it shows: bars of the same series have the same colour.
    pub(crate) series: String,
    pub(crate) value: f64,
}

const WIDTH: f64 = 900.0;
const MARGIN: f64 = 16.0;
const LABELS_WIDTH: f64 = 320.0;
const VALUES_WIDTH: f64 = 80.0;
const BAR_HEIGHT: f64 = 16.0;
const GROUP_GAP: f64 = 10.0;
const HEAD_HEIGHT: f64 = 72.0;
const COLOURS: [&str; 4] = ["#1b6ca8", "#e08e0b", "#9a9a9a", "#5b8c5a"];

/// A picture of `bars` under `title`; their lengths are in `unit`.
pub(crate) fn svg(title: &str, unit: &str, bars: &[Bar]) -> String {
    let mut series: Vec<&str> = Vec::new();
    for bar in bars {
        if !series.contains(&bar.series.as_str()) {
            series.push(&bar.series);
        }
    }
    let colour = |name: &str| {
        let index = series.iter().position(|series| *series == name);
        COLOURS[index.unwrap_or(0) % COLOURS.len()]
    };
    let longest = bars
        .iter()
        .map(|bar| bar.value)
        .fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - 2.0 * MARGIN - LABELS_WIDTH - VALUES_WIDTH) / longest;

    let mut body = String::new();
    text(
        &mut body,
        MARGIN,
        26.0,
        "title",
        &format!("{title} ({unit})"),
    );
    let mut x = MARGIN;
    for name in &series {
        rectangle(&mut body, x, 40.0, 12.0, 12.0, colour(name));
        text(&mut body, x + 18.0, 50.0, "label", name);
        x += 40.0 + 8.0 * name.chars().count() as f64;
    }

    let mut y = HEAD_HEIGHT;
    let mut group = None;
    for bar in bars {
        if group != Some(&bar.group) {
            if group.is_some() {
                y += GROUP_GAP;
            }
            text(&mut body, MARGIN, y + 12.0, "label", &bar.group);
            group = Some(&bar.group);
        }
        let (left, length) = (MARGIN + LABELS_WIDTH, bar.value.max(0.0) * scale);
        rectangle(
            &mut body,
            left,
            y + 1.0,
            length,
            BAR_HEIGHT - 2.0,
            colour(&bar.series),
        );
        let value = format!("{:.0}", bar.value);
        text(&mut body, left + length + 6.0, y + 12.0, "value", &value);
        y += BAR_HEIGHT;
    }

    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n\
         <style>text {{ font-family: sans-serif; font-size: 12px; fill: #222 }} \
         .title {{ font-size: 16px; font-weight: bold }} .value {{ fill: #555 }}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         {body}</svg>\n"
    )
}

fn rectangle(body: &mut String, x: f64, y: f64, width: f64, height: f64, colour: &str) {
    // writing to a String does not fail
    let _ = writeln!(
        body,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill=\"{colour}\"/>"
    );
}

fn text(body: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let content = content
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        body,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{content}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(values: &[f64]) -> Vec<Bar> {
        let bar = |(index, value): (usize, &f64)| Bar {
            group: format!("group <{}> & more", index / 2),
            series: ["this", "upstream"][index % 2].to_owned(),
            value: *value,
        };
        values.iter().enumerate().map(bar).collect()
    }

    /// The tags of `svg` nest and its text is escaped.
    fn assert_well_formed(svg: &str) {
        let mut open = Vec::new();
        for (at, part) in svg.split('<').enumerate() {
            if at == 0 {
                assert!(part.is_empty());
                continue;
            }
            let (tag, text) = part.split_once('>').expect("a tag ends");
            assert!(!text.contains('>'), "{text}");
            for (at, _) in text.match_indices('&') {
                let end = text[at..].find(';').expect("an entity ends");
                assert!(["&amp;", "&lt;", "&gt;"].contains(&&text[at..=at + end]));
            }
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name)),
                None if tag.ends_with('/') => {}
                None => open.push(tag.split(' ').next().unwrap()),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn pictures_are_well_formed() {
        for values in [&[][..], &[0.0], &[1.0, 2.0, 3.0], &[5e9, 0.1]] {
            assert_well_formed(&svg("a & b", "MB/s", &bars(values)));
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let picture = svg("t", "MB/s", &bars(&[1000.0, 500.0]));
        let full = WIDTH - 2.0 * MARGIN - LABELS_WIDTH - VALUES_WIDTH;
        for length in [full, full / 2.0] {
            assert!(
                picture.contains(&format!("width=\"{length:.1}\"")),
                "{picture}"
            );
        }
        assert!(picture.contains(">1000</text>") && picture.contains(">500</text>"));
    }
}
