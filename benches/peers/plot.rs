//! The plot of the README: nanoseconds per miss against the number of keys, both logarithmic.

use std::fmt::Write as _;

use crate::table::{Figure, Table, count, machine};

/// What is drawn, in which colour; those of this crate thicker.
const LINES: [(&str, &str, bool); 8] = [
    ("BlockedBloomFilter", "#b3261e", true),
    ("BloomFilter", "#d9822b", true),
    ("CuckooFilter, 16 bits", "#7b1fa2", true),
    ("sbbf-rs-safe, ready hash", "#1565c0", false),
    ("fastbloom, ready hash", "#2e7d32", false),
    ("xorf BinaryFuse16", "#00838f", false),
    ("qfilter, ready hash", "#6d4c41", false),
    ("floor of 1 line", "#9e9e9e", false),
];

const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;

/// Draws the tables of several sizes.
pub(crate) fn svg(tables: &[Table]) -> String {
    let (Some(first), Some(last)) = (tables.first(), tables.last()) else { return String::new() };
    let decades = (last.n as f64 / first.n as f64).log10().max(1.0);
    let x = |n: u64| LEFT + WIDTH * (n as f64 / first.n as f64).log10() / decades;
    // 1 to 1,000 ns.
    let y = |ns: f64| TOP + HEIGHT * (1.0 - ns.clamp(1.0, 1_000.0).log10() / 3.0);
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 410\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"700\" height=\"410\" fill=\"white\"/>\n",
    );
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"22\" font-size=\"14\">Nanoseconds per miss, median, hash ready; the \
         better of one by one and batch</text>"
    );
    for ns in [1.0, 10.0, 100.0, 1_000.0] {
        let y = y(ns);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{ns}</text>",
            LEFT + WIDTH,
            LEFT - 6.0,
            y + 4.0
        );
    }
    for table in tables {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(table.n),
            TOP + HEIGHT + 18.0,
            count(table.n)
        );
    }
    let mut labels: Vec<(f64, &str, &str)> = Vec::new();
    for (name, colour, ours) in LINES {
        let points: Vec<(f64, f64)> = tables
            .iter()
            .map(|table| (x(table.n), y(table.best(name, Figure::Miss))))
            .filter(|(_, y)| y.is_finite())
            .collect();
        let mut path = String::new();
        for (x, y) in &points {
            let _ = write!(path, "{x:.1},{y:.1} ");
        }
        let width = if ours { 3.0 } else { 1.5 };
        let _ = writeln!(
            out,
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        );
        labels.extend(points.last().map(|(_, y)| (*y, name, colour)));
    }
    // Names beside the ends of the lines, moved down where they would meet.
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0_f64;
    for (y, name, colour) in labels {
        let y = (y + 4.0).max(free);
        free = y + 15.0;
        let x = LEFT + WIDTH + 8.0;
        let _ = writeln!(out, "<text x=\"{x}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>");
    }
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"395\" font-size=\"10\" fill=\"#666666\">{}</text>\n</svg>",
        machine()
    );
    out
}
