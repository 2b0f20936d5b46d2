//! Imports lists of fingerprints.

use std::io;
use std::ops::ControlFlow;

use anyhow::{Context as _, Result, bail};
use fpdb::{Db, Description, DocId, Entry, Fingerprint, Ids, Key, Options, Phase};
use indicatif::ProgressBar;
use serde::Serialize;

use super::Args;
use crate::database;
use crate::failure;
use crate::input::fingerprints::{Listed, Lists};
use crate::output::Context;
use crate::progress;

/// Entries per commit, where they are not loaded in bulk.
const BATCH: usize = 4096;

/// `fpdb.import/1`
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    read: u64,
    inserted: u64,
    already_there: u64,
}

impl Args {
    pub(super) fn list<F: Fingerprint>(
        &self,
        options: Options<F>,
        existing: Option<&Description>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let names = self.are_names(existing);
        if let Some(existing) = existing {
            database::need_ids(existing, if names { Ids::Names } else { Ids::User }, "import")?;
        }
        let db = self.new.options(options)?.open_or_create(&self.path)?;
        let bar = progress::over_files(context, &self.files);
        let lists = Lists {
            args: &self.list,
            id_column: self.id_column.map(usize::from),
            max_ratio: self.documents.max_ratio,
            bar: &bar,
        };
        let loaded = if names {
            insert_named(&db, lists.read(&self.files)).map(|read| (read, read))
        } else {
            self.load(&db, lists.read(&self.files), &bar, context)
        };
        bar.finish_and_clear();
        let (read, inserted) = loaded?;
        db.close()?;
        let already_there = read - inserted;
        let report = Report { schema: "fpdb.import/1", read, inserted, already_there };
        let sentence =
            format!("read {read} fingerprints: {inserted} inserted, {already_there} already there");
        context.conclude(&report, sentence)?;
        Ok(())
    }

    /// Loads all entries at once. Returns the number of entries read and inserted.
    fn load<F: Fingerprint>(
        &self,
        db: &Db<F>,
        list: impl Iterator<Item = Result<Listed<F>>>,
        reading: &ProgressBar,
        context: &Context<'_>,
    ) -> Result<(u64, u64)> {
        let mut next = Some(self.first_id);
        let entries = list.map(|listed| {
            let entry = listed.and_then(|Listed { fingerprint, id }| match id {
                Some(id) => {
                    let number = id.trim().parse().with_context(|| {
                        format!("{id:?} is not a number, and the database has ids of kind user")
                    })?;
                    Ok(Entry { fingerprint, id: DocId(number) })
                }
                None => {
                    let Some(id) = next else { bail!("the largest id is {}", u64::MAX) };
                    next = id.checked_add(1);
                    Ok(Entry { fingerprint, id: DocId(id) })
                }
            });
            entry.map_err(|e| fpdb::Error::from_input(io::Error::other(failure::sentence(&e))))
        });
        let bar = progress::of_operation(context);
        let loaded = db.bulk_load_with(entries, |progress| {
            // While files are read, their own bar shows how far that is.
            if progress.phase == Phase::Read {
                return ControlFlow::Continue(());
            }
            reading.finish_and_clear();
            progress::show(&bar, progress)
        });
        bar.finish_and_clear();
        let loaded = loaded?;
        Ok((loaded.read, loaded.inserted))
    }
}

/// Inserts entries under names, batch by batch. Returns their number.
fn insert_named<F: Fingerprint>(
    db: &Db<F>,
    list: impl Iterator<Item = Result<Listed<F>>>,
) -> Result<u64> {
    let mut list = list.map(|listed| {
        let Listed { fingerprint, id } = listed?;
        Ok((fingerprint, id.unwrap_or_default()))
    });
    let mut inserted = 0;
    loop {
        let batch = list.by_ref().take(BATCH).collect::<Result<Vec<(F, String)>>>()?;
        if batch.is_empty() {
            return Ok(inserted);
        }
        let entries: Vec<_> = batch.iter().map(|(f, name)| (*f, Key::Name(name))).collect();
        db.insert_batch(&entries)?;
        inserted += batch.len() as u64;
    }
}
