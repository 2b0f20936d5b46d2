//! Orphans: files that the manifest does not name. storage-format.md, "Orphan removal".
//!
//! A crash leaves files that were not yet, or are no longer, in the manifest. They are removed when
//! the database is opened for writing. But a file may also be missing from the manifest because
//! somebody put back a manifest from an earlier time or from a copy. Then nothing is removed.

use std::collections::BTreeSet;
use std::io;

use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::file::names::{FileId, FileName, MANIFEST, MANIFEST_TMP, generation_of};
use crate::file::storage::{LockedFolder, Storage};
use crate::fingerprint::Fingerprint;
use crate::store::log::{FIRST_FRAME, MAX_LOG_LEN, ReadMode, read_log};
use crate::store::manifest::Manifest;

/// Removes what a crash left: numbered files that the manifest does not name. Returns how many
/// there were.
///
/// Fails without removing any file if one of them cannot be the remains of a crash.
pub(crate) fn remove<F: Fingerprint>(folder: &LockedFolder, manifest: &Manifest) -> Result<u64> {
    let storage = &**folder.storage();
    let names = storage.list()?.unwrap_or_default();
    refuse_newer(storage, &names, manifest)?;
    let orphans = not_named(&names, manifest);
    // An interrupted open may have used some numbers of this generation.
    let kept = orphans.iter().filter(|name| name.is_kept());
    folder.skip_numbers(kept.map(|name| name.number()).max().unwrap_or(0));
    orphans.iter().try_for_each(|&name| check::<F>(storage, name, manifest))?;
    folder.check()?;
    // Only after all checks: a newer manifest that is restored needs what this one does not name.
    orphans.iter().try_for_each(|name| storage.remove(&name.to_string()))?;
    // A manifest that was being written. Nothing needs it, and nobody writes one now.
    if names.iter().any(|name| name == MANIFEST_TMP) {
        storage.remove(MANIFEST_TMP)?;
    }
    Ok(orphans.len() as u64)
}

/// Returns why files that the manifest does not name cannot be the remains of a crash, for those
/// that cannot.
pub(crate) fn strays<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
) -> Result<Vec<Error>> {
    let names = storage.list()?.unwrap_or_default();
    let orphans = not_named(&names, manifest);
    let errors = orphans.into_iter().filter_map(|name| check::<F>(storage, name, manifest).err());
    let is_stray =
        |error: &Error| matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported);
    let (strays, failures): (Vec<Error>, Vec<Error>) = errors.partition(is_stray);
    failures.into_iter().next().map_or(Ok(strays), Err)
}

/// Fails if a file that the manifest does not name cannot be what a crash left.
fn check<F: Fingerprint>(storage: &dyn Storage, name: FileName, manifest: &Manifest) -> Result<()> {
    refuse_newer(storage, &[name.to_string()], manifest)?;
    refuse_foreign(storage, name, manifest)?;
    match name {
        FileName::Log(number) if generation_of(number) == manifest.generation => {
            refuse_commits::<F>(storage, number, manifest)
        }
        _ => Ok(()),
    }
}

/// Returns the numbered files that the manifest does not name.
fn not_named(names: &[String], manifest: &Manifest) -> Vec<FileName> {
    let mut live: BTreeSet<FileName> =
        manifest.segments.iter().flat_map(|s| s.files()).map(|(name, _)| name).collect();
    live.extend(manifest.logs.iter().map(|log| FileName::Log(log.id.number)));
    names
        .iter()
        .filter_map(|name| FileName::parse(name))
        .filter(|name| !live.contains(name))
        .collect()
}

/// Refuses to continue if one of these files was created after a later manifest was installed. Then
/// an older manifest was put back.
pub(crate) fn refuse_newer(
    storage: &dyn Storage,
    names: &[String],
    manifest: &Manifest,
) -> Result<()> {
    let newer = names
        .iter()
        .filter_map(|name| FileName::parse(name))
        .find(|name| name.is_kept() && generation_of(name.number()) > manifest.generation);
    match newer {
        None => Ok(()),
        Some(name) => Err(put_back(storage, name, "is newer than the manifest")),
    }
}

/// Refuses to continue if a file comes from a writer that the manifest does not know. Then it is
/// the manifest of a copy, or the file is from a copy or from another database.
fn refuse_foreign(storage: &dyn Storage, name: FileName, manifest: &Manifest) -> Result<()> {
    let Some(header) = header_of(storage, name)? else { return Ok(()) };
    let is_ours = header.database_id == manifest.settings.database_id
        && manifest.may_have_left(
            FileId { number: name.number(), nonce: header.nonce },
            header.kind == FileKind::Log,
        );
    if is_ours {
        Ok(())
    } else {
        Err(put_back(storage, name, "is not from the writers that the manifest knows"))
    }
}

/// Returns the header of a numbered file. Returns `None` if it has none, as a file whose creation
/// was interrupted, and if it is of no use after a crash.
pub(crate) fn header_of(storage: &dyn Storage, name: FileName) -> Result<Option<FileHeader>> {
    let kind = match name {
        FileName::Log(_) => FileKind::Log,
        FileName::Table(..) => FileKind::Table,
        FileName::Band(..) => FileKind::Bands,
        FileName::Postings(_) => FileKind::Postings,
        FileName::Tombstones(_) => FileKind::Tombstones,
        FileName::Documents(_) => FileKind::Documents,
        FileName::Spare(_) => FileKind::Spare,
        FileName::Run(_) => return Ok(None),
    };
    let file = storage.open(&name.to_string())?;
    let mut bytes = [0; HEADER_LEN];
    match file.read_at(0, &mut bytes) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(Error::io("read", &storage.root().join(name.to_string()), e)),
        Ok(()) => {}
    }
    match FileHeader::decode(kind, &bytes) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Err(error.at_path(storage.root().join(name.to_string())))
        }
        header => Ok(header.ok()),
    }
}

/// Refuses to continue if an orphan log has commits. A manifest names a log before anything is
/// committed to it, so an older manifest was put back.
fn refuse_commits<F: Fingerprint>(
    storage: &dyn Storage,
    number: u64,
    manifest: &Manifest,
) -> Result<()> {
    let name = FileName::Log(number).to_string();
    let (path, bytes) = (storage.root().join(&name), storage.read(&name, MAX_LOG_LEN)?);
    // No manifest names its nonce.
    let nonce = FileHeader::decode(FileKind::Log, &bytes).map_or(0, |header| header.nonce);
    let header = manifest.settings.header(FileKind::Log, 0, FileId { number, nonce });
    match read_log::<F>(&bytes, &path, &header, None, ReadMode::Recover) {
        Ok(contents) if !contents.commits.is_empty() => Err(put_back(
            storage,
            FileName::Log(number),
            "has commits that the manifest does not know",
        )),
        Err(error) if error.offset() >= Some(FIRST_FRAME as u64) => Err(error),
        // Unreadable from the beginning: its creation was interrupted.
        _ => Ok(()),
    }
}

fn put_back(storage: &dyn Storage, name: FileName, what: &str) -> Error {
    let message = format!(
        "this file {what}, so a {MANIFEST} from an earlier time or from a copy was put back: nothing was removed. \
         Put the right {MANIFEST} back, or move away all files with this number if you want to go on without them"
    );
    Error::new(ErrorKind::Corruption, message).at_path(storage.root().join(name.to_string()))
}
