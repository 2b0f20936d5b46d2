//! The answers to one query.

use super::hit::{Hit, Hits};
use super::options::{QueryOptions, Within};
use super::pipeline;
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{DocId, Fingerprint, Match};

impl<F: Fingerprint> View<'_, F> {
    /// Returns all matches, each once, sorted by distance, fingerprint, id.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        let mut hits = Hits::new(Hit::NONE);
        pipeline::search(self, fingerprint, options.within, &mut hits)?;
        self.select(hits.as_mut_slice(), options)
    }

    /// Turns hits into the matches that the options ask for.
    pub(super) fn select(
        &self,
        hits: &mut [Hit<F>],
        options: QueryOptions,
    ) -> Result<Vec<Match<F>>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        let Some(since) = options.since else { return self.matches(hits, limit) };
        let mut recent = Vec::new();
        for found in self.matches(hits, usize::MAX)? {
            if recent.len() == limit {
                break;
            }
            let document = self.version.document_by_id(found.id, self.seq)?;
            if document.is_some_and(|(_, document)| document.stamp >= Some(since)) {
                recent.push(found);
            }
        }
        Ok(recent)
    }

    /// Returns the nearest match. Of several, it is the one with the lowest fingerprint and id.
    ///
    /// Radii are tried from 0 up: few probes find a near match, and all radii together cost little
    /// more than the last one.
    pub(crate) fn nearest(&self, fingerprint: F, within: Within) -> Result<Option<Match<F>>> {
        let test = self.planner.test(within);
        // By every rule, equal fingerprints match. More is not known about a rule's tables.
        let surely = if test.tables.is_some() { 1.min(test.distance) } else { test.distance };
        let mut radius = 0;
        while radius < surely {
            let options = QueryOptions::within(radius).limit(1);
            if let Some(found) = self.query(fingerprint, options)?.pop() {
                return Ok(Some(found));
            }
            radius = if radius == 0 { 1 } else { radius * 2 };
        }
        Ok(self.query(fingerprint, QueryOptions::within(within).limit(1))?.pop())
    }

    /// Returns the ids of a fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        let options = QueryOptions::within(0);
        Ok(self.query(fingerprint, options)?.into_iter().map(|m| m.id).collect())
    }
}
