//! Which manifest a repair begins with: of the manifest, its copy and the spares, the one that most
//! of the files agree with.
//!
//! Each numbered file says in its header which database it is of, and which writer created it. So
//! the manifest of another database, or of a copy of this one, is recognised: fewer files are its
//! own.

use super::damaged_segment::{is_damage, undamaged};
use crate::base::error::{Error, ErrorKind, Result};
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::db::recovery::orphans::{self, header_of};
use crate::db::recovery::recover::explain_missing;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::names::{FileId, FileName, MANIFEST, generation_of};
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::store::manifest::spare::Spare;
use crate::store::manifest::{LogRef, Manifest};

/// What an error says if there is nothing to begin a repair with.
const LOST: &str = "nothing says what the database was, because the copy of the manifest and the spares of \
                    all segments are lost, too; restore a backup: ";

/// Reads the manifest or its copy: the one that more files agree with, or the newer one. Without
/// both, puts the manifest together from the spares of the segments. Reports what is wrong with
/// them.
pub(super) fn read_manifest(storage: &dyn Storage, report: &mut BuildReport) -> Result<Manifest> {
    let evidence = Evidence::read(storage)?;
    let copy = Manifest::read_copy(storage);
    let error = match Manifest::read(storage) {
        Ok(manifest) => match evidence.refutes(&manifest, copy.as_ref().ok()) {
            Some(message) => Error::corruption(message).at_path(storage.root().join(MANIFEST)),
            None => return Ok(manifest),
        },
        Err(error) if is_damage(&error) => explain_missing(storage, error),
        Err(error) => return Err(error),
    };
    let found = match copy {
        Ok(copy) if evidence.refutes(&copy, None).is_none() => copy,
        _ => match evidence.of_most_spares(storage, report)? {
            Some(manifest) => manifest,
            None if error.kind() == ErrorKind::NotFound => return Err(error),
            None if storage.open(MANIFEST).is_ok() => {
                return Err(error.repeat_as(ErrorKind::Corruption, LOST));
            }
            None => {
                let message = format!("{LOST}the manifest is missing");
                return Err(Error::corruption(message).at_path(storage.root().join(MANIFEST)));
            }
        },
    };
    report.damage.push(error);
    Ok(found)
}

/// Returns the manifest for a repair. If files that it does not name prove that it is an old one,
/// puts the right one together from the spares of the segments. Reports what is wrong.
pub(super) fn newest_manifest<F: Fingerprint>(
    storage: &dyn Storage,
    report: &mut BuildReport,
) -> Result<Manifest> {
    let manifest = read_manifest(storage, report)?;
    let strays = orphans::strays::<F>(storage, &manifest)?;
    let mut of_newer = BuildReport::default();
    if !strays.is_empty() {
        let evidence = Evidence::read(storage)?;
        let database_id = manifest.settings.database_id;
        if let Some(newer) = evidence.of_spares(database_id, storage, &mut of_newer)?
            && (evidence.is_behind(&manifest)
                || !evidence.has_all_of(&manifest)
                    && evidence.known_to(&newer) > evidence.known_to(&manifest))
        {
            report.damage.extend(strays.into_iter().chain(of_newer.damage));
            report.losses.append(&mut of_newer.losses);
            return Ok(newer);
        }
    }
    Ok(manifest)
}

/// What the numbered files of a folder say about themselves.
struct Evidence {
    files: Vec<(FileName, FileHeader)>,
    spares: Vec<Spare>,
    /// One more than the generation of the newest file.
    next_generation: u64,
}

impl Evidence {
    fn read(storage: &dyn Storage) -> Result<Self> {
        let names = storage.list()?.unwrap_or_default();
        let names: Vec<FileName> = names.iter().filter_map(|name| FileName::parse(name)).collect();
        let (mut files, mut spares) = (Vec::new(), Vec::new());
        for &name in &names {
            // What this build cannot read is no evidence.
            match header_of(storage, name) {
                Ok(header) => files.extend(header.map(|header| (name, header))),
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(error),
            }
            if let FileName::Spare(number) = name {
                spares.extend(undamaged(Spare::open(storage, number))?);
            }
        }
        let newest = names.iter().map(|name| generation_of(name.number())).max();
        Ok(Self { files, spares, next_generation: newest.unwrap_or(0) + 1 })
    }

    /// Returns how many files are of a database.
    fn of_database(&self, database_id: u128) -> usize {
        self.files.iter().filter(|(_, header)| header.database_id == database_id).count()
    }

    /// Returns how many files a manifest names or a crash can have left beside it.
    fn known_to(&self, manifest: &Manifest) -> usize {
        let is_known = |&&(name, header): &&(FileName, FileHeader)| {
            let id = FileId { number: name.number(), nonce: header.nonce };
            let is_log = header.kind == FileKind::Log;
            let logs = || manifest.logs.iter().map(|log| log.id);
            let is_named = match is_log {
                true => logs().any(|log| log == id),
                false => manifest.segments.iter().any(|s| (s.id, s.nonce) == (id.number, id.nonce)),
            };
            header.database_id == manifest.settings.database_id
                && (is_named || manifest.may_have_left(id, is_log))
        };
        self.files.iter().filter(is_known).count()
    }

