//! `FP.STATS`: the figures that `fpdb-tool stats --json` prints, which a test of the tool compares.

use fpdb::{Ids, SegmentStats, Stats};

use crate::resp::Replies;

/// The value of a field.
enum Value<'a> {
    Integer(u64),
    Double(f64),
    Text(&'a str),
    Optional(Option<&'a str>),
    Segments(&'a [SegmentStats]),
}

/// Writes all figures of a database, by name.
pub(crate) fn write(stats: &Stats, replies: &mut Replies) {
    use Value::{Double, Integer, Optional, Segments, Text};

    let (major, minor) = stats.format_version;
    let format_version = format!("{major}.{minor}");
    let fields = [
        ("background_error", Optional(stats.background_error.as_deref())),
        ("bits", Integer(stats.bits.into())),
        ("bits_per_fingerprint_per_table", Double(stats.bits_per_fingerprint_per_table)),
        ("bits_per_id", Double(stats.bits_per_id)),
        ("block_size", Integer(stats.block_size as u64)),
        ("bytes_compacted", Integer(stats.bytes_compacted)),
        ("bytes_documents", Integer(stats.bytes_documents)),
        ("bytes_flushed", Integer(stats.bytes_flushed)),
        ("bytes_ids", Integer(stats.bytes_ids)),
        ("bytes_log", Integer(stats.bytes_log)),
        ("bytes_names", Integer(stats.bytes_names)),
        ("bytes_tables", Integer(stats.bytes_tables)),
        ("bytes_tombstones", Integer(stats.bytes_tombstones)),
        ("bytes_total", Integer(stats.bytes_total)),
        ("code", Text(stats.code.name())),
        ("documents", Integer(stats.documents)),
        ("duplicates", Integer(stats.duplicates)),
        ("entries", Integer(stats.entries)),
        ("entropy_bound_bits", Double(stats.entropy_bound_bits)),
        ("extraction", Optional(stats.extraction.as_deref())),
        ("fingerprints", Integer(stats.fingerprints)),
        ("format_version", Text(&format_version)),
        ("ids", Text(id_kind(stats.ids))),
        ("ids_bound_bits", Double(stats.ids_bound_bits)),
        ("index_budget_bytes", Integer(stats.index_budget_bytes)),
        ("index_loaded_bytes", Integer(stats.index_loaded_bytes)),
        ("index_memory_bytes", Integer(stats.index_memory_bytes)),
        ("layout", Text(&stats.layout)),
        ("max_distance", Integer(stats.max_distance.into())),
        ("memtable_bytes", Integer(stats.memtable_bytes as u64)),
        ("memtable_entries", Integer(stats.memtable_entries as u64)),
        ("page_budget_bytes", Integer(stats.page_budget_bytes)),
        ("page_memory_bytes", Integer(stats.page_memory_bytes)),
        ("recipe", Optional(stats.recipe.as_deref())),
        ("removed", Integer(stats.removed)),
        ("schema", Text("fpdb.stats/1")),
        ("segment_list", Segments(&stats.segments)),
        ("segments", Integer(stats.segments.len() as u64)),
        ("tables", Integer(stats.tables as u64)),
        ("write_amplification", Double(stats.write_amplification)),
    ];
    write_fields(&fields, replies);
}

fn write_fields(fields: &[(&str, Value<'_>)], replies: &mut Replies) {
    replies.map(fields.len());
    for (name, value) in fields {
        replies.bulk(name.as_bytes());
        match value {
            Value::Integer(number) => replies.integer(*number),
            Value::Double(number) => replies.double(*number),
            Value::Text(text) => replies.bulk(text.as_bytes()),
            Value::Optional(text) => replies.optional(*text),
            Value::Segments(segments) => {
                replies.array(segments.len());
                segments.iter().for_each(|segment| write_segment(segment, replies));
            }
        }
    }
}

fn write_segment(segment: &SegmentStats, replies: &mut Replies) {
    let fields = [
        ("bytes", Value::Integer(segment.bytes)),
        ("entries", Value::Integer(segment.entries)),
        ("fingerprints", Value::Integer(segment.fingerprints)),
        ("id", Value::Integer(segment.id)),
        ("removed", Value::Integer(segment.removed)),
    ];
    write_fields(&fields, replies);
}

/// Returns the word for a kind of ids that `fpdb-tool create --ids` accepts.
fn id_kind(ids: Ids) -> &'static str {
    match ids {
        Ids::User => "user",
        Ids::Unique => "unique",
        _ => "names",
    }
}
