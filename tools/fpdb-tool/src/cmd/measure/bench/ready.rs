//! Opens, copies or creates the database to measure.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use fpdb::{Description, DocId, Entry, Fingerprint, Layout, Options, Stats};

use super::args::{Args, NewArgs};
use super::report::{Database, Opened};
use super::target::{self, Target};
use crate::cmd::measure::generate::Data;
use crate::failure;
use crate::output::Context;
use crate::progress;
use crate::temporary::{self, Temporary};

/// The entries of a new database.
const DEFAULT_ENTRIES: u64 = 1_000_000;

/// The distance of a new database.
const DEFAULT_DISTANCE: u32 = 3;

/// A database that is ready to be measured.
pub(super) struct Ready<F: Fingerprint> {
    pub(super) target: Target<F>,
    pub(super) distance: u32,
    pub(super) database: Database,
    /// Holds the database, so it must outlive the target.
    pub(super) _folder: Option<Temporary>,
}

/// Opens an existing database, or a copy of it if it is to be changed.
pub(super) fn open<F: Fingerprint>(
    args: &Args,
    options: Options<F>,
    path: &Path,
    found: &Description,
) -> Result<Ready<F>> {
    let options = options.durability(args.durability.into());
    let distance = args.distance.unwrap_or(found.max_distance);
    let named = Some(path.display().to_string());
    if args.mix.inserts == 0 {
        let reader = options.open_read_only(path)?;
        reader.load_index()?;
        let database = describe(Opened::ReadOnly, named, None, found, &reader.stats());
        let target = Target::ReadOnly(reader.snapshot());
        return Ok(Ready { target, distance, database, _folder: None });
    }
    if args.in_place {
        let db = options.open(path)?;
        db.load_index()?;
        let database = describe(Opened::InPlace, named, None, found, &db.stats());
        return Ok(Ready { target: Target::ReadWrite(db), distance, database, _folder: None });
    }
    let stats = options.clone().open_read_only(path)?.stats();
    let folder = Temporary::new(args.folder.as_deref())?;
    folder.need(target::room_for_copy(&stats, args.operations()))?;
    let copy = folder.path().join("db");
    target::copy(path, &copy)?;
    let db = options.open(&copy);
    let db = db
        .context("cannot open the copy: it must be made while no process writes to the database")?;
    db.load_index()?;
    let database = describe(Opened::Copy, named, None, found, &db.stats());
    let target = Target::ReadWrite(db);
    Ok(Ready { target, distance, database, _folder: Some(folder) })
}

/// Creates and loads a new database.
pub(super) fn create<F: Fingerprint>(
    args: &Args,
    options: Options<F>,
    context: &Context<'_>,
) -> Result<Ready<F>> {
    let data = args.made.data.clone().unwrap_or(Data::Uniform);
    let source = data.source::<F>(&args.list, context)?;
    let n = args.made.n.or(source.len()).unwrap_or(DEFAULT_ENTRIES);
    if let Some(len) = source.len().filter(|&len| len < n) {
        bail!("{} has {len} fingerprints, fewer than -n requests", data.name());
    }
    let options = args.made.options(options.expected_entries(n))?;
    let options = options.durability(args.durability.into());
    let distance = args.distance.unwrap_or(DEFAULT_DISTANCE);
    // Queries may have a larger distance than a database can be made for.
    let options = options.max_distance(distance.min(10));
    let folder = Temporary::new(args.folder.as_deref())?;
    let path = folder.path().join("db");
    let db = options.create(&path).map_err(|e| failure::as_usage(&e))?;
    let found = fpdb::describe(&path)?;
    let room = temporary::room_for(db.layout(), found.filter_bits, n);
    folder.need(room.saturating_add(target::room_for_copy(&db.stats(), args.operations())))?;
    let bar = progress::working(context, "loading");
    let entries = (0..).zip(source.fingerprints(n));
    let entries = entries.map(|(id, fingerprint)| Ok(Entry { fingerprint, id: DocId(id) }));
    let loaded = db.bulk_load(entries);
    bar.finish_and_clear();
    let _ = loaded?;
    let database = describe(Opened::New, None, Some(data.name()), &found, &db.stats());
    let target = Target::ReadWrite(db);
    Ok(Ready { target, distance, database, _folder: Some(folder) })
}

impl NewArgs {
    fn options<F: Fingerprint>(&self, mut options: Options<F>) -> Result<Options<F>> {
        if let Some(bytes) = self.block_size {
            options = options.block_size(bytes);
        }
        if let Some(code) = self.code {
            options = options.code(code);
        }
        if let Some(bits) = self.filter_bits {
            options = options.filter_bits(bits);
        }
        match self.layout.as_deref() {
            None | Some("auto") => Ok(options),
            Some(name) => {
                let layout = Layout::preset(name, F::BITS).map_err(|e| failure::as_usage(&e))?;
                Ok(options.layout(layout))
            }
        }
    }
}

fn describe(
    opened: Opened,
    path: Option<String>,
    data: Option<String>,
    found: &Description,
    stats: &Stats,
) -> Database {
    Database {
        path,
        opened,
        data,
        bits: found.bits,
        layout: stats.layout.clone(),
        tables: stats.tables,
        block_size: stats.block_size,
        code: stats.code.name(),
        filter_bits: found.filter_bits,
        entries: stats.entries,
        segments: stats.segments.len(),
        bytes_total: stats.bytes_total,
    }
}
