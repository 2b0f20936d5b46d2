//! The manifest: the file that lists the live segments and logs.
//!
//! Every change writes a complete new manifest under another name, syncs it, and renames it. So
//! after a crash there is either the old one or the new one. See storage-format.md, "Manifest".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod features;
pub(crate) mod spare;
mod writers;

pub(crate) use features::{Extension, Features};

use std::collections::BTreeSet;

use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::file::names::{
    FileId, MANIFEST, MANIFEST_COPY, MANIFEST_TMP, MAX_GENERATION, generation_of,
};
use crate::file::storage::Storage;
use crate::fingerprint::Ids;
use crate::settings::Settings;
use crate::store::segment::SegmentMeta;

/// Most segments. There are more than a few dozen only if compaction fails again and again.
const MAX_SEGMENTS: usize = 1 << 16;

/// Longest manifest that is read, in bytes. One of [`MAX_SEGMENTS`] segments with the most tables,
/// each of another writer, is shorter.
const MAX_LEN: u64 = 1 << 26;

/// Counters stay below this limit, so that counting never overflows.
pub(crate) const COUNTER_LIMIT: u64 = 1 << 63;
/// The bytes of all files are fewer, so that sums of them do not overflow.
const BYTES_LIMIT: u128 = 1 << 56;

/// A live log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogRef {
    pub id: FileId,
    /// Where the log ends, once nothing is appended to it any more.
    pub end: Option<u64>,
}

/// An earlier writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    /// Its random number, which is in its files.
    pub nonce: u64,
    /// The last generation in which it created files of this database.
    pub last: u64,
}

/// The state of a database, as of one generation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    pub features: Features,
    pub settings: Settings,
    /// Counts manifests: higher in each manifest than in the one before.
    pub generation: u64,
    /// The random number of the writer that installed this manifest.
    pub session: u64,
    /// Earlier writers of which there may be files.
    pub earlier_sessions: Vec<Session>,
    /// Whether a backup, merge or rebuild is still creating this database, so that nobody may use
    /// it.
    pub is_unfinished: bool,
    /// The next document id of a database with names.
    pub next_doc: u64,
    /// The last commit that is in the segments.
    pub last_seq: u64,
    /// Bytes of all segments that flushes have ever written, for statistics.
    pub bytes_flushed: u64,
    /// Bytes of all segments that compactions have ever written, for statistics.
    pub bytes_compacted: u64,
    /// Oldest first.
    pub logs: Vec<LogRef>,
    /// Oldest first.
    pub segments: Vec<SegmentMeta>,
    /// By ascending tag.
    pub extensions: Vec<Extension>,
}