    /// Returns whether files of the database were created after the manifest was installed.
    fn is_behind(&self, manifest: &Manifest) -> bool {
        self.files.iter().any(|(name, header)| {
            header.database_id == manifest.settings.database_id
                && generation_of(name.number()) >= manifest.generation
        })
    }

    /// Returns whether more files are known to `other` than to `manifest`, both of one database, or
    /// as many and it is newer.
    fn prefers(&self, other: &Manifest, manifest: &Manifest) -> bool {
        let rank = |manifest: &Manifest| (self.known_to(manifest), manifest.generation);
        rank(other) > rank(manifest)
    }

    /// Returns whether a manifest names files, and all of them are here.
    fn has_all_of(&self, manifest: &Manifest) -> bool {
        let id = |id| (id, manifest.settings.database_id);
        let header_of =
            |name| self.files.iter().find(|(n, _)| *n == name).map(|(_, header)| header);
        let is_here = |name, nonce| {
            header_of(name).is_some_and(|header| (header.nonce, header.database_id) == id(nonce))
        };
        let logs = manifest.logs.iter().map(|log| (FileName::Log(log.id.number), log.id.nonce));
        let segments = manifest.segments.iter().flat_map(|segment| {
            segment.files().into_iter().map(move |(name, _)| (name, segment.nonce))
        });
        let mut named = logs.chain(segments).peekable();
        named.peek().is_some() && named.all(|(name, nonce)| is_here(name, nonce))
    }

    /// Returns what proves that a manifest is not the right one. `copy` is the copy of a manifest
    /// that is not itself one.
    fn refutes(&self, manifest: &Manifest, copy: Option<&Manifest>) -> Option<String> {
        let id = manifest.settings.database_id;
        let of_copy = copy.map(|copy| copy.settings.database_id);
        if of_copy == Some(id) && copy.is_some_and(|copy| self.prefers(copy, manifest)) {
            let is_newer = copy.is_some_and(|copy| copy.generation > manifest.generation);
            let message = match is_newer {
                true => "an earlier manifest was put back: its copy is newer",
                false => {
                    "the manifest of a copy of the database was put here: more of the files are \
                     known to MANIFEST.copy"
                }
            };
            return Some(message.to_owned());
        }
        let votes = |id| self.of_database(id) + usize::from(of_copy == Some(id));
        let others = self.spared().chain(of_copy).filter(|&other| other != id);
        let other = others.max_by_key(|&other| votes(other))?;
        // The manifest is a file of its database, too.
        if self.has_all_of(manifest) || votes(other) <= votes(id) + 1 {
            return None;
        }
        Some(format!(
            "this is the manifest of another database, {id:032x}: {} of the files here are of that \
             one, and {} are of database {other:032x}",
            self.of_database(id),
            self.of_database(other),
        ))
    }

    /// Returns the databases of the spares.
    fn spared(&self) -> impl Iterator<Item = u128> {
        self.spares.iter().map(|spare| spare.manifest.settings.database_id)
    }

    /// Puts the manifest of the database together that most files are of.
    fn of_most_spares(
        &self,
        storage: &dyn Storage,
        report: &mut BuildReport,
    ) -> Result<Option<Manifest>> {
        match self.spared().max_by_key(|&id| self.of_database(id)) {
            Some(id) => self.of_spares(id, storage, report),
            None => Ok(None),
        }
    }

    /// Puts the manifest of a database together from the spares of the segments. Each of them has
    /// the manifest that was the first to name its segment.
    fn of_spares(
        &self,
        database_id: u128,
        storage: &dyn Storage,
        report: &mut BuildReport,
    ) -> Result<Option<Manifest>> {
        let is_of_it = |spare: &&Spare| spare.manifest.settings.database_id == database_id;
        let spares: Vec<&Spare> = self.spares.iter().filter(is_of_it).collect();
        let Some(newest) = spares.iter().max_by_key(|spare| spare.manifest.generation) else {
            return Ok(None);
        };
        let mut manifest = newest.manifest.clone();
        manifest.segments.retain(|segment| segment.spare.is_some());
        for spare in &spares {
            if let Some(segment) = undamaged(spare.segment())? {
                manifest.add_segment(segment);
            }
            manifest.next_doc = manifest.next_doc.max(spare.manifest.next_doc);
            manifest.last_seq = manifest.last_seq.max(spare.manifest.last_seq);
        }
        manifest.logs.clear();
        for (name, header) in &self.files {
            if let FileName::Log(number) = *name
                && header.database_id == database_id
            {
                let id = FileId { number, nonce: header.nonce };
                manifest.logs.push(LogRef { id, end: None });
                if !spares.iter().any(|spare| spare.knows(id.nonce)) {
                    // It is of a later session, or of one of a copy of the database.
                    let path = storage.root().join(name.to_string());
                    let message = "no other file proves that this log belongs to the database";
                    report.damage.push(Error::corruption(message).at_path(&path));
                    report.losses.push(Loss::new(LossKind::Log, None, path));
                }
            }
        }
        // So that each file that is not named counts as lost: no session can have left it.
        manifest.generation = self.next_generation;
        (manifest.session, manifest.earlier_sessions) = (0, Vec::new());
        Ok(Some(manifest))
    }
}
