//! The commits of damaged logs.

use super::parts::is_damage;
use crate::codec::header::FileKind;
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::db::recovery::recover::fits;
use crate::error::{Error, Result};
use crate::file_names::FileName;
use crate::fingerprint::Fingerprint;
use crate::log::{MAX_LOG_LEN, ReadMode, Salvaged, read_log, salvage};
use crate::manifest::{LogRef, Manifest};
use crate::memtable::Memtable;
use crate::storage::Storage;

/// Applies all commits that can be read from the logs of a manifest.
pub(super) fn replay<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    report: &mut BuildReport,
) -> Result<Memtable<F>> {
    let memtable = Memtable::new(manifest.settings.orders(), manifest.next_doc);
    for log in &manifest.logs {
        let path = storage.root().join(FileName::Log(log.id.number).to_string());
        let Salvaged { commits, lost } = read(storage, manifest, log, report)?;
        if lost > 0 {
            report.losses.push(Loss { kind: LossKind::Log, count: lost, path: path.clone() });
        }
        for (seq, mut ops) in commits {
            ops.retain(|op| fits(op, manifest.settings.ids));
            if let Err(error) = memtable.apply(seq.max(memtable.last_seq()), &ops) {
                report.damage.push(error.at_path(&path));
            }
        }
    }
    Ok(memtable)
}

/// Reads one log, and reports its damage.
fn read<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    log: &LogRef,
    report: &mut BuildReport,
) -> Result<Salvaged<F>> {
    let name = FileName::Log(log.id.number).to_string();
    let path = storage.root().join(&name);
    let bytes = match storage.read(&name, MAX_LOG_LEN) {
        Ok(bytes) => bytes,
        Err(error) if is_damage(&error) => {
            report.damage.push(Error::corruption("a log is missing").at_path(path));
            return Ok(Salvaged { commits: Vec::new(), lost: log.end.unwrap_or(0) });
        }
        Err(error) => return Err(error),
    };
    let header = manifest.settings.header(FileKind::Log, 0, log.id);
    match read_log(&bytes, &path, &header, log.end, ReadMode::Recover) {
        Ok(contents) => Ok(Salvaged { commits: contents.commits, lost: 0 }),
        Err(error) if is_damage(&error) => {
            report.damage.push(error);
            Ok(salvage(&bytes, &header, log.end))
        }
        Err(error) => Err(error),
    }
}
