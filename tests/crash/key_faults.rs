//! Failing reads while documents are found and changed by their keys.

use std::collections::BTreeSet;

use fpdb::{Db, Fingerprint, Ids, Key, Outcome, Snapshot};

use super::oracle::Verdict;
use super::read_faults::Life;
use super::script::{Doc, Setup, name_of};

/// Returns the fingerprint of the document with this key.
fn get<F: Fingerprint>(
    setup: &Setup<F>,
    snapshot: &Snapshot<F>,
    key: u64,
) -> fpdb::Result<Option<F>> {
    let found = match setup.ids {
        Ids::Names => snapshot.get(&*name_of(key))?,
        _ => snapshot.get(key)?,
    };
    Ok(found.map(|document| document.fingerprint))
}

impl<F: Fingerprint> Life<'_, F> {
    /// Finds documents by their keys, and all of them in order.
    pub(super) fn find_by_key(&mut self, snapshot: &Snapshot<F>, docs: &[Doc<F>]) -> Verdict {
        let setup = self.start.setup;
        if setup.ids == Ids::User {
            return Ok(());
        }
        for _ in 0..3 {
            let doc = docs[self.random.below(docs.len())];
            let found = self.call("get", |_| get(&setup, snapshot, doc.1))?;
            Self::expect("get", found, Some(doc.0))?;
        }
        let found = self.call("get", |_| get(&setup, snapshot, u64::MAX / 3))?;
        Self::expect("get", found, None)?;
        let right: BTreeSet<F> = docs.iter().map(|doc| doc.0).collect();
        let found: Option<BTreeSet<F>> = self.call("documents", |_| {
            snapshot.documents()?.map(|document| Ok(document?.1.fingerprint)).collect()
        })?;
        Self::expect("documents", found, right)
    }

    /// Updates a document, and touches and removes others.
    pub(super) fn change_by_key(&mut self, db: &Db<F>) -> Verdict {
        let setup = self.start.setup;
        if setup.ids == Ids::User {
            return Ok(());
        }
        let known: Vec<Doc<F>> = self.docs.iter().copied().step_by(61).collect();
        let mut is_stamped = false;
        for (n, (from, key)) in known.into_iter().enumerate() {
            let fingerprint = self.random.fingerprint();
            let name = name_of(key);
            let named = match setup.ids {
                Ids::Names => Key::from(&name),
                _ => Key::from(key),
            };
            let doing = ["upsert_if_novel", "touch", "remove by key"][n % 3];
            let done = self.call(doing, |_| match n % 3 {
                0 => {
                    let outcome = db.upsert_if_novel(fingerprint, named)?;
                    let distance = from.distance(fingerprint);
                    Ok(matches!(outcome, Outcome::Updated { from: old, distance: bits, .. }
                        if (old, bits) == (from, distance)))
                }
                1 => db.touch(named, 7),
                _ if setup.ids == Ids::Names => db.remove(&name),
                _ => db.remove(key),
            })?;
            Self::expect(doing, done, true)?;
            is_stamped |= done.is_some() && n % 3 == 1;
            if done.is_some() && n % 3 != 1 {
                self.docs.remove(&(from, key));
                self.docs.extend((n % 3 == 0).then_some((fingerprint, key)));
            }
        }
        if !is_stamped {
            return Ok(());
        }
        let removed = self.call("expire", |_| Ok(db.expire(7)?.removed))?;
        Self::expect("expire", removed, 0)
    }
}
