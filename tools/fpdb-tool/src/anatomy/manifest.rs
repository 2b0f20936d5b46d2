//! The manifest.

use anyhow::Result;

use super::Fields;

/// Reads everything after the file header.
pub(super) fn manifest(fields: &mut Fields<'_>) -> Result<()> {
    fields.section("Manifest");
    for name in ["features to read", "features to write"] {
        fields.shown(8, name, |features| format!("{features:#x}"))?;
    }
    let (tables, has_columns) = settings(fields)?;
    fields.section("Manifest");
    fields.number(8, "generation")?;
    fields.shown(8, "session", nonce)?;
    fields.number(1, "unfinished")?;
    for name in ["next id", "last commit", "bytes flushed", "bytes compacted"] {
        fields.number(8, name)?;
    }
    for _ in 0..fields.number(4, "earlier sessions")? {
        fields.shown(8, "nonce of the session", nonce)?;
        fields.number(8, "last generation of the session")?;
    }
    for _ in 0..fields.number(4, "logs")? {
        fields.shown(8, "number of the log", nonce)?;
        fields.shown(8, "nonce of the log", nonce)?;
        fields.number(8, "end of the log")?;
    }
    for _ in 0..fields.number(4, "segments")? {
        segment(fields, tables, has_columns)?;
    }
    for _ in 0..fields.number(4, "extensions")? {
        fields.number(4, "tag")?;
        let len = fields.number(4, "length")?;
        fields.raw(len, "content", "")?;
    }
    let covered = fields.bytes.get(..fields.at).unwrap_or_default();
    fields.checksum(&[covered], "checksum")
}

fn nonce(number: u128) -> String {
    format!("{number:016x}")
}

/// Reads the settings. Returns the number of tables, and whether there are columns.
fn settings(fields: &mut Fields<'_>) -> Result<(usize, bool)> {
    fields.shown(1, "kind of ids", |kind| match kind {
        0 => "0: user".to_owned(),
        1 => "1: names".to_owned(),
        2 => "2: unique".to_owned(),
        _ => format!("{kind}: unknown"),
    })?;
    fields.number(4, "block size")?;
    fields.number(1, "code")?;
    fields.number(4, "filter bits")?;
    let has_columns = fields.number(1, "kind of tables")? == 1;
    fields.string("recipe")?;
    fields.string("extraction")?;
    fields.section("Layout");
    fields.string("name")?;
    let cells = fields.number(1, "cells")?;
    fields.list(cells, "widths")?;
    let tables = fields.number(1, "tables")?;
    for table in 0..tables {
        fields.list(cells, &format!("bit order of table {table}"))?;
    }
    fields.section("Match rule");
    fields.number(1, "max distance")?;
    if fields.number(1, "kind")? == 1 {
        fields.number(2, "similarity")?;
        fields.number(2, "recall")?;
        for table in 0..tables {
            for _ in 0..fields.number(1, &format!("steps of table {table}"))? {
                fields.number(1, "depth")?;
                fields.number(1, "limit")?;
            }
        }
    }
    Ok((tables, has_columns))
}

fn segment(fields: &mut Fields<'_>, tables: usize, has_columns: bool) -> Result<()> {
    fields.shown(8, "number of the segment", nonce)?;
    fields.shown(8, "nonce of the segment", nonce)?;
    for name in ["fingerprints", "entries", "tombstones"] {
        fields.number(8, name)?;
    }
    let (blocks, columns) = if has_columns { (1, tables) } else { (tables, 0) };
    let names = (0..blocks).map(|table| format!("table {table}"));
    let names = names.chain((0..columns).map(|table| format!("columns {table}")));
    for name in names.chain(["postings".to_owned(), "tombstones".to_owned()]) {
        file(fields, &name)?;
    }
    if file(fields, "documents")? > 0 {
        for name in ["documents", "removals", "replaced"] {
            fields.number(8, name)?;
        }
    }
    Ok(())
}

fn file(fields: &mut Fields<'_>, name: &str) -> Result<usize> {
    let len = fields.number(8, &format!("length of the {name} file"))?;
    fields.shown(4, &format!("CRC-32 of the {name} file"), |crc| format!("0x{crc:08x}"))?;
    Ok(len)
}
