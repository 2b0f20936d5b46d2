//! `backup`

use std::error::Error as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fpdb::passages::Index;
use fpdb::{Db, Description, ErrorKind, Fingerprint, Options};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::args::database::by_width;
use crate::args::writing::WritingArgs;
use crate::output::failure::Exit;
use crate::output::progress;
use crate::output::{Context, iec};

const EXAMPLE: &str = "\
Example:
  fpdb-tool backup crawl.fpdb --out /backups/crawl.fpdb";

/// Copies a database into a new folder
///
/// The copy is a separate database. Each file is compared with its checksum while it is copied,
/// so a damaged database is not backed up. If the backup fails, what it wrote is removed. If it is
/// interrupted, for instance by a signal, the next backup into the same folder removes it; nothing
/// opens the folder until then.
///
/// This works while another process writes to the database, such as `serve`. Then the copy has what
/// that process had synced to disk when the backup began. It also works without the right to write
/// to the database, such as in a snapshot that is mounted read-only.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    path: PathBuf,

    /// The folder to copy to: missing, empty, or with what an interrupted backup left
    #[arg(long, value_name = "NEW")]
    out: PathBuf,

    #[command(flatten)]
    memory: WritingArgs,
}

/// `fpdb.backup/1`
#[derive(Serialize)]
struct Report {
    path: String,
    files: u64,
    bytes: u64,
}

impl Args {
    pub(crate) fn run(self, context: &mut Context<'_>) -> Result<Exit> {
        let Description { bits, passages, .. } = Description::read(&self.path)?;
        let bar = progress::of_operation(context);
        let copied = if passages.is_some() {
            let options = self.options(Options::default());
            let index = Index::open(&self.path, options.clone());
            self.copy(index.map(|index| index.database().clone()), options, &bar)
        } else {
            by_width!(bits, |options| {
                let options = self.options(options);
                self.copy(options.clone().open(&self.path), options, &bar)
            })
        };
        bar.finish_and_clear();
        copied?;
        let (files, bytes) = count(&self.out)?;
        let path = self.out.display().to_string();
        let sentence =
            format!("copied {} to {path}: {files} files, {}", self.path.display(), iec(bytes));
        context.conclude("fpdb.backup/1", &Report { path, files, bytes }, sentence)?;
        Ok(Exit::Done)
    }

    fn options<F: Fingerprint>(&self, options: Options<F>) -> Options<F> {
        // Nothing is compacted just because a backup opens the database.
        self.memory.apply(options.background(false).index_memory(0))
    }

    fn copy<F: Fingerprint>(
        &self,
        opened: fpdb::Result<Db<F>>,
        options: Options<F>,
        bar: &ProgressBar,
    ) -> Result<()> {
        let db = match opened {
            Err(error) if cannot_write(&error) => {
                let db = options.open_read_only(&self.path)?;
                return Ok(db.on_progress(progress::on(bar)).backup(&self.out)?);
            }
            db => db?,
        };
        db.on_progress(progress::on(bar)).backup(&self.out)?;
        db.close()?;
        Ok(())
    }
}

/// Returns whether the database can only be read here: another process writes to it, there is no
/// right to write, or the file system is not one for it.
fn cannot_write(error: &fpdb::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, Unsupported};
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let cause = cause.map(io::Error::kind);
    error.kind() == ErrorKind::Locked
        || matches!(cause, Some(PermissionDenied | ReadOnlyFilesystem | Unsupported))
}

/// Returns the number of files in a folder and their bytes.
fn count(folder: &Path) -> Result<(u64, u64)> {
    let count = || -> std::io::Result<(u64, u64)> {
        fs::read_dir(folder)?.try_fold((0, 0), |(files, bytes), entry| {
            Ok((files + 1, bytes + entry?.metadata()?.len()))
        })
    };
    count().with_context(|| format!("cannot list {}", folder.display()))
}
