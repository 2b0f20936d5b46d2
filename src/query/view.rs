//! What a reader searches.

use super::planner::Planner;
use crate::fingerprint::Fingerprint;
use crate::version::Version;

/// A version as a reader sees it: all commits up to and including `seq`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a, F: Fingerprint> {
    pub version: &'a Version<F>,
    pub seq: u64,
    pub planner: &'a Planner,
}
