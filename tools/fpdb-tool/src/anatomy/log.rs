//! The frames of a log.

use anyhow::{Result, bail};

use super::file::{File, HEADER};
use super::{Field, Fields};

/// Bytes of a frame without payload, and of the longest.
const EMPTY: usize = 28;
const MOST: usize = 16 << 20;

/// Reads a frame, counted from 0. Fingerprints have `width` bytes.
pub(super) fn frame(file: &File, number: u64, width: usize, found: &mut Vec<Field>) -> Result<()> {
    let (mut at, mut before) = (HEADER as u64, 0);
    loop {
        let bytes = file.window(at, 4)?;
        let len = bytes.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
        if bytes.len() < 4 {
            bail!("there is no frame {number}: the log has {before}, from 0 on");
        }
        if before == number {
            let bytes = file.window(at, len.clamp(EMPTY, MOST))?;
            let mut fields = Fields::new(&bytes, at, "Log");
            let identity = file.window(16, 40)?;
            let read = one(&mut fields, width, &identity);
            found.append(&mut fields.found);
            return read;
        }
        if !(EMPTY..=MOST).contains(&len) {
            bail!(
                "frame {before} at byte {at} says that it has {len} bytes, so the next is unknown"
            );
        }
        (at, before) = (at + len as u64, before + 1);
    }
}

fn one(fields: &mut Fields<'_>, width: usize, identity: &[u8]) -> Result<()> {
    let bytes = fields.bytes;
    let len = fields.number(4, "length")?;
    let kind = fields.shown(1, "kind", |kind| match kind {
        1 => "1: start".to_owned(),
        2 => "2: commit".to_owned(),
        3 => "3: watermark".to_owned(),
        _ => format!("{kind}: unknown"),
    })?;
    fields.number(1, "flags")?;
    let count = fields.number(2, "count")?;
    fields.number(8, "sequence")?;
    fields.number(8, "durable")?;
    let end = len.saturating_sub(4);
    if len < EMPTY || len > bytes.len() {
        bail!("the frame says that it has {len} bytes, which the log does not have");
    }
    match kind {
        1 => {
            fields.shown(8, "previous log", |number| format!("{number:016x}"))?;
            fields.number(8, "end of the previous log")?;
        }
        2 => (0..count).try_for_each(|_| operation(fields, width, end))?,
        3 => {}
        _ => fields.raw(end - fields.at, "payload", "").map(drop)?,
    }
    fields.at = end;
    let covered = bytes.get(..end).unwrap_or_default();
    fields.checksum(&[identity, &fields.base.to_le_bytes(), covered], "checksum")
}

fn operation(fields: &mut Fields<'_>, width: usize, end: usize) -> Result<()> {
    if fields.at >= end {
        bail!("there are fewer operations than the count says");
    }
    let kind = fields.shown(1, "operation", |kind| match kind {
        1 => "1: insert".to_owned(),
        2 => "2: change".to_owned(),
        3 => "3: remove".to_owned(),
        _ => format!("{kind}: unknown"),
    })?;
    match kind {
        1 | 3 => {
            fields.fingerprint(width, "fingerprint")?;
            fields.number(8, "id").map(drop)
        }
        2 => change(fields, width),
        other => bail!("operation of the unknown kind {other}"),
    }
}

fn change(fields: &mut Fields<'_>, width: usize) -> Result<()> {
    let flags = fields.number(1, "flags")?;
    let has = |flag: usize| flags & flag != 0;
    fields.number(8, "id")?;
    if has(32) {
        let len = fields.number(4, "length of the name")?;
        let name = fields.take(len, "name")?;
        fields.push(name, "name", String::from_utf8_lossy(name));
    }
    if has(1) {
        fields.fingerprint(width, "fingerprint before")?;
    }
    if has(4 | 8) {
        fields.fingerprint(width, "fingerprint")?;
    }
    for (flag, name) in [(16, "stamp"), (8, "original")] {
        if has(flag) {
            fields.number(8, name)?;
        }
    }
    Ok(())
}
