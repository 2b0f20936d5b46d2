//! Imports lists of fingerprints.

use std::io;
use std::ops::ControlFlow;

use anyhow::{Context as _, Result, bail};
use fpdb::{Db, Description, DocId, Entry, Fingerprint, Ids, Key, Options, Phase};
use indicatif::ProgressBar;
use serde::Serialize;

use super::Args;
use crate::args::database::{self, Target};
use crate::input::fingerprints::{Listed, Lists};
use crate::output::failure;
use crate::output::progress;
use crate::output::{Context, say_peak};

/// Entries per commit, where they are not loaded in bulk.
const BATCH: usize = 4096;

/// `fpdb.import/1`
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) read: u64,
    pub(super) inserted: u64,
    pub(super) already_there: u64,
}

impl Args {
    pub(super) fn list<F: Fingerprint>(
        &self,
        options: Options<F>,
        existing: Option<&Description>,
        context: &mut Context<'_>,
    ) -> Result<()> {
        if let Some(existing) = existing
            && (existing.ids == Ids::Names && self.id_column.is_none())
        {
            database::need_ids(existing, Ids::User, "import without --id-column")?;
        }
        let options = self.new.options(options)?;
        let target = Target::open(options, &self.path, existing.is_some())?;
        let db = &target.db;
        let ids = db.description().ids;
        let bar = progress::over_files(context, &self.files);
        let lists = Lists {
            args: &self.list,
            id_column: self.id_column.map(usize::from),
            max_ratio: self.documents.max_ratio,
            bar: &bar,
        };
        let list = lists.read(&self.files);
        let loaded = match ids {
            Ids::Names => insert_named(db, list).map(|read| (read, read)),
            Ids::Unique => insert_numbered(db, self.entries(list)).map(|read| (read, read)),
            _ => {
                let expected = lists.estimate::<F>(&self.files).unwrap_or_default();
                say_peak(db.bulk_load_space(expected), "the load", context);
                // An estimate is not exact, and a load that may fit is tried.
                let least = usize::try_from(expected / 10 * 9).unwrap_or(usize::MAX);
                self.load(db, AtLeast { list: self.entries(list), least }, &bar, context)
            }
        };
        bar.finish_and_clear();
        let closed = target.close(loaded.is_ok());
        let (read, inserted) = loaded?;
        closed?;
        let already_there = read - inserted;
        let report = Report { read, inserted, already_there };
        let sentence =
            format!("read {read} fingerprints: {inserted} inserted, {already_there} already there");
        context.conclude("fpdb.import/1", &report, sentence)?;
        Ok(())
    }

    /// Returns the entries of a list, with the ids that it contains, or with their positions as
    /// ids.
    fn entries<F: Fingerprint>(
        &self,
        list: impl Iterator<Item = Result<Listed<F>>>,
    ) -> impl Iterator<Item = Result<Entry<F>>> {
        let mut next = Some(self.first_id);
        list.map(move |listed| {
            let Listed { fingerprint, id } = listed?;
            let id = match id {
                Some(id) => id.trim().parse().with_context(|| {
                    format!("{id:?} is not a number, and the database has no names")
                })?,
                None => {
                    let Some(id) = next else { bail!("the largest id is {}", u64::MAX) };
                    next = id.checked_add(1);
                    id
                }
            };
            Ok(Entry { fingerprint, id: DocId(id) })
        })
    }

    /// Loads all entries at once. Returns the number of entries read and inserted.
    fn load<F: Fingerprint>(
        &self,
        db: &Db<F>,
        entries: impl Iterator<Item = Result<Entry<F>>>,
        reading: &ProgressBar,
        context: &Context<'_>,
    ) -> Result<(u64, u64)> {
        let entries = entries.map(|entry| {
            entry.map_err(|e| fpdb::Error::from_input(io::Error::other(failure::sentence(&e))))
        });
        let bar = progress::of_operation(context);
        let (reading, show) = (reading.clone(), progress::on(&bar));
        let db = db.on_progress(move |progress| {
            // While files are read, their own bar shows how far that is.
            if progress.phase == Phase::Read {
                return ControlFlow::Continue(());
            }
            reading.finish_and_clear();
            show(progress)
        });
        let loaded = db.bulk_load(entries);
        bar.finish_and_clear();
        let loaded = loaded?;
        Ok((loaded.read, loaded.inserted))
    }
}

/// Entries of which there are at least about so many.
struct AtLeast<I> {
    list: I,
    least: usize,
}

impl<I: Iterator> Iterator for AtLeast<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.list.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.least, None)
    }
}

/// Inserts entries under names, batch by batch. Returns their number.
fn insert_named<F: Fingerprint>(
    db: &Db<F>,
    list: impl Iterator<Item = Result<Listed<F>>>,
) -> Result<u64> {
    let entries = list.map(|listed| {
        let Listed { fingerprint, id } = listed?;
        Ok((fingerprint, id.unwrap_or_default()))
    });
    insert(db, entries, |name| Key::Name(name))
}

/// Inserts entries under unique ids, batch by batch. Returns their number.
fn insert_numbered<F: Fingerprint>(
    db: &Db<F>,
    entries: impl Iterator<Item = Result<Entry<F>>>,
) -> Result<u64> {
    let entries = entries.map(|entry| entry.map(|Entry { fingerprint, id }| (fingerprint, id)));
    insert(db, entries, |&id| Key::Id(id))
}

fn insert<F: Fingerprint, K>(
    db: &Db<F>,
    mut entries: impl Iterator<Item = Result<(F, K)>>,
    key: impl Fn(&K) -> Key<'_>,
) -> Result<u64> {
    let mut inserted = 0;
    loop {
        let batch = entries.by_ref().take(BATCH).collect::<Result<Vec<_>>>()?;
        if batch.is_empty() {
            return Ok(inserted);
        }
        let keyed: Vec<_> = batch.iter().map(|(f, id)| (*f, key(id))).collect();
        db.write(&keyed).run()?;
        inserted += batch.len() as u64;
    }
}
