//! Opens web archives and HTML files, which `fpdb_web` reads.

use std::io::{self, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use fpdb_web::{Archive, Extraction, Extractor, Limits, Record};
use indicatif::ProgressBar;

use super::decompress::{Input, MAGIC, ZSTD_MAGIC, check_compression, is_zip, is_zstd, read_error};
use super::{is_stdin, label, open_file, walk, zip};

/// A file, however much of it has been read and however its content is stored, so that its readers
/// are compiled once.
type Bytes = Box<dyn Read + Send>;

/// The records of an archive that is being read from a file or from standard input.
pub(crate) type FileArchive = Archive<Bytes>;

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

/// Opens an archive, or standard input for `-`, or the archives within a zip file. Each comes with
/// its name for messages. The bar counts the bytes read.
pub(crate) fn archives(
    path: &Path,
    limits: Limits,
    bar: &ProgressBar,
) -> Result<impl Iterator<Item = Result<(String, FileArchive)>>> {
    let file: Bytes =
        if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
    let mut file: Bytes = Box::new(bar.wrap_read(file));
    let name = label(path);
    let failed = || format!("cannot read {name}");
    let start = take(&mut file, MAGIC).with_context(failed)?;
    let (archive, members) = if is_zip(&start) {
        (None, zip::archives(path).with_context(failed)?)
    } else {
        (Some((name.clone(), Ok(chain(start, file)))), Vec::new())
    };
    let members = members
        .into_iter()
        .map(move |member| (format!("{name}/{}", member.name), member.open(path, bar)));
    Ok(archive.into_iter().chain(members).map(move |(name, file)| {
        let archive = file.and_then(|file| open(file, path, limits));
        Ok((name.clone(), archive.with_context(|| format!("cannot read {name}"))?))
    }))
}

fn open(file: Bytes, path: &Path, limits: Limits) -> Result<FileArchive> {
    let archive = Archive::with_limits(unzstd_archive(file, path)?, limits);
    archive.map_err(|error| anyhow::Error::msg(error.message().to_owned()))
}

/// Uncompresses an archive that is compressed with zstd, record by record or as a whole. It may
/// begin with the dictionary of its records, in a frame of its own (the format of `.warc.zst`).
fn unzstd_archive(mut file: Bytes, path: &Path) -> Result<Bytes> {
    let start = take(&mut file, MAGIC)?;
    check_compression(&start, path)?;
    let mut file = chain(start, file);
    let start = take(&mut file, ZSTD_MAGIC.len())?;
    if !is_zstd(&start) {
        return Ok(chain(start, file));
    }
    if start != DICTIONARY_MAGIC {
        return unzstd(chain(start, file), &[]);
    }
    let length = take(&mut file, 4)?;
    let length = <[u8; 4]>::try_from(length).map_or(0, u32::from_le_bytes);
    if length > MAX_DICTIONARY {
        bail!("its dictionary has {length} bytes, more than {MAX_DICTIONARY}");
    }
    let mut dictionary = take(&mut file, length as usize)?;
    if dictionary.starts_with(&ZSTD_MAGIC) {
        let mut plain = unzstd(Box::new(Cursor::new(dictionary)), &[])?;
        dictionary = take(&mut plain, MAX_DICTIONARY as usize)?;
    }
    unzstd(file, &dictionary)
}

/// The first bytes of the frame that holds a dictionary.
const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
const MAX_DICTIONARY: u32 = 16 << 20;

/// Returns a file of which these bytes have been read already.
fn chain(start: Vec<u8>, rest: Bytes) -> Bytes {
    Box::new(Cursor::new(start).chain(rest))
}

fn take(reader: &mut Bytes, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(feature = "zstd")]
fn unzstd(file: Bytes, dictionary: &[u8]) -> Result<Bytes> {
    let file = io::BufReader::with_capacity(1 << 16, file);
    Ok(Box::new(zstd::stream::read::Decoder::with_dictionary(file, dictionary)?))
}

#[cfg(not(feature = "zstd"))]
fn unzstd(_: Bytes, _: &[u8]) -> Result<Bytes> {
    bail!("it is compressed with zstd, and this build lacks the cargo feature \"zstd\"");
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
pub(crate) fn html(path: &Path, bytes: Vec<u8>) -> Record {
    Record::resource(walk::id_of(path), "text/html", bytes)
}
