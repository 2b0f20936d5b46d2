//! Databases.
//!
//! | file | concern |
//! | --- | --- |
//! | `source` `options` `handle` | what is read from, at any width; how it is opened; until when it is open |
//! | `reader` `writer` `read_only` | the classes of handles |
//! | `documents` `keys` | the documents of a batch: fingerprints, or texts; their names or ids |
//! | `chunks` | iterators that a thread fills |
//! | `results` `rule` | what methods return; which fingerprints match |
//! | `answers` `pairs` `writes` `stats` `names` | queries; searches for pairs; writes of batches; statistics; names of documents |
//! | `repair` | repair of damaged databases |

pub(crate) mod answers;
pub(crate) mod chunks;
pub(crate) mod documents;
pub(crate) mod handle;
pub(crate) mod keys;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod pairs;
pub(crate) mod read_only;
pub(crate) mod reader;
pub(crate) mod repair;
pub(crate) mod results;
pub(crate) mod rule;
pub(crate) mod source;
pub(crate) mod stats;
pub(crate) mod writer;
pub(crate) mod writes;
