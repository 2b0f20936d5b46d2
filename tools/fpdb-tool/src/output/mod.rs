//! How results look: JSON lines, sizes, and columns for people.

pub(crate) mod damage;
pub(crate) mod document;
pub(crate) mod escape;
pub(crate) mod failure;
pub(crate) mod pair_writer;
pub(crate) mod progress;
pub(crate) mod provenance;
pub(crate) mod standard_output;

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use escape::json;
pub(crate) use escape::{printable, printable_lines};
use provenance::{Provenance, write_traced};

/// Where a command writes, and in which form.
pub(crate) struct Context<'a> {
    /// For data.
    pub(crate) out: &'a mut dyn Write,
    /// For messages.
    pub(crate) err: &'a mut dyn Write,
    /// Writes data as JSON.
    pub(crate) json: bool,
    /// Writes no messages.
    pub(crate) quiet: bool,
    /// Returns the definition of the command line, for the commands that describe it.
    pub(crate) command_line: fn() -> clap::Command,
    /// What every report says about where it comes from.
    pub(crate) provenance: Provenance,
}

impl Context<'_> {
    /// Writes a message to the person at the terminal, with control characters escaped. A command
    /// goes on if that fails.
    pub(crate) fn say(&mut self, sentence: impl Display) {
        if !self.quiet {
            let _ = writeln!(self.err, "{}", printable(&sentence.to_string()));
        }
    }

    /// Writes a report as a JSON object on standard output. docs/json.md describes the schemas.
    pub(crate) fn report(
        &mut self,
        schema: &'static str,
        report: &impl Serialize,
    ) -> io::Result<()> {
        write_traced(self.out, (schema, false), report, &self.provenance)
    }

    /// Writes the summary after other records in the same way.
    pub(crate) fn summary(
        &mut self,
        schema: &'static str,
        summary: &impl Serialize,
    ) -> io::Result<()> {
        write_traced(self.out, (schema, true), summary, &self.provenance)
    }

    /// Writes the one result of a command: as a JSON object on standard output, or else as a
    /// message.
    pub(crate) fn conclude(
        &mut self,
        schema: &'static str,
        report: &impl Serialize,
        sentence: impl Display,
    ) -> io::Result<()> {
        if self.json {
            return self.report(schema, report);
        }
        self.say(sentence);
        Ok(())
    }
}

/// Writes a JSON value and a line feed. Characters that a terminal would obey are escaped.
pub(crate) fn json_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    json(out, value)?;
    out.write_all(b"\n")
}

/// Writes labels and values in two columns, with control characters in the values escaped.
pub(crate) fn rows(out: &mut dyn Write, rows: &[(&str, String)]) -> io::Result<()> {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    rows.iter().try_for_each(|(label, value)| writeln!(out, "{label:width$}  {}", printable(value)))
}

/// Writes a header and lines in columns as wide as their widest cell, with numbers aligned to the
/// right and control characters escaped.
pub(crate) fn table<const N: usize>(
    out: &mut dyn Write,
    header: [&str; N],
    lines: &[[String; N]],
) -> io::Result<()> {
    let lines: Vec<&[String]> = lines.iter().map(<[String; N]>::as_slice).collect();
    columns(out, &header, &lines)
}

fn columns(out: &mut dyn Write, header: &[&str], lines: &[&[String]]) -> io::Result<()> {
    let cells = |line: &&[String]| line.iter().map(|cell| printable(cell)).collect();
    let mut all: Vec<Vec<String>> = vec![header.iter().map(|&title| title.to_owned()).collect()];
    all.extend(lines.iter().map(cells));
    let length = |cell: &String| cell.chars().count();
    let widest = |i: usize| all.iter().map(|line| line.get(i).map_or(0, length)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(widest).collect();
    for line in &all {
        let mut text = String::new();
        for (i, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text += if i == 0 { "" } else { "  " };
            text +=
                &if is_number(cell) { format!("{cell:>width$}") } else { format!("{cell:width$}") };
        }
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

pub(crate) fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit()) && !cell.starts_with("0x")
}

/// Says how much free disk space an operation needs at most while it runs, unless that is little.
pub(crate) fn say_peak(bytes: u64, operation: &str, context: &mut Context<'_>) {
    if bytes >= 64 << 20 {
        context.say(format_args!("{operation} needs up to {} of free disk space", iec(bytes)));
    }
}

/// Formats a number of bytes for people: `1.25 GiB`.
pub(crate) fn iec(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    let value = bytes as f64 / (1u64 << (10 * power)) as f64;
    format!("{value:.2} {}", UNITS[power - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_powers_of_1024() {
        let sizes = [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (5 << 29, "2.50 GiB")];
        for (bytes, text) in sizes {
            assert_eq!(iec(bytes), text);
        }
        assert_eq!(iec(u64::MAX), "16.00 EiB");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut out = Vec::new();
        let lines = [["7".into(), "x".into()], ["1000000".into(), "y".into()]];
        table(&mut out, ["id", "name"], &lines).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "id       name\n      7  x\n1000000  y\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut out = Vec::new();
        rows(&mut out, &[("recipe", "\u{9b}31m".into())]).unwrap();
        table(&mut out, ["file"], &[["a\r".into()]]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "recipe  \\u{9b}31m\nfile\na\\r\n");
    }
}
