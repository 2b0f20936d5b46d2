//! The stored form of a layout: name, width, cells, orders. See storage-format.md, "Layout".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{Layout, MAX_CELLS};
use crate::codec::bytes::{Fields, PutFields};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, MINIMA, Sketch};

impl Layout {
    /// Appends the layout: name (string), u8 bits, u8 number of cells, a u8 width per cell, u8
    /// number of tables, and a u8 per cell for each table.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.name.as_bytes());
        out.put_u8(small(self.cells.len()));
        out.extend_from_slice(&self.cells);
        out.put_u8(small(self.tables));
        for table in 0..self.tables {
            out.extend(self.order(table).into_iter().map(small));
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, for fingerprints of `bits` bits.
    pub(crate) fn decode(fields: &mut Fields<'_>, bits: u32) -> Result<Self> {
        let is_sketch = bits == Sketch::BITS;
        let start = fields.clone();
        let name = fields.text("layout name")?;
        let at = fields.clone();
        let cells = usize::from(fields.u8("layout cells")?);
        if cells > MAX_CELLS {
            let found = format!("layout cells: {cells}, at most {MAX_CELLS} expected");
            return Err(at.corruption(found));
        }
        let widths = fields.bytes(cells, "layout cells")?;
        let mut layout = Self::new(name, if is_sketch { MINIMA } else { bits }, widths)
            .map_err(|error| start.corruption(error.to_string()))?;
        let at = fields.clone();
        layout.tables = fields.u8("layout tables")?.into();
        // What a layout of sketches must be depends on the match rule, which follows.
        if layout.tables > cells || layout.tables < cells && !is_sketch {
            let found = format!("layout of {} tables: expected {cells}", layout.tables);
            return Err(at.corruption(found));
        }
        for table in 0..layout.tables {
            let at = fields.clone();
            let order = fields.bytes(cells, "layout order")?;
            if !order.iter().map(|&cell| usize::from(cell)).eq(layout.order(table)) {
                let found =
                    format!("layout table {table}: {order:?} is not the order of its cells");
                return Err(at.corruption(found));
            }
        }
        Ok(layout)
    }
}

/// Narrows a count or a cell number of a layout, which is at most 64.
fn small(value: usize) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}
