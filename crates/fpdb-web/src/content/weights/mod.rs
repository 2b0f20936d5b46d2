//! The trees of main/1, which tools/pages/fit.py fitted to labelled pages (docs/extraction.md).

mod first;
mod second;
mod whole;

pub(super) use first::FIRST;
pub(super) use second::SECOND;
pub(super) use whole::WHOLE;
