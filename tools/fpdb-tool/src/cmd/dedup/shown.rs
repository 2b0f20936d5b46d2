//! `--html`: what a run found, for a person who looks at it.

use std::path::Path;

use anyhow::Result;
use fpdb::MatchRule;
use fpdb_dedup::html::{Collector, Measure};

use super::report::{Duplicate, Summary};
use crate::cmd::html::HtmlFile;
use crate::output::Context;

/// Collects what is shown.
pub(super) struct Shown {
    file: HtmlFile,
    measure: Measure,
    /// Or why there is none any more. That is no reason to end the run.
    collector: fpdb_dedup::Result<Collector>,
}

impl Shown {
    /// Creates the file, if one was asked for.
    pub(super) fn create(path: Option<&Path>, rule: &MatchRule) -> Result<Option<Self>> {
        let Some(file) = HtmlFile::create(path)? else { return Ok(None) };
        let (measure, threshold) = match rule.jaccard() {
            Some(jaccard) => (Measure::Similarity, jaccard.similarity()),
            None => (Measure::Distance, rule.distance().into()),
        };
        let collector = Collector::new(measure, threshold, file.folder());
        Ok(Some(Self { file, measure, collector }))
    }

    /// Takes a document that is stored under this name.
    pub(super) fn kept(&mut self, name: &str, text: &str) {
        self.collect(|collector| collector.kept(name, text));
    }

    /// Takes a duplicate. With `by_id`, it is one whatever its content.
    pub(super) fn duplicate(&mut self, duplicate: &Duplicate<'_>, text: &str, by_id: bool) {
        let &Duplicate { id, duplicate_of, distance, similarity } = duplicate;
        let measured = match self.measure {
            _ if by_id => None,
            Measure::Distance => Some((distance.into(), format!("distance {distance}"))),
            Measure::Similarity | Measure::Share => similarity.map(|it| {
                let about = if it.error.is_some() { "about " } else { "" };
                (it.value, format!("similarity {about}{:.2}", it.value))
            }),
        };
        self.collect(|collector| collector.dropped(id, text, duplicate_of, measured));
    }

    fn collect(&mut self, work: impl FnOnce(&mut Collector) -> fpdb_dedup::Result<()>) {
        if let Ok(collector) = &mut self.collector
            && let Err(error) = work(collector)
        {
            self.collector = Err(error);
        }
    }

    /// Writes the page of a run that is complete, or says why there is none.
    pub(super) fn finish(
        self,
        db: &Path,
        summary: &Summary,
        context: &mut Context<'_>,
    ) -> Result<()> {
        match self.collector {
            Ok(collector) => {
                let title = format!("dedup {}", db.display());
                self.file.write(&collector.report(&title, summary.figures()))
            }
            Err(error) => {
                context.say(format_args!("there is no --html: {error}"));
                Ok(())
            }
        }
    }
}
