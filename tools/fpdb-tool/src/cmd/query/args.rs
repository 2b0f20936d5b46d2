//! The arguments of `query`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::args::choice::choice;
use crate::args::memory::MemoryArgs;
use crate::args::stamp;
use crate::args::suggested;
use crate::input::fingerprints::ListArgs;
use crate::input::{DocumentArgs, InputFormat};

const EXAMPLE: &str = "\
Examples:
  fpdb-tool query crawl.fpdb 0x0123456789abcdef --distance 3
  fpdb-tool query crawl.fpdb 0x0123456789abcdef --explain
  fpdb-tool query crawl.fpdb pages.ndjson --from ndjson --json";

/// Finds the near-duplicates of fingerprints, of sketches, or of documents
///
/// Answers queries in the order given, and completely unless --limit is given. Matches are sorted
/// by distance, then by fingerprint and id.
///
/// With --json, prints one record per query,
/// {"type":"query","i":0,"query":"0x...","matches":[...]}, and a summary record last. For a
/// document, the record also has its id, "document":"...", and the query is null if the document
/// has too few features for a fingerprint. In the table, the document's id replaces the query.
///
/// If the recipe of the database tells similarities, as pairs and fives do, each match has the
/// estimated Jaccard similarity of the two documents' features, and with --json its
/// "standard_error". Sketches are too long for the table; --json has them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    pub(super) path: PathBuf,

    /// Fingerprints or sketches in hex, with or without 0x; or, with --from, files of queries,
    /// where `-` is standard input
    #[arg(value_name = "FINGERPRINT|FILE", required = true)]
    pub(super) queries: Vec<OsString>,

    /// Distance in bits, of sketches in minima [default: what counts as a duplicate in the
    /// database]
    #[arg(short = 'k', long = "distance", value_name = "BITS")]
    pub(super) distance: Option<u32>,

    /// Read queries from files of this format
    #[arg(long, value_parser = choice::<InputFormat>())]
    pub(super) from: Option<InputFormat>,

    /// Largest number of matches per query; the nearest are kept [default: no limit]
    #[arg(long, value_name = "MATCHES")]
    pub(super) limit: Option<usize>,

    /// Return only documents with this stamp or a greater one: a number, a time in UTC such as
    /// 2026-01-31, or a duration such as 30d, which means so long ago. Needs a database with names
    /// or unique ids
    #[arg(long, value_name = "STAMP", value_parser = stamp::parse, allow_negative_numbers = true)]
    pub(super) since: Option<u64>,

    /// Exit with code 1 if no query has a match
    #[arg(long)]
    pub(super) exit_status: bool,

    /// After the matches of each query, print which prefixes of which tables were looked up, and
    /// what was read: lookups, those that a filter answered, blocks, pages of 4 KiB, candidates
    /// that were compared. Queries are answered one by one
    #[arg(long)]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) list: ListArgs,

    /// Recipe that turns texts into fingerprints [default: the database's recipe, else `default`]
    #[arg(long, value_name = "NAME", value_parser = suggested::recipes(), hide_possible_values = true, help_heading = "Reading documents")]
    pub(super) recipe: Option<String>,

    #[command(flatten)]
    pub(super) documents: DocumentArgs,

    #[command(flatten)]
    pub(super) memory: MemoryArgs,
}
