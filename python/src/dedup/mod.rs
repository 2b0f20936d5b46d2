//! Which texts to keep, and what they repeat.
//!
//! | file | concern |
//! | --- | --- |
//! | `compare` `nearest` | which rows are duplicates; the documents that are near them |
//! | `passages` `passage_index` | passages, lines and texts that stand in others; an index of passages that lasts |
//! | `repetition` | what a text repeats of itself |
//! | `report` | what was found, as HTML |

pub(crate) mod compare;
pub(crate) mod nearest;
pub(crate) mod passage_index;
pub(crate) mod passages;
pub(crate) mod repetition;
pub(crate) mod report;
