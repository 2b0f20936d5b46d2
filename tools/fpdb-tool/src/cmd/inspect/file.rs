//! One file of a database.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use fpdb::Description;
use fpdb::reports::SegmentStats;
use serde::Serialize;

use super::kind::kind_of;
use super::table;
use crate::output::{self, Context, iec};

/// Which file, and which part of it.
#[derive(clap::Args)]
pub(super) struct FileArgs {
    /// Show a file of the database, by its name
    #[arg(long, value_name = "NAME", conflicts_with = "table", help_heading = "One file")]
    file: Option<String>,

    /// Show a table of a segment
    #[arg(long, value_name = "N", help_heading = "One file")]
    table: Option<usize>,

    /// The segment of the table, by its number; not needed if there is only one
    #[arg(long, value_name = "ID", requires = "table", help_heading = "One file")]
    segment: Option<u64>,

    /// Show a block of the table, counted from 0
    #[arg(long, value_name = "N", help_heading = "One file")]
    block: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct FileReport {
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// `fpdb.inspect-file/1`, for a file other than a table.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    kind: &'static str,
    /// The segment that it belongs to, if it belongs to one.
    segment: Option<u64>,
    bytes: u64,
}

impl FileArgs {
    pub(super) fn is_given(&self) -> bool {
        self.file.is_some() || self.table.is_some() || self.block.is_some()
    }

    /// Shows one of these files of a database that has these segments.
    pub(super) fn run(
        &self,
        path: &Path,
        (segments, files): (&[SegmentStats], &[FileReport]),
        description: &Description,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let (segment, table) = match (&self.file, self.table) {
            (Some(name), _) => {
                // The files of a segment begin with its tables.
                let place = segments.iter().find_map(|segment| {
                    let place = segment.files.iter().position(|(file, _)| file == name)?;
                    Some((segment, place))
                });
                match place {
                    Some((segment, table)) if table < segment.tables.len() => (segment, table),
                    place => return self.other(name, place.map(|(s, _)| s), files, context),
                }
            }
            (None, Some(number)) => (self.segment(segments)?, number),
            (None, None) => bail!("--block shows a block of a table: add --table, or --file"),
        };
        let mut report = table::Report::of(segment, table)?;
        if let Some(block) = self.block {
            report.read_block(path, description, block)?;
        }
        if context.json {
            Ok(context.report("fpdb.inspect-table/1", &report)?)
        } else {
            report.print(context)
        }
    }

    /// Returns the requested segment.
    fn segment<'a>(&self, segments: &'a [SegmentStats]) -> Result<&'a SegmentStats> {
        match (segments, self.segment) {
            ([only], None) => Ok(only),
            ([], _) => bail!("there are no tables yet: everything is in the log"),
            (_, None) => bail!("there are several segments: choose one with --segment"),
            (_, Some(id)) => segments.iter().find(|segment| segment.id == id).with_context(|| {
                format!("there is no segment {id}: inspect without --table lists all")
            }),
        }
    }

    /// Shows a file other than a table.
    fn other(
        &self,
        name: &str,
        segment: Option<&SegmentStats>,
        files: &[FileReport],
        context: &mut Context<'_>,
    ) -> Result<()> {
        let Some(file) = files.iter().find(|file| file.name == name) else {
            bail!("there is no file {name}: inspect without --file lists all");
        };
        if self.block.is_some() {
            bail!("{name} is no table: --block shows a block of a table");
        }
        let (kind, bytes) = (kind_of(name), file.bytes);
        let segment = segment.map(|segment| segment.id);
        if context.json {
            return Ok(context
                .report("fpdb.inspect-file/1", &Report { file: name, kind, segment, bytes })?);
        }
        let mut rows = vec![("file", name.to_owned()), ("kind", kind.to_owned())];
        rows.extend(segment.map(|id| ("segment", id.to_string())));
        rows.push(("size", iec(bytes)));
        Ok(output::rows(context.out, &rows)?)
    }
}

/// Returns the files in the folder, sorted by name.
pub(super) fn files(path: &Path) -> Result<Vec<FileReport>> {
    let list = || -> io::Result<Vec<FileReport>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(metadata) => files.push(FileReport { name, bytes: metadata.len() }),
                // A writer may delete a file that it no longer needs at any time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    };
    list().with_context(|| format!("cannot list {}", path.display()))
}
