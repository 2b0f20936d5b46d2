//! The stored form of a layout: name, width, cells, orders. See storage-format.md, "Layout".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::{Layout, MAX_CELLS, MAX_TABLES};
use crate::base::error::Result;
use crate::file::codec::bytes::{Fields, PutFields};

impl Layout {
    /// Appends the layout: name (string), u8 bits, u8 number of cells, a u8 width per cell, u8
    /// number of tables, and a u8 per cell for each table.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_string(self.name.as_bytes());
        out.put_u8(small(self.cells.len()));
        out.extend_from_slice(&self.cells);
        out.put_u8(small(self.orders.len()));
        for order in &self.orders {
            out.extend(order.iter().copied().map(small));
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, for fingerprints of `bits` bits. Checks all that
    /// [`Layout::with_orders`] requires.
    pub(crate) fn decode(fields: &mut Fields<'_>, bits: u32) -> Result<Self> {
        let start = fields.clone();
        let name = fields.text("layout name")?;
        let cells = count(fields, MAX_CELLS, "layout cells")?;
        let widths = fields.bytes(cells, "layout cells")?;
        let tables = count(fields, MAX_TABLES, "layout tables")?;
        let mut orders: Vec<Vec<usize>> = Vec::with_capacity(tables);
        for _ in 0..tables {
            let order = fields.bytes(cells, "layout order")?;
            orders.push(order.iter().map(|&cell| cell.into()).collect());
        }
        Self::with_orders(name, bits, widths, &orders)
            .map_err(|error| start.corruption(error.to_string()))
    }
}

/// Reads a count of at most `most`.
fn count(fields: &mut Fields<'_>, most: usize, what: &str) -> Result<usize> {
    let at = fields.clone();
    let count = usize::from(fields.u8(what)?);
    if count > most {
        return Err(at.corruption(format!("{what}: {count}, at most {most} expected")));
    }
    Ok(count)
}

/// Narrows a count or a cell number of a layout, which is at most 64.
fn small(value: usize) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}