impl Manifest {
    /// Makes the manifest of a new, empty database.
    pub(crate) fn new(settings: Settings, session: u64) -> Self {
        Self {
            features: Features::default(),
            settings,
            generation: 1,
            session,
            earlier_sessions: Vec::new(),
            is_unfinished: false,
            next_doc: 0,
            last_seq: 0,
            bytes_flushed: 0,
            bytes_compacted: 0,
            logs: Vec::new(),
            segments: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// Makes `session` the writer of the manifests that follow. Only files that the manifest names
    /// may be left of earlier writers. The one before has created none since generation `last`.
    pub(crate) fn begin_session(&mut self, session: u64, last: u64) {
        let logs = self.logs.iter().map(|log| log.id.nonce);
        let named: BTreeSet<u64> = logs.chain(self.segments.iter().map(|s| s.nonce)).collect();
        self.earlier_sessions.retain(|earlier| named.contains(&earlier.nonce));
        if self.session != session {
            self.earlier_sessions.push(Session { nonce: self.session, last });
        }
        self.session = session;
    }

    /// Refuses a database that is still being created.
    pub(crate) fn expect_finished(&self) -> Result<()> {
        if !self.is_unfinished {
            return Ok(());
        }
        let message = "the backup, merge or rebuild that creates this database has not finished: \
                       wait for it, or repeat it if it was interrupted";
        Err(Error::new(ErrorKind::Unfinished, message))
    }

    /// Refuses settings that could not be read again once they are stored.
    pub(crate) fn expect_readable(&self) -> Result<()> {
        let prefix = "such a database could not be opened again: ";
        match Self::decode(&self.encode()) {
            Ok(read) if read == *self => Ok(()),
            Ok(_) => Err(Error::invalid(format!("{prefix}it would have other settings"))),
            Err(error) => Err(error.repeat_as(ErrorKind::InvalidArgument, prefix)),
        }
    }

    /// Refuses to write a database that uses a feature which this build does not know.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        self.features.expect_writable()
    }

    /// Returns whether a crash can have left this file, which this manifest does not name.
    pub(crate) fn may_have_left(&self, file: FileId, is_log: bool) -> bool {
        let generation = generation_of(file.number);
        // A session that ended before it installed a manifest of its own: it has begun a log, and
        // has written a segment if there were logs to replay.
        let by_interrupted_open =
            generation == self.generation && (is_log || !self.logs.is_empty());
        by_interrupted_open
            || file.nonce == self.session && generation <= self.generation
            || self
                .earlier_sessions
                .iter()
                .any(|session| session.nonce == file.nonce && generation <= session.last)
    }

    /// Adds a segment in its place by age, instead of those that it replaces. Does nothing if there
    /// is one that replaces it.
    pub(crate) fn add_segment(&mut self, segment: SegmentMeta) {
        if self.segments.iter().any(|other| other.replaces(&segment)) {
            return;
        }
        self.segments.retain(|other| !segment.replaces(other));
        let at = self.segments.partition_point(|other| other.ages.end() < segment.ages.start());
        self.segments.insert(at, segment);
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.settings.header(FileKind::Manifest, 0, FileId::MANIFEST).encode();
        self.features.encode(&mut out);
        self.settings.encode(&mut out);
        out.put_u64(self.generation);
        out.put_u64(self.session);
        out.put_u8(self.is_unfinished.into());
        out.put_u64(self.next_doc);
        out.put_u64(self.last_seq);
        out.put_u64(self.bytes_flushed);
        out.put_u64(self.bytes_compacted);
        out.put_u32(u32::try_from(self.earlier_sessions.len()).unwrap_or(u32::MAX));
        for session in &self.earlier_sessions {
            out.put_u64(session.nonce);
            out.put_u64(session.last);
        }
        out.put_u32(u32::try_from(self.logs.len()).unwrap_or(u32::MAX));
        for log in &self.logs {
            out.put_u64(log.id.number);
            out.put_u64(log.id.nonce);
            out.put_u64(log.end.unwrap_or(0));
        }
        out.put_u32(u32::try_from(self.segments.len()).unwrap_or(u32::MAX));
        self.segments.iter().for_each(|segment| segment.encode(&mut out));
        Extension::encode_all(&self.extensions, &mut out);
        out.put_u32(crc32fast::hash(&out));
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let header = FileHeader::decode(FileKind::Manifest, bytes)?;
        if (header.part, header.file_id, header.nonce) != (0, 0, 0) {
            return Err(
                Error::corruption("the manifest has the header of another file").at_offset(16)
            );
        }
        let body_len = bytes.len().saturating_sub(4);
        let (body, crc) = bytes.split_at_checked(body_len).unwrap_or_default();
        if Fields::new(crc, body_len as u64).u32("manifest checksum")? != crc32fast::hash(body) {
            return Err(Error::corruption("the manifest fails its checksum").at_offset(0));
        }
        let mut fields = Fields::new(body, 0);
        fields.bytes(HEADER_LEN, "file header")?;
        // First: what comes after them may differ with a feature.
        let features = Features::decode(&mut fields)?;
        let settings = Settings::decode(&header, &mut fields)?;
        let generation = fields.u64("generation")?;
        let session = fields.u64("session")?;
        let is_unfinished = match fields.u8("whether it is unfinished")? {
            0 => false,
            1 => true,
            other => return Err(fields.corruption(format!("unfinished is {other}"))),
        };
        let next_doc = fields.u64("next document id")?;
        let last_seq = fields.u64("last commit")?;
        let bytes_flushed = fields.u64("bytes flushed")?;
        let bytes_compacted = fields.u64("bytes compacted")?;
        // Collected one by one: a wrong count runs out of bytes before it runs out of memory.
        let mut earlier_sessions = Vec::new();
        for _ in 0..fields.u32("session count")? {
            let (nonce, last) = (fields.u64("session")?, fields.u64("last generation")?);
            earlier_sessions.push(Session { nonce, last });
        }
        let mut logs = Vec::new();
        for _ in 0..fields.u32("log count")? {
            let (number, nonce) = (fields.u64("log number")?, fields.u64("log nonce")?);
            let end = fields.u64("log end")?;
            logs.push(LogRef { id: FileId { number, nonce }, end: (end > 0).then_some(end) });
        }
        let mut segments = Vec::new();
        let count = fields.u32("segment count")?;
        if count as usize > MAX_SEGMENTS {
            return Err(fields.corruption("the manifest names more than 65,536 segments"));
        }
        for _ in 0..count {
            segments.push(SegmentMeta::decode(&settings, &mut fields)?);
        }
        let extensions = Extension::decode_all(&mut fields)?;
        fields.finish("manifest")?;
        let manifest = Self {
            features,
            settings,
            generation,
            session,
            earlier_sessions,
            is_unfinished,
            next_doc,
            last_seq,
            bytes_flushed,
            bytes_compacted,
            logs,
            segments,
            extensions,
        };
        match manifest.first_contradiction() {
            Some(what) => Err(Error::corruption(format!("manifest: {what}"))),
            None => Ok(manifest),
        }
    }

    /// Returns the first contradiction in this manifest, if there is one.
    fn first_contradiction(&self) -> Option<&'static str> {
        let counters = [self.next_doc, self.last_seq, self.bytes_flushed, self.bytes_compacted];
        if self.generation > MAX_GENERATION
            || counters.iter().any(|&counter| counter >= COUNTER_LIMIT)
        {
            return Some("a counter is beyond its limit");
        }
        let files = self.segments.iter().flat_map(SegmentMeta::files);
        if files.map(|(_, file)| u128::from(file.len)).sum::<u128>() >= BYTES_LIMIT {
            return Some("the files have 2^56 bytes or more");
        }
        if self.next_doc != 0 && self.settings.ids != Ids::Names {
            return Some("a database without names has a next id");
        }
        let logs = self.logs.iter().map(|log| log.id.number);
        let mut numbers: Vec<u64> = logs.chain(self.segments.iter().map(|s| s.id)).collect();
        numbers.sort_unstable();
        if numbers.last().is_some_and(|&last| generation_of(last) >= self.generation) {
            return Some("a file is newer than the manifest that names it");
        }
        if self.earlier_sessions.iter().any(|session| session.last >= self.generation) {
            return Some("an earlier session is not earlier than the manifest");
        }
        if !numbers.is_sorted_by(|a, b| a < b) {
            return Some("two files have the same number");
        }
        if !self.segments.iter().all(|s| s.ages.start() <= s.ages.end())
            || !self.segments.is_sorted_by(|a, b| a.ages.end() < b.ages.start())
        {
            return Some("the segments are not in the order of their age");
        }
        match self.logs.split_last() {
            Some((_, ended)) if ended.iter().any(|log| log.end.is_none()) => {
                Some("a log before the last has no end")
            }
            _ => None,
        }
    }

