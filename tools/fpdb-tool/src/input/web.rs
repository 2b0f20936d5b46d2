//! Opens web archives and HTML files, which `fpdb_web` reads.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use fpdb_web::{Archive, Extraction, Extractor, Limits, Record};
use indicatif::ProgressBar;

use super::decompress::{Input, ZSTD_MAGIC, read_error};
use super::{is_stdin, label, open_file, walk};

/// The records of an archive that is being read from a file or from standard input.
pub(crate) type FileArchive = Archive<Box<dyn Read + Send>>;

/// Parses the name of an extraction.
pub(crate) fn parse_extraction(name: &str) -> Result<Extraction, String> {
    Extraction::named(name).map_err(|error| error.message().to_owned())
}

/// The limits for records of at most this size.
pub(crate) fn limits(max_document: usize) -> Limits {
    Limits::default().max_record(max_document)
}

/// An extractor of pages of at most this size.
pub(crate) fn extractor(extraction: Extraction, max_document: usize) -> Extractor {
    Extractor::new(extraction).limits(limits(max_document))
}

/// Opens an archive, or standard input for `-`. The bar counts the bytes read.
pub(crate) fn open_archive(path: &Path, limits: Limits, bar: &ProgressBar) -> Result<FileArchive> {
    if begins_with_zstd(path) {
        bail!("{}: archives compressed with zstd cannot be read, only with gzip", label(path));
    }
    let file: Box<dyn Read + Send> =
        if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
    let archive = Archive::with_limits(Box::new(bar.wrap_read(file)) as Box<_>, limits);
    archive.map_err(|error| anyhow::anyhow!("cannot read {}: {}", label(path), error.message()))
}

/// Reads a file that is one document. Stops after `limit` + 1 bytes, which show that it is too
/// large.
pub(crate) fn read_whole(path: &Path, input: &mut Input, limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(read_error).with_context(|| format!("cannot read {}", label(path)))?;
    Ok(bytes)
}

/// Returns the record of an HTML file. Its id is the path.
pub(crate) fn html(path: &Path, bytes: Vec<u8>) -> Result<Record> {
    Ok(Record::resource(walk::id_of(path)?, "text/html", bytes))
}

/// Returns whether a regular file is compressed with zstd. A file that cannot be read is not.
fn begins_with_zstd(path: &Path) -> bool {
    let mut magic = [0; ZSTD_MAGIC.len()];
    !is_stdin(path)
        && path.is_file()
        && open_file(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok())
        && magic == ZSTD_MAGIC
}
