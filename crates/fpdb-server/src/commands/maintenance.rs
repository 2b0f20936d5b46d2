//! The commands that take care of the files, and those that go through all documents. They run on
//! the thread of their connection, and end early if the server stops.

use std::ops::ControlFlow;

use fpdb::{Db, Fingerprint, Progress};

use crate::commands::service::Service;
use crate::commands::writes::parse_stamp;
use crate::database::Handle;
use crate::failure::{Failure, Result};
use crate::resp::Replies;

/// The longest name of a backup.
const MAX_FOLDER_NAME: usize = 128;

/// Returns a function that ends long operations with an error when the server stops.
fn ends_with<F: Fingerprint>(
    service: &Service<F>,
) -> impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static {
    let clients = service.shared.clients.clone();
    move |_| match clients.stopping_since() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    }
}

/// Returns the handle that writes, with long operations that end when the server stops.
fn writer<F: Fingerprint>(service: &Service<F>) -> Result<Db<F>> {
    Ok(service.db.writer()?.on_progress(ends_with(service)))
}

/// `FP.EXPIRE before`
pub(crate) fn expire<F: Fingerprint>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    service.expect_documents("has no stamps")?;
    replies.integer(writer(service)?.expire(parse_stamp(words[1])?)?.removed);
    Ok(())
}

/// `FP.FLUSH`
pub(crate) fn flush<F: Fingerprint>(service: &Service<F>, replies: &mut Replies) -> Result<()> {
    service.db.writer()?.flush()?;
    replies.simple("OK");
    Ok(())
}

/// `FP.COMPACT`
pub(crate) fn compact<F: Fingerprint>(service: &Service<F>, replies: &mut Replies) -> Result<()> {
    let report = writer(service)?.compact()?;
    let fields = [
        ("segments_before", report.segments_before as u64),
        ("segments_after", report.segments_after as u64),
        ("bytes_before", report.bytes_before),
        ("bytes_after", report.bytes_after),
    ];
    replies.map(fields.len());
    for (name, value) in fields {
        replies.bulk(name.as_bytes());
        replies.integer(value);
    }
    Ok(())
}

/// `FP.BACKUP name`
pub(crate) fn backup<F: Fingerprint>(
    service: &Service<F>,
    words: &[&[u8]],
    replies: &mut Replies,
) -> Result<()> {
    let Some(folder) = &service.shared.backup_folder else {
        return Err(Failure::general(
            "the server was started without a folder for backups (option: backup-folder)",
        ));
    };
    let name = std::str::from_utf8(words[1]).ok().filter(|name| is_folder_name(name));
    let name = name.ok_or_else(|| {
        Failure::general(format!(
            "the name of a backup has 1 to {MAX_FOLDER_NAME} letters, digits, '-', '_' and '.', \
             and does not begin with '.'"
        ))
    })?;
    let path = folder.join(name);
    match &service.db {
        Handle::Writer(db) => db.on_progress(ends_with(service)).backup(path)?,
        Handle::Reader { db, .. } => db.on_progress(ends_with(service)).backup(path)?,
    }
    replies.simple("OK");
    Ok(())
}

/// Returns whether a text names a folder within another one, whatever the system, so that clients
/// cannot write anywhere else.
fn is_folder_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=MAX_FOLDER_NAME).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(is_allowed)
}

/// `FP.VERIFY`
pub(crate) fn verify<F: Fingerprint>(service: &Service<F>, replies: &mut Replies) -> Result<()> {
    let report = match &service.db {
        Handle::Writer(db) => db.on_progress(ends_with(service)).verify(fpdb::VerifyLevel::Full)?,
        Handle::Reader { db, .. } => {
            db.on_progress(ends_with(service)).snapshot().verify(fpdb::VerifyLevel::Full)?
        }
    };
    replies.map(3);
    for (name, value) in [("files", report.files as u64), ("bytes", report.bytes)] {
        replies.bulk(name.as_bytes());
        replies.integer(value);
    }
    replies.bulk(b"errors");
    replies.array(report.errors.len());
    report.errors.iter().for_each(|error| replies.bulk(error.to_string().as_bytes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use fpdb::{Ids, Stamped};

    use super::*;
    use crate::commands::service::Shared;
    use crate::net::stream::Address;
    use crate::options::Options;

    #[test]
    fn long_commands_end_when_the_server_stops() {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::options().ids(Ids::Unique).create(folder.path().join("db")).unwrap();
        for id in 0..2000_u64 {
            db.insert(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), Stamped::new(id, id)).unwrap();
        }
        db.flush().unwrap();
        let address = Address::Tcp(([127, 0, 0, 1], 1).into());
        let options = Options::default().backup_folder(folder.path());
        let service = Service::new(db.clone(), Shared::new(address, &options));
        let mut replies = Replies::default();
        verify(&service, &mut replies).unwrap();
        // So that there is something to compact.
        db.remove(1999).unwrap();
        service.shared.clients.stop();
        let written = replies.len();
        let ended = [
            verify(&service, &mut replies),
            compact(&service, &mut replies),
            backup(&service, &[b"FP.BACKUP", b"copy"], &mut replies),
            expire(&service, &[b"FP.EXPIRE", b"9"], &mut replies),
        ];
        for (at, result) in ended.into_iter().enumerate() {
            let failure = format!("{result:?}");
            assert!(failure.contains("cancelled"), "{at}: {failure}");
        }
        assert_eq!((replies.len(), db.stats().documents), (written, 1999));
        assert!(!folder.path().join("copy").exists());
    }
}
