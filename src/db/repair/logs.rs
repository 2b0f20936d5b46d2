//! The commits of damaged logs.

use super::damaged_segment::is_damage;
use crate::base::error::{Error, Result};
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::db::recovery::recover::fits;
use crate::file::codec::header::FileKind;
use crate::file::names::FileName;
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::store::log::{MAX_LOG_LEN, Op, ReadMode, Salvaged, read_log, salvage};
use crate::store::manifest::{LogRef, Manifest};
use crate::store::memtable::Memtable;

/// Applies all commits that can be read from the logs of a manifest.
pub(super) fn replay<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    report: &mut BuildReport,
) -> Result<Memtable<F>> {
    let memtable = Memtable::for_repair(&manifest.settings.index, manifest.next_doc);
    for log in &manifest.logs {
        let path = storage.root().join(FileName::Log(log.id.number).to_string());
        let (commits, lost) = read(storage, manifest, log, report)?;
        if lost != Some(0) {
            report.losses.push(Loss::new(LossKind::Log, lost, path.clone()));
        }
        // Others are in segments.
        let commits = commits.into_iter().filter(|(seq, _)| *seq > manifest.last_seq);
        let mut refused: u64 = 0;
        for (seq, mut ops) in commits {
            ops.retain(|op| fits(op, manifest.settings.ids));
            // One operation that cannot be applied does not keep the others from being saved.
            for op in ops {
                if let Err(error) = memtable.apply(seq.max(memtable.last_seq()), &[op]) {
                    refused += 1;
                    if refused == 1 {
                        report.damage.push(error.at_path(&path));
                    }
                }
            }
        }
        if let Some(others @ 1..) = refused.checked_sub(1) {
            let message = format!("{others} more operations of the log cannot be applied");
            report.damage.push(Error::corruption(message).at_path(&path));
        }
    }
    Ok(memtable)
}

/// The commits of a log with their numbers, and how many of its bytes are lost, if that is known.
type Commits<F> = (Vec<(u64, Vec<Op<F>>)>, Option<u64>);

/// Reads one log, and reports its damage.
fn read<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    log: &LogRef,
    report: &mut BuildReport,
) -> Result<Commits<F>> {
    let name = FileName::Log(log.id.number).to_string();
    let path = storage.root().join(&name);
    let bytes = match storage.read(&name, MAX_LOG_LEN) {
        Ok(bytes) => bytes,
        Err(error) if is_damage(&error) => {
            report.damage.push(Error::corruption("a log is missing").at_path(path));
            return Ok((Vec::new(), log.end));
        }
        Err(error) => return Err(error),
    };
    let header = manifest.settings.header(FileKind::Log, 0, log.id);
    match read_log(&bytes, &path, &header, log.end, ReadMode::Recover) {
        // A manifest names a log after its first frame has been written.
        Ok(contents) if contents.start.is_none() => {
            report.damage.push(Error::corruption("a log is empty").at_path(path));
            Ok((Vec::new(), log.end))
        }
        Ok(contents) => Ok((contents.commits, Some(0))),
        Err(error) if is_damage(&error) => {
            report.damage.push(error);
            let Salvaged { commits, lost } = salvage(&bytes, &header, log.end);
            // It may be another log, or have lost everything.
            let is_known = lost > 0 || !commits.is_empty();
            Ok((commits, if is_known { Some(lost) } else { log.end }))
        }
        Err(error) => Err(error),
    }
}
