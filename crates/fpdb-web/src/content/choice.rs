//! What would be kept of a page that has content.

/// Which blocks would be kept, and by which scores.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) scores: Vec<i64>,
    pub(super) chosen: Vec<bool>,
    /// The expected F1, in thousandths.
    pub(super) best: u64,
    pub(super) is_index: bool,
}
