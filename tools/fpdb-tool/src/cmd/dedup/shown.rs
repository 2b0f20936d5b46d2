//! `--html`: what a run found, for a person who looks at it.

use std::path::Path;

use anyhow::Result;
use fpdb::MatchRule;
use fpdb_dedup::html::{Collector, Measure, Report};

use super::report::{Duplicate, Summary};

/// Collects what is shown.
pub(super) struct Shown {
    collector: Collector,
    measure: Measure,
}

impl Shown {
    pub(super) fn new(rule: &MatchRule) -> Result<Self> {
        let (measure, threshold) = match rule.jaccard() {
            Some(jaccard) => (Measure::Similarity, jaccard.similarity()),
            None => (Measure::Distance, rule.distance().into()),
        };
        let collector = Collector::new(measure, threshold, &std::env::temp_dir())?;
        Ok(Self { collector, measure })
    }

    /// Takes a document that is stored under this name.
    pub(super) fn kept(&mut self, name: &str, text: &str) -> Result<()> {
        Ok(self.collector.kept(name, text)?)
    }

    pub(super) fn duplicate(&mut self, duplicate: &Duplicate<'_>, text: &str) -> Result<()> {
        let &Duplicate { id, duplicate_of, distance, similarity } = duplicate;
        let measured = match self.measure {
            Measure::Distance => Some((distance.into(), format!("distance {distance}"))),
            Measure::Similarity => similarity.map(|it| {
                let about = if it.error.is_some() { "about " } else { "" };
                (it.value, format!("similarity {about}{:.2}", it.value))
            }),
        };
        Ok(self.collector.dropped(id, text, duplicate_of, measured)?)
    }

    pub(super) fn report(self, db: &Path, summary: &Summary) -> Report {
        self.collector.report(&format!("dedup {}", db.display()), summary.figures())
    }
}
