//! A folder that is locked for writing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::counted::CountedStorage;
use super::{FolderLock, Storage};
use crate::base::error::Result;

/// A folder that this process has locked for writing. Whatever creates, renames or removes files
/// borrows it, so that the lock is held until they are done. Dropping it lets the next writer in.
///
/// [`counting`](Self::counting) returns the same folder for an operation whose bytes are counted.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    storage: Arc<dyn Storage>,
    lock: Arc<Lock>,
}

/// The lock, and the numbers that were given out under it.
#[derive(Debug)]
struct Lock {
    lock: Box<dyn FolderLock>,
    session: u64,
    last_number: AtomicU64,
    next_scratch: AtomicU64,
}

impl LockedFolder {
    /// Locks a folder.
    ///
    /// Fails with `Locked` if another handle or process has the lock.
    pub(crate) fn lock(storage: &Arc<dyn Storage>) -> Result<Self> {
        let lock = storage.lock()?;
        let low_half = storage.fresh_id()? & u128::from(u64::MAX);
        let lock = Lock {
            lock,
            session: u64::try_from(low_half).unwrap_or_default(),
            last_number: AtomicU64::new(0),
            next_scratch: AtomicU64::new(0),
        };
        Ok(Self { storage: storage.clone(), lock: Arc::new(lock) })
    }

    /// Returns the same folder, under the same lock. All bytes that are appended to files created
    /// through it are added to `written`.
    pub(crate) fn counting(&self, written: Arc<AtomicU64>) -> Self {
        let storage = Arc::new(CountedStorage::new(self.storage.clone(), written));
        Self { storage, lock: self.lock.clone() }
    }

    /// Returns an error unless the folder is still locked by this process, and still at its path.
    pub(crate) fn check(&self) -> Result<()> {
        self.lock.lock.check()
    }

    /// Returns the folder.
    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns the random number of this writer, which is in all files that it creates. Hardly any
    /// other writer of this database or of its copies has it.
    pub(crate) fn session(&self) -> u64 {
        self.lock.session
    }

    /// Returns a number that is at least `least` and greater than all numbers returned before.
    pub(crate) fn next_number(&self, least: u64) -> u64 {
        let next = |last: u64| Some(least.max(last + 1));
        let last = self.lock.last_number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        least.max(last.unwrap_or_else(|last| last) + 1)
    }

    /// Returns only greater numbers from now on.
    pub(crate) fn skip_numbers(&self, last: u64) {
        self.lock.last_number.fetch_max(last, Ordering::Relaxed);
    }

    /// Removes a file that this process has created, or that it knows to be useless. Does nothing
    /// if the folder is somebody else's now, or if removing fails: then the next open removes the
    /// file.
    pub(crate) fn remove(&self, name: &str) {
        if self.check().is_ok() {
            let _ = self.storage.remove(name);
        }
    }

    /// Returns the number of the next scratch file.
    pub(crate) fn next_scratch(&self) -> u64 {
        self.lock.next_scratch.fetch_add(1, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sim;
    use super::*;

    #[test]
    fn numbers_of_files_are_never_returned_twice() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim;
        let folder = LockedFolder::lock(&storage).unwrap();
        assert_eq!([(); 3].map(|()| folder.next_scratch()), [0, 1, 2]);
        assert_eq!([5, 5, 9].map(|least| folder.next_number(least)), [5, 6, 9]);
        folder.skip_numbers(20);
        assert_eq!(folder.next_number(9), 21);
    }

    #[test]
    fn bytes_of_a_counting_folder_are_counted_and_its_lock_is_the_same() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let storage: Arc<dyn Storage> = sim;
        let folder = LockedFolder::lock(&storage).unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let counting = folder.counting(written.clone());
        assert_eq!([folder.next_number(5), counting.next_number(5)], [5, 6]);
        let file = counting.storage().create("a").unwrap();
        file.append(b"four").unwrap();
        folder.storage().create("b").unwrap().append(b"others").unwrap();
        file.append(b" and more").unwrap();
        assert_eq!(written.load(Ordering::Relaxed), 13);
        drop(folder);
        assert!(LockedFolder::lock(&storage).is_err(), "it keeps the lock");
        drop(counting);
        assert!(LockedFolder::lock(&storage).is_ok());
    }
}
