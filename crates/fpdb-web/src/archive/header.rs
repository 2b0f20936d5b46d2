//! What the header of a record says, in either format.

use super::record::RecordKind;
use crate::fields::Fields;

/// The header of a record.
#[derive(Debug)]
pub(super) struct Header {
    /// Bytes of the block that follows.
    pub(super) length: u64,
    pub(super) kind: RecordKind,
    /// Empty if there is none.
    pub(super) url: String,
    /// The media type of the block. Empty if it is unknown.
    pub(super) content_type: String,
    pub(super) fields: Fields,
    /// What is wrong with the record, if its end can still be found.
    pub(super) fault: Option<&'static str>,
}
