//! The blocks that are kept if the page has content.

/// Which blocks are kept if the page has content, and by which scores.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) scores: Vec<i64>,
    pub(super) chosen: Vec<bool>,
    /// The expected F1 of these blocks, in thousandths.
    pub(super) best: u64,
    pub(super) is_index: bool,
}
