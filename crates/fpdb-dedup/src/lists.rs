//! The file that has the features: one record per document, in the order in which they came.
//!
//! All numbers are little-endian. The file begins with `fpdbfeat`, the version of its format (u32),
//! the length of the recipe's name (u32), the seed (u64), the name, and the CRC-32 of all this. A
//! record is the length of its list (u32), the CRC-32 of what follows (u32), the document's hash
//! (u64), and the list ([`Compact`]).

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fpdb::text::jaccard::Compact;

use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"fpdbfeat";
const VERSION: u32 = 1;
/// The bytes before the recipe's name.
const HEAD: usize = 24;
/// The bytes before a list.
const RECORD: usize = 16;
/// More than any list has.
const MOST_BYTES: usize = 1 << 20;

/// The file, open for reading and appending.
#[derive(Debug)]
pub(crate) struct Lists {
    path: PathBuf,
    file: File,
    pub(crate) seed: u64,
    /// Where the records begin.
    pub(crate) begin: u64,
    /// Where the next record begins.
    pub(crate) end: u64,
}

impl Lists {
    /// Writes a file without records.
    pub(crate) fn create(path: &Path, recipe: &str, seed: u64) -> Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(u32::try_from(recipe.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(seed.to_le_bytes());
        bytes.extend(recipe.as_bytes());
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        replace(path, &bytes)
    }

    /// Opens the file of a recipe.
    pub(crate) fn open(path: &Path, recipe: &str) -> Result<Self> {
        let io = Error::file(path);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
        let end = file.metadata().map_err(Error::file(path))?.len();
        let mut head = [0; HEAD];
        let damaged =
            || Error::damaged(path, "this is no file of features, or its head is damaged");
        file.read_exact(&mut head).map_err(|_| damaged())?;
        let number = |at: usize| head.get(at..at + 4).map_or(0, u32_of);
        if !head.starts_with(MAGIC) {
            return Err(damaged());
        }
        if number(8) != VERSION {
            let what = format!("the format has version {}, not {VERSION}", number(8));
            return Err(Error::Mismatch { path: path.to_owned(), what });
        }
        let len = usize::try_from(number(12)).unwrap_or(usize::MAX).min(1 << 16);
        let mut rest = vec![0; len + 4];
        file.read_exact(&mut rest).map_err(|_| damaged())?;
        let (name, sum) = rest.split_at(len);
        if crc32fast::hash(&[&head[..], name].concat()) != u32_of(sum) {
            return Err(damaged());
        }
        if name != recipe.as_bytes() {
            let name = String::from_utf8_lossy(name);
            let what = format!("it has features of {name}, not of {recipe}: remove its folder");
            return Err(Error::Mismatch { path: path.to_owned(), what });
        }
        let seed = u64_of(head.get(16..).unwrap_or_default());
        Ok(Self { path: path.to_owned(), file, seed, begin: (HEAD + len + 4) as u64, end })
    }

    /// Appends records. Returns where each begins.
    pub(crate) fn append(&mut self, records: &[(u64, Compact)]) -> Result<Vec<u64>> {
        let (mut bytes, mut begins) = (Vec::new(), Vec::new());
        for (hash, list) in records {
            begins.push(self.end + bytes.len() as u64);
            let rest = [&hash.to_le_bytes()[..], list.as_bytes()].concat();
            bytes.extend(u32::try_from(list.as_bytes().len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend(crc32fast::hash(&rest).to_le_bytes());
            bytes.extend(rest);
        }
        self.file.seek(SeekFrom::Start(self.end)).map_err(Error::file(&self.path))?;
        self.file.write_all(&bytes).map_err(Error::file(&self.path))?;
        self.end += bytes.len() as u64;
        Ok(begins)
    }

    /// Returns the hash and the list of the record that begins here.
    pub(crate) fn record(&mut self, begin: u64) -> Result<(u64, Compact)> {
        self.file.seek(SeekFrom::Start(begin)).map_err(Error::file(&self.path))?;
        let damaged = |why| Error::damaged(&self.path, format!("{why} in the record at {begin}"));
        match read_record(&mut &self.file).map_err(Error::file(&self.path))? {
            Some((hash, list)) => Compact::from_bytes(list)
                .map(|list| (hash, list))
                .ok_or_else(|| damaged("there is no list")),
            None => Err(damaged("the checksum is wrong")),
        }
    }

    /// Passes on the hash and the place of at most `most` records from here on. Returns where
    /// they end. Cuts the file off where a record is not complete: it was being written when the
    /// system failed. Before `synced`, it is damage.
    pub(crate) fn recover(
        &mut self,
        from: u64,
        synced: u64,
        most: usize,
        mut each: impl FnMut(u64, u64),
    ) -> Result<u64> {
        let least = from.max(synced);
        if least > self.end {
            let (what, end) = ("the file ends at", self.end);
            return Err(Error::damaged(&self.path, format!("{what} {end}, before {least}")));
        }
        self.file.seek(SeekFrom::Start(from)).map_err(Error::file(&self.path))?;
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        let mut end = from;
        for _ in 0..most {
            let record = read_record(&mut reader).map_err(Error::file(&self.path))?;
            let Some((hash, list)) = record else {
                if end < synced {
                    let what = format!("the checksum is wrong in the record at {end}");
                    return Err(Error::damaged(&self.path, what));
                }
                self.file.set_len(end).map_err(Error::file(&self.path))?;
                self.end = end;
                break;
            };
            each(hash, end);
            end += (RECORD + list.len()) as u64;
        }
        Ok(end)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(Error::file(&self.path))
    }
}

/// Reads a record. Returns `None` if it is not complete, or its checksum is wrong.
fn read_record(reader: &mut impl Read) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut head = [0; RECORD];
    let Some(()) = complete(reader.read_exact(&mut head))? else { return Ok(None) };
    let (lengths, hash) = head.split_at(8);
    let (len, sum) = lengths.split_at(4);
    let (len, sum) = (u32_of(len) as usize, u32_of(sum));
    if len > MOST_BYTES {
        return Ok(None);
    }
    let mut rest = hash.to_vec();
    rest.resize(hash.len() + len, 0);
    let Some(()) = complete(rest.get_mut(8..).map_or(Ok(()), |it| reader.read_exact(it)))? else {
        return Ok(None);
    };
    let is_right = crc32fast::hash(&rest) == sum;
    Ok(is_right.then(|| (u64_of(hash), rest.split_off(8))))
}

/// Turns the end of the file into `None`.
fn complete(read: io::Result<()>) -> io::Result<Option<()>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a small file, which is there as a whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new).map_err(Error::file(&new))?;
    file.write_all(bytes).map_err(Error::file(&new))?;
    file.sync_all().map_err(Error::file(&new))?;
    std::fs::rename(&new, path).map_err(Error::file(path))?;
    sync_folder(path.parent().unwrap_or(path))
}

/// Makes sure that what was created in a folder survives a power failure.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    // The parent of a relative path may be empty.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = File::open(folder).map_err(Error::file(folder))?;
    file.sync_all().map_err(Error::file(folder))
}

/// Folders cannot be synced here.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> Result<()> {
    Ok(())
}

pub(crate) fn u32_of(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(crate) fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
