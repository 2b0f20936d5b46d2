//! Which document of a cluster is kept.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use fpdb::{Cluster, DocId, Entry, Fingerprint, Ids, Key, Snapshot};

use crate::input::{DocumentArgs, DocumentFormat, Item};
use crate::output::Context;
use crate::output::progress;

/// The number of documents read at once.
const BATCH: usize = 1024;

/// `--keep`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// The document with the lowest id
    First,
    /// The document with the latest stamp: the database's, or that in --stamp-field of DOCS
    Newest,
    /// The document with the longest text in DOCS
    Longest,
}

/// The files with the documents of a database, for `--keep`.
#[derive(clap::Args)]
pub(super) struct DocumentFiles {
    /// Files with the documents, for --keep longest and --stamp-field
    #[arg(value_name = "DOCS")]
    pub(super) files: Vec<PathBuf>,

    /// Format of these files
    #[arg(long, value_enum, default_value = "auto")]
    from: DocumentFormat,

    /// Field or column of DOCS with a number that is larger for newer documents, for --keep newest
    #[arg(long, value_name = "NAME")]
    pub(super) stamp_field: Option<String>,

    #[command(flatten)]
    documents: DocumentArgs,
}

impl DocumentFiles {
    /// Refuses files that `--keep` does not use, and a `--keep` without the files that it needs.
    pub(super) fn check(&self, keep: Option<Keep>, ids: Ids) -> Result<()> {
        let (has_files, has_field) = (!self.files.is_empty(), self.stamp_field.is_some());
        match keep {
            Some(Keep::Longest) if !has_files => bail!("--keep longest needs DOCS with the texts"),
            Some(Keep::Longest) if !has_field => Ok(()),
            Some(Keep::Newest) if has_files != has_field => {
                bail!("--keep newest needs both DOCS and --stamp-field, or neither")
            }
            Some(Keep::Newest) if !has_files && ids == Ids::User => bail!(
                "a database with user ids keeps no stamps: give --keep newest DOCS and --stamp-field"
            ),
            Some(Keep::Newest) => Ok(()),
            _ if !has_files && !has_field => Ok(()),
            _ => bail!("DOCS are for --keep longest and newest, and --stamp-field for newest"),
        }
    }

    /// Reads a number for each document: the length of its text, or its stamp.
    fn values<F: Fingerprint>(
        &self,
        snapshot: &Snapshot<F>,
        ids: Ids,
        context: &mut Context<'_>,
    ) -> Result<HashMap<DocId, u64>> {
        let bar = progress::over_files(context, &self.files);
        let mut arguments = self.documents.clone();
        arguments.stamp_field.clone_from(&self.stamp_field);
        let mut intake = arguments.start(&self.files, self.from, None, &bar, |document| {
            (document.id, document.stamp.unwrap_or(document.text.len() as u64))
        })?;
        let (mut values, mut batch, mut more) = (HashMap::new(), Vec::new(), true);
        while more {
            more = intake.fill(&mut batch, BATCH, usize::MAX, context)?;
            for Item { value: (id, value), place, .. } in batch.drain(..) {
                let id = match ids {
                    Ids::Names => snapshot.get(&id)?.map(|found| found.id),
                    _ => Some(DocId(
                        id.parse().with_context(|| format!("{place}: {id:?} is no id"))?,
                    )),
                };
                // Others are not in the database.
                values.extend(id.map(|id| (id, value)));
            }
        }
        bar.finish_and_clear();
        intake.counts.report_ignored(context);
        intake.verdict()?;
        Ok(values)
    }
}

/// Finds the document of a cluster to keep.
pub(super) enum Keeper<'a, F: Fingerprint> {
    First,
    /// By stamps in the database.
    Newest(&'a Snapshot<F>),
    /// By numbers from files.
    Largest(HashMap<DocId, u64>),
}

impl<'a, F: Fingerprint> Keeper<'a, F> {
    pub(super) fn new(
        keep: Keep,
        files: &DocumentFiles,
        snapshot: &'a Snapshot<F>,
        ids: Ids,
        context: &mut Context<'_>,
    ) -> Result<Self> {
        Ok(match keep {
            Keep::First => Self::First,
            Keep::Newest if files.files.is_empty() => Self::Newest(snapshot),
            Keep::Newest | Keep::Longest => Self::Largest(files.values(snapshot, ids, context)?),
        })
    }

    /// Returns the member to keep: of several, the one with the lowest id. A member without a stamp
    /// or text comes last.
    pub(super) fn kept(&self, cluster: &Cluster<'_, F>) -> Result<Entry<F>> {
        let mut kept = (None, cluster.first);
        for &member in cluster.members {
            let value = match self {
                Self::First => break,
                Self::Newest(snapshot) => stamp(snapshot, member.id)?,
                Self::Largest(values) => values.get(&member.id).copied(),
            };
            if value > kept.0 {
                kept = (value, member);
            }
        }
        Ok(kept.1)
    }
}

fn stamp<F: Fingerprint>(snapshot: &Snapshot<F>, id: DocId) -> Result<Option<u64>> {
    let name = snapshot.name(id)?;
    let key = name.as_deref().map_or(Key::Id(id), Key::Name);
    Ok(snapshot.get(key)?.and_then(|document| document.stamp))
}
