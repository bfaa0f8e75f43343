//! The picture of a graph as SVG.

use std::fmt::Write;

use console::measure_text_width;
use maud::{Markup, html};

use super::{
    layout::{Layout, Point, Size, layout},
    picture::{Picture, PictureBox, Role},
};
use crate::numbers::counted;

/// The width of a character of text, in pixels; that of titles is larger.
const CHARACTER: f64 = 7.25;
const TITLE_CHARACTER: f64 = 8.5;
/// The height of a line.
const LINE: f64 = 17.0;
/// The free space around the text of a box.
const PADDING: f64 = 10.0;
/// The free space around the picture.
const MARGIN: f64 = 6.0;

/// The picture of a graph, as large as its text needs; wide ones scroll by themselves.
pub fn graph(picture: &Picture, name: &str) -> Markup {
    let sizes: Vec<Size> = picture.boxes.iter().map(size).collect();
    let edges: Vec<_> = picture.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let layout = layout(&sizes, &edges);
    let width = (layout.size.width.max(widest_label(picture, &layout)) + 2.0 * MARGIN).ceil();
    let height = (layout.size.height + 2.0 * MARGIN).ceil();
    let view = format!("{} {} {width} {height}", -MARGIN, -MARGIN);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Graph of " (name) } {
            svg.graph role="img" aria-label={ "Graph of " (counted(operators(picture), "operator", "operators")) }
                width=(width) height=(height) viewBox=(view) {
                @for points in &layout.edges { (edge(points)) }
                @for ((one, size), at) in picture.boxes.iter().zip(&sizes).zip(&layout.boxes) {
                    (shape(one, *size, *at))
                }
            }
        }
        @if picture.left_out > 0 {
            p.quiet { (counted(picture.left_out as u64, "more operator is", "more operators are")) " not drawn." }
        }
    }
}

fn operators(picture: &Picture) -> u64 {
    picture.boxes.iter().filter(|one| one.role == Role::Operator).count() as u64
}

fn size(one: &PictureBox) -> Size {
    let columns = one.lines.iter().map(|line| measure_text_width(&line.text)).max().unwrap_or(0);
    let title = measure_text_width(&one.title) as f64 * TITLE_CHARACTER;
    let width = title.max(columns as f64 * CHARACTER) + 2.0 * PADDING;
    Size { width, height: LINE * (one.lines.len() + 1) as f64 + PADDING }
}

/// How far to the right labels reach.
fn widest_label(picture: &Picture, layout: &Layout) -> f64 {
    let reach = |(one, at): (&PictureBox, &Point)| {
        one.gives
            .iter()
            .map(|label| at.x + 10.0 + measure_text_width(label) as f64 * CHARACTER)
            .fold(0.0, f64::max)
    };
    picture.boxes.iter().zip(&layout.boxes).map(reach).fold(0.0, f64::max)
}

fn shape(one: &PictureBox, Size { width, height }: Size, at: Point) -> Markup {
    let class = match one.role {
        Role::Input | Role::Output => "end",
        Role::Operator => "operator",
    };
    let radius = if one.role == Role::Operator { 5.0 } else { height / 2.0 };
    let left = at.x - width / 2.0;
    html! {
        g.(class) {
            rect x=(rounded(left)) y=(rounded(at.y)) width=(rounded(width)) height=(rounded(height)) rx=(radius) {}
            text.title x=(rounded(at.x)) y=(rounded(at.y + LINE + 1.0)) text-anchor="middle" { (one.title) }
            @for (place, line) in one.lines.iter().enumerate() {
                text class=[line.is_default.then_some("default")] x=(rounded(left + PADDING)) y=(rounded(at.y + LINE * (place + 2) as f64)) {
                    (line.text)
                }
            }
        }
        @for (place, label) in one.gives.iter().enumerate() {
            text.label x=(rounded(at.x + 9.0)) y=(rounded(at.y + height + LINE * (place + 1) as f64 - 1.0)) { (label) }
        }
    }
}

/// A line through `points` with a tip, upright at its ends and beside the label at its start.
fn edge(points: &[Point]) -> Markup {
    let Some((first, rest)) = points.split_first() else { return html! {} };
    let Some(last) = rest.last() else { return html! {} };
    let mut from = Point { y: first.y + LINE, ..*first };
    let mut path = format!("M{} {}V{}", rounded(first.x), rounded(first.y), rounded(from.y));
    for to in rest {
        let (middle, x, y) = (rounded(f64::midpoint(from.y, to.y)), rounded(to.x), rounded(to.y));
        // writing to a string cannot fail
        let _ = write!(path, "C{} {middle} {x} {middle} {x} {y}", rounded(from.x));
        from = *to;
    }
    let (x, y) = (rounded(last.x), rounded(last.y));
    html! {
        path.edge d=(path) {}
        path.tip d={ "M" (x) " " (y) "l-4 -7h8z" } {}
    }
}

/// A length with one decimal, which is as fine as screens show.
fn rounded(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}