    /// Reads the manifest of a folder.
    ///
    /// Fails with `NotFound` if there is none. The caller decides about a folder that has other
    /// files of a database but no manifest.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Self> {
        Self::read_file(storage, MANIFEST)
    }

    /// Reads the copy of the manifest, for a repair. It may be older than the manifest was.
    pub(crate) fn read_copy(storage: &dyn Storage) -> Result<Self> {
        Self::read_file(storage, MANIFEST_COPY)
    }

    fn read_file(storage: &dyn Storage, name: &str) -> Result<Self> {
        let path = storage.root().join(name);
        let bytes = storage.read(name, MAX_LEN)?;
        Self::decode(&bytes).map_err(|e| e.at_path(path))
    }

    /// Makes this the current manifest, durably. All files that it names must be durable already
    /// (storage-format.md, "Install").
    pub(crate) fn install(&self, storage: &dyn Storage) -> Result<()> {
        self.prepare(storage)?;
        Self::publish(storage)
    }

    /// Does the first half of [`install`](Self::install). After a failure, the old manifest is
    /// still in force.
    pub(crate) fn prepare(&self, storage: &dyn Storage) -> Result<()> {
        if self.segments.len() > MAX_SEGMENTS {
            let message = "a database has at most 65,536 segments, and there would be one more: \
                           compact it, or restore a backup if that fails";
            return Err(Error::invalid(message).at_path(storage.root()));
        }
        match storage.remove(MANIFEST_TMP) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = storage.create(MANIFEST_TMP)?;
        // The sync comes before the rename. Otherwise, a crash could leave the name on an empty
        // file.
        file.append(&self.encode()).and_then(|()| file.sync()).inspect_err(|_| {
            let _ = storage.remove(MANIFEST_TMP);
        })
    }

    /// Does the second half. After a failure, either manifest may be in force.
    pub(crate) fn publish(storage: &dyn Storage) -> Result<()> {
        storage.rename(MANIFEST_TMP, MANIFEST)?;
        // Once this is done, files that only the old manifest names may be removed.
        storage.sync_dir()?;
        storage.keep_copy(MANIFEST, MANIFEST_COPY);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
