//! `--explain`: shows what queries do instead of what they find.

use std::time::Duration;

use anyhow::Result;
use fpdb::query::{Explain, SegmentExplain};
use fpdb::{Fingerprint, QueryOptions, Snapshot};
use serde::Serialize;

use super::queries::Query;
use crate::args::database::SKETCH_BITS;
use crate::output::{self, Context, json_line};

#[derive(Serialize)]
struct Record {
    r#type: &'static str,
    query: String,
    segments: Vec<Segment>,
    recent: u64,
    matches: usize,
    plan_us: f64,
    filter_us: f64,
    find_us: f64,
    decode_us: f64,
    memory_us: f64,
    ids_us: f64,
    total_us: f64,
}

#[derive(Serialize)]
struct Segment {
    id: u64,
    fingerprints: u64,
    scanned: bool,
    tables: usize,
    probes: usize,
    filter_checks: usize,
    filtered_out: usize,
    blocks: usize,
    candidates: u64,
    found: usize,
    expected_candidates: f64,
    expected_us: f64,
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Runs each query and shows what it did. Returns how many matches each has.
pub(super) fn explain<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    batch: &[Query<F>],
    options: &QueryOptions,
    context: &mut Context<'_>,
) -> Result<Vec<usize>> {
    let mut matches = Vec::new();
    for query in batch.iter().filter_map(|query| query.fingerprint) {
        let record = Record::of(query.to_hex(), &snapshot.explain(query, options)?);
        matches.push(record.matches);
        if context.json {
            json_line(context.out, &record)?;
        } else {
            record.print(F::BITS == SKETCH_BITS, context)?;
        }
    }
    Ok(matches)
}

impl Record {
    fn of(query: String, explain: &Explain) -> Self {
        Self {
            r#type: "explain",
            query,
            segments: explain.segments.iter().map(Segment::of).collect(),
            recent: explain.recent,
            matches: explain.matches,
            plan_us: us(explain.plan),
            filter_us: us(explain.filter),
            find_us: us(explain.find),
            decode_us: us(explain.decode),
            memory_us: us(explain.memory),
            ids_us: us(explain.ids),
            total_us: us(explain.total),
        }
    }

    fn print(&self, is_sketch: bool, context: &mut Context<'_>) -> Result<()> {
        writeln!(context.out, "query {}: {} matches", self.query, self.matches)?;
        let steps: &[(&str, f64)] = if is_sketch {
            let header = ["segment", "sketches", "keys", "leaves"];
            let lines: Vec<_> = self.segments.iter().map(Segment::sketch_cells).collect();
            output::table(context.out, header, &lines)?;
            &[("keys", self.find_us), ("leaves", self.decode_us), ("memory", self.memory_us)]
        } else {
            let lines: Vec<_> = self.segments.iter().map(Segment::cells).collect();
            output::table(context.out, HEADER, &lines)?;
            &[
                ("plan", self.plan_us),
                ("filter", self.filter_us),
                ("find", self.find_us),
                ("decode", self.decode_us),
                ("memory", self.memory_us),
                ("ids", self.ids_us),
            ]
        };
        let all = ("all, overlapped", self.total_us);
        let steps = steps.iter().chain([&all]).map(|(step, us)| format!("{step} {us:.2} us"));
        let steps = steps.collect::<Vec<_>>().join(", ");
        writeln!(context.out, "{} recent entries; {steps}\n", self.recent)?;
        Ok(())
    }
}

const HEADER: [&str; 11] = [
    "segment",
    "fingerprints",
    "tables",
    "probes",
    "filter checks",
    "filtered out",
    "blocks",
    "candidates",
    "expected",
    "found",
    "expected us",
];

impl Segment {
    fn of(explain: &SegmentExplain) -> Self {
        Self {
            id: explain.id,
            fingerprints: explain.fingerprints,
            scanned: explain.scanned,
            tables: explain.tables,
            probes: explain.probes,
            filter_checks: explain.filter_checks,
            filtered_out: explain.filtered_out,
            blocks: explain.blocks,
            candidates: explain.candidates,
            found: explain.found,
            expected_candidates: explain.expected_candidates,
            expected_us: us(explain.expected),
        }
    }

    fn tables(&self) -> String {
        if self.scanned { "scan".to_owned() } else { self.tables.to_string() }
    }

    fn sketch_cells(&self) -> [String; 4] {
        [self.id.to_string(), self.fingerprints.to_string(), self.tables(), self.blocks.to_string()]
    }

    fn cells(&self) -> [String; 11] {
        [
            self.id.to_string(),
            self.fingerprints.to_string(),
            self.tables(),
            self.probes.to_string(),
            self.filter_checks.to_string(),
            self.filtered_out.to_string(),
            self.blocks.to_string(),
            self.candidates.to_string(),
            format!("{:.0}", self.expected_candidates),
            self.found.to_string(),
            format!("{:.2}", self.expected_us),
        ]
    }
}
