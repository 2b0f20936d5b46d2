//! The two widths of fingerprints.

use fpdb::Fingerprint;

/// A width of fingerprints that has recipes and databases.
pub(crate) trait Width: fpdb::text::Width + Fingerprint {}

impl Width for u64 {}
impl Width for u128 {}
