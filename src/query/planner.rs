//! How a database is searched.

use super::bands::BandPlanner;
use super::counters::Counters;
use super::options::Within;
use super::tables::TablePlanner;
use crate::index::tables::layout::Costs;
use crate::settings::{IndexSettings, Settings};

/// How the sources of a database are searched, and what queries have read so far.
#[derive(Debug)]
pub(crate) struct Planner {
    index: PlannedIndex,
    /// The distance of the rule.
    distance: u32,
    /// What all queries have read that were planned here.
    counters: Counters,
}

#[derive(Debug)]
enum PlannedIndex {
    Tables(Box<TablePlanner>),
    Bands(BandPlanner),
}

impl Planner {
    /// Makes the planner of a database.
    pub(crate) fn of(settings: &Settings, costs: Costs, candidate_pages: usize) -> Self {
        let index = match &settings.index {
            IndexSettings::Tables(tables) => {
                PlannedIndex::Tables(Box::new(TablePlanner::of(tables, costs)))
            }
            IndexSettings::Bands(rule) => {
                PlannedIndex::Bands(BandPlanner::of(*rule, candidate_pages))
            }
        };
        let distance = settings.index.rule().distance();
        Self { index, distance, counters: Counters::default() }
    }

    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the distance within which fingerprints match.
    #[inline]
    pub(crate) fn distance(&self, within: Within) -> u32 {
        match within {
            Within::Rule => self.distance,
            Within::Distance(distance) => distance,
        }
    }

    /// Returns how tables of fingerprints are searched. Only a search of words may ask.
    #[inline]
    pub(crate) fn tables(&self) -> &TablePlanner {
        match &self.index {
            PlannedIndex::Tables(tables) => tables,
            PlannedIndex::Bands(_) => unreachable!("sketches are not searched in tables"),
        }
    }

    /// Returns how bands are searched. Only a search of sketches may ask.
    #[inline]
    pub(crate) fn bands(&self) -> &BandPlanner {
        match &self.index {
            PlannedIndex::Bands(bands) => bands,
            PlannedIndex::Tables(_) => unreachable!("words are not searched by bands"),
        }
    }
}
