//! Web archives within a zip file, as crawlers that use a browser write them (WACZ).

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::DeflateDecoder;
use indicatif::ProgressBar;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};

use super::kind::Kind;
use super::{is_stdin, open_file};

/// A web archive within a zip file.
pub(super) struct Member {
    pub(super) name: String,
    method: CompressionMethod,
    /// The offsets between which it is stored.
    range: (u64, u64),
}

/// Returns the web archives within a zip file, by their names, in the order of its directory.
pub(super) fn archives(path: &Path) -> Result<Vec<Member>> {
    if is_stdin(path) {
        bail!("a zip file cannot be read from standard input");
    }
    let members = list(path).context("damaged zip file")?;
    if members.is_empty() {
        bail!("it is a zip file without web archives: unzip it, and give the files in it");
    }
    Ok(members)
}

fn list(path: &Path) -> Result<Vec<Member>> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let zip = ZipArchive::from_file(open_file(path)?, &mut buffer)?;
    let mut entries = zip.entries(&mut buffer);
    let mut members = Vec::new();
    while let Some(entry) = entries.next_entry()? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        if Kind::of_name(Path::new(&name)) == Some(Kind::Warc) {
            let method = entry.compression_method();
            let range = zip.get_entry(entry.wayfinder())?.compressed_data_range();
            members.push(Member { name, method, range });
        }
    }
    refuse_overlap(&members)?;
    Ok(members)
}

/// Refuses members that share bytes, as no program writes them. Otherwise a small file could stand
/// for as much work as one that is as long as its members together (D. Fifield, *A better zip
/// bomb*, WOOT 2019).
fn refuse_overlap(members: &[Member]) -> Result<()> {
    let mut ranges: Vec<_> = members.iter().map(|member| (member.range, &member.name)).collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        let [((_, end), name), ((start, _), next)] = pair else { continue };
        if start < end {
            bail!("the members {name} and {next} overlap: unzip it, and give the files in it");
        }
    }
    Ok(())
}

impl Member {
    /// Opens the member for reading. The bar counts the bytes read.
    pub(super) fn open(&self, path: &Path, bar: &ProgressBar) -> Result<Box<dyn Read + Send>> {
        let mut file = open_file(path)?;
        let (start, end) = self.range;
        file.seek(SeekFrom::Start(start))?;
        let stored = bar.wrap_read(file).take(end - start);
        match self.method {
            CompressionMethod::STORE => Ok(Box::new(stored)),
            CompressionMethod::DEFLATE => Ok(Box::new(DeflateDecoder::new(stored))),
            _ => bail!("it is neither stored nor deflated: unzip the zip file that it is in"),
        }
    }
}
