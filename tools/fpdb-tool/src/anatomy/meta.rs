//! The meta of paged files.

use anyhow::{Result, bail};
use fpdb::Layout;

use super::Fields;

pub(super) fn section(kind: &str) -> &'static str {
    match kind {
        "table" => "Table",
        "columns" => "Columns",
        "postings" => "Postings",
        "tombstones" => "Tombstones",
        "documents" => "Documents, Meta",
        _ => "Files",
    }
}

/// Reads the meta of a file of this kind.
pub(super) fn meta(fields: &mut Fields<'_>, kind: &str, len: usize) -> Result<()> {
    let names: &[(usize, &str)] = match kind {
        "table" => return table(fields, len),
        "columns" => &[(4, "rows"), (1, "bucket bits"), (1, "block bytes")],
        "postings" => &[(8, "entries"), (8, "id groups"), (8, "heads")],
        "tombstones" => &[(8, "records")],
        "documents" => &[
            (8, "records"),
            (8, "removed"),
            (8, "duplicates"),
            (8, "stamped"),
            (8, "greatest id"),
            (8, "key bytes"),
            (8, "leaf pages"),
            (8, "inner pages"),
            (8, "depth"),
            (8, "root"),
            (8, "chunks"),
            (8, "filter blocks"),
        ],
        _ => bail!("the file is not one of a database"),
    };
    names.iter().try_for_each(|&(len, name)| fields.number(len, name).map(drop))
}

fn table(fields: &mut Fields<'_>, len: usize) -> Result<()> {
    /// Before the lengths of the code.
    const FIXED: usize = 41;
    let fixed = [(8, "count"), (8, "blocks"), (4, "block size"), (4, "filter depth")];
    fixed.iter().try_for_each(|&(len, name)| fields.number(len, name).map(drop))?;
    fields.number(8, "overflow keys")?;
    fields.number(8, "filter words")?;
    let code = fields.shown(1, "code", |code| match code {
        0 => "0: Huffman".to_owned(),
        1 => "1: Elias-Fano".to_owned(),
        _ => format!("{code}: unknown"),
    })?;
    if code == 0 {
        fields.section("Huffman code");
        for h in 0..len.saturating_sub(FIXED) {
            fields.number(1, &format!("code length of h = {h}"))?;
        }
    }
    Ok(())
}

/// What it takes to read the blocks of a table.
pub(super) struct Table {
    pub(super) blocks: u64,
    pub(super) block_size: usize,
    pub(super) code: u128,
    /// Bytes of a fingerprint.
    pub(super) width: usize,
    /// Of the codewords, for each h.
    pub(super) lengths: Vec<u8>,
    /// The bits of a fingerprint in the table's order, the first of which is the most significant.
    order: Vec<u32>,
}

impl Table {
    /// Reads it from the header and the meta of the file.
    pub(super) fn read(header: &[u8], meta: &[u8], layout: &Layout) -> Result<Self> {
        let mut fields = Fields::new(header, 0, "File header");
        fields.at = 18;
        let part = fields.number(2, "part")?;
        if part >= layout.tables() {
            bail!("the header says that this is table {part}, but there are {}", layout.tables());
        }
        let mut fields = Fields::new(meta, 0, "Table");
        fields.at = 8;
        let blocks = fields.number(8, "blocks")? as u64;
        let block_size = fields.number(4, "block size")?;
        if !block_size.is_power_of_two() || !(128..=4096).contains(&block_size) {
            bail!("the meta says that blocks have {block_size} bytes, which cannot be");
        }
        fields.at = 40;
        let code = fields.shown(1, "code", |code| code.to_string())?;
        let width = layout.bits() as usize / 8;
        let lengths = if code == 0 {
            fields.raw(8 * width, "code lengths", "")?.to_vec()
        } else {
            Vec::new()
        };
        let order = bit_order(layout, part);
        Ok(Self { blocks, block_size, code, width, lengths, order })
    }

    /// Returns the fingerprint that the table holds in this form.
    pub(super) fn original(&self, permuted: u128) -> u128 {
        let bits = self.order.len();
        let places = self.order.iter().enumerate();
        places.fold(0, |all, (at, &bit)| all | (permuted >> (bits - 1 - at) & 1) << bit)
    }
}

/// Returns the bits of the fingerprint in the order in which they sort a table.
pub(crate) fn bit_order(layout: &Layout, table: usize) -> Vec<u32> {
    let cells = layout.cells();
    let cell_bits = |&cell: &u16| {
        let cell = usize::from(cell);
        let above: u32 = cells[..cell].iter().map(|&width| u32::from(width)).sum();
        let top = layout.bits() - above;
        (top - u32::from(cells[cell])..top).rev()
    };
    layout.order(table).iter().flat_map(cell_bits).collect()
}
