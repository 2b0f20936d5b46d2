//! The bits of a fingerprint in the order in which they sort a table.

use fpdb::Layout;

/// Returns the bits of the fingerprint in the order in which they sort a table.
pub(super) fn bit_order(layout: &Layout, table: usize) -> Vec<u32> {
    let cells = layout.cells();
    let cell_bits = |&cell: &usize| {
        let above: u32 = cells[..cell].iter().map(|&width| u32::from(width)).sum();
        let top = layout.bits() - above;
        (top - u32::from(cells[cell])..top).rev()
    };
    layout.order(table).iter().flat_map(cell_bits).collect()
}

/// Formats bits as descending ranges: `31..0 63..32`.
pub(super) fn ranges(bits: &[u32]) -> String {
    let runs = bits.chunk_by(|a, b| *a == b + 1);
    runs.map(|run| format!("{}..{}", run[0], run[run.len() - 1])).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_order_follows_the_order_of_the_cells() {
        let layout = Layout::preset("half-2", 64).unwrap();
        assert_eq!(ranges(&bit_order(&layout, 0)), "63..0");
        assert_eq!(ranges(&bit_order(&layout, 1)), "31..0 63..32");
    }
}
