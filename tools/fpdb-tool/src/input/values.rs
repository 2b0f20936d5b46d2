//! The values that a record of any format has.

/// What a record of a file says about a document.
#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) id: String,
    pub(crate) text: String,
    /// `None` if no stamp is requested.
    pub(crate) stamp: Option<u64>,
}
