//! `--explain`: what queries do, in place of what they find.

use std::time::Duration;

use anyhow::Result;
use fpdb::query::{Explain, SegmentExplain};
use fpdb::{Fingerprint, QueryOptions, Snapshot};
use serde::Serialize;

use super::asked::Asked;
use crate::output::{self, Context, json_line};

#[derive(Serialize)]
struct Record {
    r#type: &'static str,
    query: String,
    segments: Vec<Segment>,
    recent: u64,
    matches: usize,
    plan_us: f64,
    aim_us: f64,
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
    questions: usize,
    refused: usize,
    blocks: usize,
    candidates: u64,
    found: usize,
    expected_candidates: f64,
    expected_us: f64,
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Tells what each query did.
pub(super) fn explain<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    batch: &[Asked<F>],
    options: &QueryOptions,
    context: &mut Context<'_>,
) -> Result<()> {
    for query in batch.iter().filter_map(|asked| asked.fingerprint) {
        let record = Record::of(query.to_hex(), &snapshot.explain(query, options)?);
        if context.json {
            json_line(context.out, &record)?;
        } else {
            record.print(context)?;
        }
    }
    Ok(())
}

impl Record {
    fn of(query: String, told: &Explain) -> Self {
        Self {
            r#type: "explain",
            query,
            segments: told.segments.iter().map(Segment::of).collect(),
            recent: told.recent,
            matches: told.matches,
            plan_us: us(told.plan),
            aim_us: us(told.filter),
            find_us: us(told.find),
            decode_us: us(told.decode),
            memory_us: us(told.memory),
            ids_us: us(told.ids),
            total_us: us(told.total),
        }
    }

    fn print(&self, context: &mut Context<'_>) -> Result<()> {
        writeln!(context.out, "query {}: {} matches", self.query, self.matches)?;
        let header = [
            "segment",
            "fingerprints",
            "tables",
            "probes",
            "asked filter",
            "refused",
            "blocks",
            "candidates",
            "expected",
            "found",
            "expected us",
        ];
        let lines: Vec<_> = self.segments.iter().map(Segment::cells).collect();
        output::table(context.out, header, &lines)?;
        let steps = [
            ("plan", self.plan_us),
            ("aim", self.aim_us),
            ("find", self.find_us),
            ("decode", self.decode_us),
            ("memory", self.memory_us),
            ("ids", self.ids_us),
            ("all, overlapped", self.total_us),
        ];
        let steps = steps.map(|(step, us)| format!("{step} {us:.2} us"));
        writeln!(context.out, "{} recent entries; {}\n", self.recent, steps.join(", "))?;
        Ok(())
    }
}

impl Segment {
    fn of(told: &SegmentExplain) -> Self {
        Self {
            id: told.id,
            fingerprints: told.fingerprints,
            scanned: told.scanned,
            tables: told.tables,
            probes: told.probes,
            questions: told.filter_checks,
            refused: told.filtered_out,
            blocks: told.blocks,
            candidates: told.candidates,
            found: told.found,
            expected_candidates: told.expected_candidates,
            expected_us: us(told.expected),
        }
    }

    fn cells(&self) -> [String; 11] {
        let tables = if self.scanned { "scan".to_owned() } else { self.tables.to_string() };
        [
            self.id.to_string(),
            self.fingerprints.to_string(),
            tables,
            self.probes.to_string(),
            self.questions.to_string(),
            self.refused.to_string(),
            self.blocks.to_string(),
            self.candidates.to_string(),
            format!("{:.0}", self.expected_candidates),
            self.found.to_string(),
            format!("{:.2}", self.expected_us),
        ]
    }
}
