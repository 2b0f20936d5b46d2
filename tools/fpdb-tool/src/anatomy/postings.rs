//! The sections of postings.

use anyhow::{Result, bail};

use super::file::File;
use super::{Field, Fields, number_up};

/// Bytes of a head, and id groups of a section.
const HEAD: usize = 64;
const GROUPS: usize = 48;

/// What the head of a section says.
struct Head {
    base: u64,
    start: u64,
    width: u32,
    has_lists: bool,
    /// The ends of the id groups; none if they are in the data.
    ends: Vec<usize>,
}

/// Reads the section with this number, from 0 on. `meta` is the meta of the file.
pub(super) fn section(file: &File, meta: &[u8], number: u64, found: &mut Vec<Field>) -> Result<()> {
    let mut meta = Fields::new(meta, 0, "Postings");
    let _entries = meta.number(8, "entries")?;
    let groups = meta.number(8, "id groups")?;
    let heads = meta.number(8, "heads")? as u64;
    let sections = groups.div_ceil(GROUPS) as u64;
    if number >= sections {
        bail!("there is no section {number}: the postings have {sections}, from 0 on");
    }
    let at = heads.saturating_add(number * HEAD as u64);
    let bytes = file.window(at, 2 * HEAD)?;
    let groups = (groups - usize::try_from(number)? * GROUPS).min(GROUPS);
    let mut fields = Fields::new(&bytes, at, "Postings");
    let head = self::head(&mut fields, groups);
    // A section ends where the next one begins.
    let end = match number + 1 < sections {
        true => number_up(&bytes, 8 * (HEAD + 8), 48),
        false => u128::from(heads),
    };
    found.append(&mut fields.found);
    let head = head?;
    let len = u64::try_from(end).ok().and_then(|end| end.checked_sub(head.start));
    let Some(len) = len.and_then(|len| usize::try_from(len).ok()) else {
        bail!("the data begin at byte {}, but end at byte {end}", head.start);
    };
    let bytes = file.window(head.start, len)?;
    let mut fields = Fields::new(&bytes, head.start, "Postings");
    let read = data(&mut fields, &head, groups);
    found.append(&mut fields.found);
    read
}

fn head(fields: &mut Fields<'_>, groups: usize) -> Result<Head> {
    let base = fields.number(8, "base")? as u64;
    let start = fields.number(6, "start")? as u64;
    let scale = fields.number(2, "scale")?;
    let width = fields.shown(1, "width", |width| {
        let lists = if width & 128 > 0 { "with lists" } else { "no lists" };
        format!("{}, {lists}", width & 127)
    })?;
    let mut ends = Vec::new();
    for group in 0..groups.min(GROUPS - 1) {
        let line = (group + 1) * scale / GROUPS;
        let end = |byte: u128| line as i64 + i64::from(byte.to_le_bytes()[0].cast_signed());
        let byte = fields.shown(1, &format!("deviation of id group {group}"), |byte| {
            format!("{}: end {}", end(byte) - line as i64, end(byte))
        })?;
        ends.push(usize::try_from(end(byte)).unwrap_or(0));
    }
    if groups == GROUPS {
        ends.push(scale);
    }
    if scale == 0 {
        ends.clear();
    }
    let (has_lists, width) = (width & 128 > 0, u32::try_from(width & 127)?);
    Ok(Head { base, start, width, has_lists, ends })
}

fn data(fields: &mut Fields<'_>, head: &Head, groups: usize) -> Result<()> {
    let mut ends = head.ends.clone();
    if ends.is_empty() {
        for group in 0..groups {
            ends.push(fields.number(4, &format!("end of id group {group}"))?);
        }
    }
    let mut count = ends.last().copied().unwrap_or(0);
    let mut beginnings = None;
    if head.has_lists {
        count = fields.number(8, "ids")?;
        for sample in 0..count.saturating_sub(1) / 512 {
            fields.number(4, &format!("sample {sample}"))?;
        }
        let len = count.div_ceil(64).saturating_mul(8);
        beginnings = Some(fields.raw(len, "beginnings", "one bit per id")?);
    }
    let begins = |i: usize| beginnings.is_none_or(|bits| number_up(bits, i, 1) == 1);
    let mut fingerprint = 0;
    let first = fields.column(head.width, count, "ids")?;
    for i in 0..count {
        let width = head.width as usize;
        let id = head.base.wrapping_add(u64::try_from(number_up(
            fields.bytes,
            first + i * width,
            head.width,
        ))?);
        fingerprint += usize::from(begins(i));
        let name = format!("id of fingerprint {}", fingerprint.saturating_sub(1));
        fields.bits(first + i * width, head.width, name, id.to_string());
    }
    Ok(())
}
