//! `query --explain`

use anyhow::Result;
use fpdb::query::{PlannedSegment, PlannedTable, QueryStats};
use fpdb::{Fingerprint, Match, QueryOptions, Snapshot};
use serde::Serialize;

use crate::output::{self, Context};

/// The matches of a query, and how they were found if that is wanted.
pub(super) type Answer<F> = (Vec<Match<F>>, Option<Explained>);

/// How a query was answered, and what it read.
#[derive(Serialize)]
pub(super) struct Explained {
    plan: Vec<PlannedSegment>,
    read: QueryStats,
}

impl Explained {
    pub(super) fn answer<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        query: F,
        options: QueryOptions,
    ) -> fpdb::Result<Answer<F>> {
        let found = snapshot.explain(query, options)?;
        Ok((found.matches, Some(Self { plan: found.segments, read: found.read })))
    }

    pub(super) fn print(&self, query: &str, context: &mut Context<'_>) -> Result<()> {
        let out = &mut *context.out;
        writeln!(out, "\nplan of {query}")?;
        for segment in &self.plan {
            writeln!(out, "  segment {}: {} entries", segment.segment, segment.fingerprints)?;
            match &segment.tables[..] {
                [] => writeln!(out, "    scan: compares all of them")?,
                tables => {
                    tables.iter().try_for_each(|table| writeln!(out, "    {}", line(table)))?
                }
            }
        }
        let QueryStats { lookups, filtered, rows, blocks, pages, candidates, matches, .. } =
            self.read;
        let counts = [
            ("lookups", lookups),
            ("  filtered", filtered),
            ("rows of keys", rows),
            ("blocks decoded", blocks),
            ("pages read", pages),
            ("candidates", candidates),
            ("matches", matches),
        ];
        // Only sketches have tables of bands.
        let counts = counts.iter().filter(|&&(name, count)| count > 0 || name != "rows of keys");
        let rows: Vec<_> = counts.map(|&(name, count)| (name, count.to_string())).collect();
        output::rows(out, &rows)?;
        Ok(writeln!(out)?)
    }
}

fn line(table: &PlannedTable) -> String {
    let PlannedTable { table, lookups, shortest, longest, flips, .. } = table;
    let plural = if *lookups == 1 { "" } else { "s" };
    let bits = match shortest == longest {
        true => shortest.to_string(),
        false => format!("{shortest} to {longest}"),
    };
    let flipped =
        if *flips == 0 { String::new() } else { format!(", of which {flips} or fewer flipped") };
    format!("table {table}: {lookups} lookup{plural} of {bits} leading bits{flipped}")
}
