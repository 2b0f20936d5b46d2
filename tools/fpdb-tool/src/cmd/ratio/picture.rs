//! The sizes as bars, in SVG.

use std::fmt::Write as _;

use super::measure::Code;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 160.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 76.0;
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;

/// The colours of the parts of a table, which can also be distinguished by people who are
/// colour-blind (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#56b4e9", "#999999", "#cc79a7", "#d55e00"];
const PLAIN: &str = "#6b7a8f";

const STYLE: &str = "<style>\
text{font:13px sans-serif;fill:#222}.paper{fill:#fff}.grid{stroke:#ccc}\
@media (prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#1c1c1c}.grid{stroke:#444}}\
</style>";

/// Draws a bar for each code; those of tables consist of their parts.
pub(super) fn draw(title: &str, codes: &[Code]) -> String {
    let rows = codes.len() as f64;
    let (bottom, height) = (TOP + rows * ROW, TOP + rows * ROW + 50.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
         {STYLE}<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    text(&mut svg, (16.0, 24.0), "start", &format!("<tspan font-weight=\"bold\">{title}</tspan>"));
    legend(&mut svg, codes);
    let most = codes.iter().map(|code| code.bits).fold(0.0, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / most;
    axis(&mut svg, most, scale, bottom);
    for (row, code) in codes.iter().enumerate() {
        let y = TOP + row as f64 * ROW;
        text(&mut svg, (LEFT - 8.0, y + 14.0), "end", &code.name);
        let of_blocks = code.parts.map(|parts| parts.named());
        let plain = [("", code.bits)];
        let mut x = LEFT;
        for (i, (_, bits)) in
            of_blocks.as_ref().map_or(&plain[..], |parts| parts).iter().enumerate()
        {
            let colour = if code.parts.is_some() { COLOURS[i] } else { PLAIN };
            bar(&mut svg, (x, y), bits * scale, colour);
            x += bits * scale;
        }
        text(
            &mut svg,
            (x + 6.0, y + 14.0),
            "start",
            &format!("{:.1} ({:.2})", code.bits, code.ratio),
        );
    }
    svg + "</svg>\n"
}

/// Names the parts of tables beside their colours.
fn legend(svg: &mut String, codes: &[Code]) {
    let Some(parts) = codes.iter().find_map(|code| code.parts) else { return };
    for (i, ((name, _), colour)) in parts.named().into_iter().zip(COLOURS).enumerate() {
        let x = LEFT + 94.0 * i as f64;
        bar(svg, (x, 42.0), 12.0, colour);
        text(svg, (x + 17.0, 56.0), "start", name);
    }
}

/// Draws a line for each 8 bits, or each 16 of wide fingerprints, and labels it.
fn axis(svg: &mut String, most: f64, scale: f64, bottom: f64) {
    let step = if most > 80.0 { 16.0 } else { 8.0 };
    let mut bits = 0.0;
    while bits <= most {
        let x = LEFT + bits * scale;
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
        );
        text(svg, (x, bottom + 16.0), "middle", &bits.to_string());
        bits += step;
    }
    let middle = LEFT + most * scale / 2.0;
    let label = "bits per fingerprint (in parentheses: ratio to raw)";
    text(svg, (middle, bottom + 38.0), "middle", label);
}

fn bar(svg: &mut String, (x, y): (f64, f64), width: f64, colour: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
}
