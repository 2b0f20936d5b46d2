//! The leaves and inner nodes of documents.

use anyhow::{Result, bail};

use super::file::{File, HEADER};
use super::{Field, Fields, number_up};

/// Bytes of a page, and the most pages of a leaf or node.
const PAGE: usize = 4096;
const MOST_PAGES: usize = 33;

/// What a database has in all its leaves.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) has_names: bool,
    /// Bytes of a fingerprint.
    pub(super) width: usize,
}

/// Reads the leaf or inner node that begins at a page, counted from the first leaf. `meta` is that of
/// the file.
pub(super) fn page(
    file: &File,
    meta: &[u8],
    kind: Kind,
    number: u64,
    found: &mut Vec<Field>,
) -> Result<()> {
    let mut meta = Fields::new(meta, 0, "Documents, Meta");
    meta.at = 48;
    let (leaves, nodes) = (meta.number(8, "leaf pages")?, meta.number(8, "inner pages")?);
    let pages = leaves.saturating_add(nodes) as u64;
    if number >= pages {
        bail!("there is no page {number}: leaves and inner nodes have {pages}, from 0 on");
    }
    let symbols = Symbols::read(&file.window(HEADER as u64, PAGE - HEADER)?)?;
    let at = (number + 1).saturating_mul(PAGE as u64);
    let bytes = file.window(at, PAGE * MOST_PAGES)?;
    let is_leaf = number < leaves as u64;
    let section = if is_leaf { "Documents, Leaf" } else { "Documents, Inner node" };
    let mut fields = Fields::new(&bytes, at, section);
    let read = match is_leaf {
        true => leaf(&mut fields, kind, &symbols),
        false => node(&mut fields, &symbols),
    };
    found.append(&mut fields.found);
    read
}

fn leaf(fields: &mut Fields<'_>, kind: Kind, symbols: &Symbols) -> Result<()> {
    let records = fields.number(2, "records")?;
    fields.number(2, "pages")?;
    let flags = fields.number(1, "flags")?;
    let has = |flag: usize| flags & flag != 0;
    let widths = [fields.width("shared width")?, fields.width("length width")?];
    let mut columns = Vec::new();
    for (is_there, name) in [(kind.has_names, "ids"), (has(2), "originals"), (has(4), "stamps")] {
        if is_there {
            let width = fields.width(&format!("width of the {name}"))?;
            columns.push((name, width, fields.number(8, &format!("least of the {name}"))?));
        }
    }
    let (mut removed, mut duplicates, mut stamped) = (0, 0, None);
    for (flag, name) in [(1, "removed"), (2, "duplicates"), (8, "stamped")] {
        if has(flag) {
            let bitmap = fields.raw(records.div_ceil(8), name, "a bitmap")?;
            let ones = bitmap.iter().map(|byte| byte.count_ones() as usize).sum();
            match flag {
                1 => removed = ones,
                2 => duplicates = ones,
                _ => stamped = Some(ones),
            }
        }
    }
    let lengths = self::lengths(fields, widths, records)?;
    let documents = records.saturating_sub(removed);
    for (name, width, least) in columns {
        let count = match name {
            "originals" => duplicates,
            "stamps" => stamped.unwrap_or(documents),
            _ => documents,
        };
        let first = fields.column(width, count, name)?;
        for i in 0..count {
            let at = first + i * width as usize;
            let number = number_up(fields.bytes, at, width).wrapping_add(least as u128);
            fields.bits(
                at,
                width,
                format!("{name} {i}"),
                (number & u128::from(u64::MAX)).to_string(),
            );
        }
    }
    for i in 0..documents {
        fields.fingerprint(kind.width, &format!("fingerprint {i}"))?;
    }
    suffixes(fields, &lengths, symbols, "key")
}

fn node(fields: &mut Fields<'_>, symbols: &Symbols) -> Result<()> {
    let children = fields.number(2, "children")?;
    fields.number(2, "pages")?;
    let widths = [fields.width("shared width")?, fields.width("length width")?];
    let extra = fields.width("extra width")?;
    let first_child = fields.number(8, "first")?;
    let lengths = lengths(fields, widths, children.saturating_sub(1))?;
    let first = fields.column(extra, children, "extra numbers")?;
    for i in 0..children {
        let at = first + i * extra as usize;
        let page = first_child as u128 + i as u128 + number_up(fields.bytes, at, extra);
        fields.bits(at, extra, format!("page of child {i}"), page.to_string());
    }
    suffixes(fields, &lengths, symbols, "separator")
}

/// Reads the shared lengths and the lengths of the suffixes.
fn lengths(
    fields: &mut Fields<'_>,
    [shared, length]: [u32; 2],
    count: usize,
) -> Result<Vec<(usize, usize)>> {
    let width = shared + length;
    let first = fields.column(width, count, "lengths")?;
    let mut found = Vec::new();
    for i in 0..count {
        let at = first + i * width as usize;
        let number = number_up(fields.bytes, at, width);
        let parts =
            (usize::try_from(number >> length)?, usize::try_from(number & ((1 << length) - 1))?);
        let value = format!("shared {}, suffix {}", parts.0, parts.1);
        fields.bits(at, width, format!("lengths {i}"), value);
        found.push(parts);
    }
    Ok(found)
}

fn suffixes(
    fields: &mut Fields<'_>,
    lengths: &[(usize, usize)],
    symbols: &Symbols,
    what: &str,
) -> Result<()> {
    let mut key = Vec::new();
    for (i, &(shared, len)) in lengths.iter().enumerate() {
        let name = format!("suffix of {what} {i}");
        let suffix = fields.take(len, &name)?;
        if shared > key.len() {
            bail!("{what} {i} shares {shared} bytes with one of {}", key.len());
        }
        key.truncate(shared);
        symbols.decode(suffix, &mut key)?;
        fields.push(suffix, name, String::from_utf8_lossy(&key));
    }
    Ok(())
}

/// The symbols for which codes stand.
struct Symbols(Vec<Vec<u8>>);

impl Symbols {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(bytes, HEADER as u64, "Symbol table");
        let count = fields.number(1, "count")?;
        let lengths = fields.take(count, "lengths")?;
        let symbol = |&len: &u8| fields.take(len.into(), "symbol").map(<[u8]>::to_vec);
        lengths.iter().map(symbol).collect::<Result<_>>().map(Self)
    }

    /// Appends what these codes stand for.
    fn decode(&self, codes: &[u8], to: &mut Vec<u8>) -> Result<()> {
        if self.0.is_empty() {
            to.extend_from_slice(codes);
            return Ok(());
        }
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            match (code, self.0.get(usize::from(code))) {
                (255, _) => match codes.next() {
                    Some(&byte) => to.push(byte),
                    None => bail!("a suffix ends with code 255"),
                },
                (_, Some(symbol)) => to.extend_from_slice(symbol),
                (code, None) => bail!("code {code} has no symbol"),
            }
        }
        Ok(())
    }
}
