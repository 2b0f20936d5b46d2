//! Writes in databases whose ids do not identify documents: their entries are a set.

use std::collections::BTreeSet;

use crate::base::error::Result;
use crate::db::commit::commit;
use crate::db::commit::sync::acknowledge;
use crate::db::state::core::Core;
use crate::db::write::backpressure::{writer_with_room, writer_with_space};
use crate::db::write::condition::{BeforeCommit, Callbacks, Condition, ask};
use crate::db::write::confirm::{Candidate, Confirm};
use crate::db::write::outcome::Outcome;
use crate::db::write::since::{Near, Since};
use crate::fingerprint::{Entry, Fingerprint, Match};
use crate::query::{QueryOptions, View, Within};
use crate::store::log::Op;
use crate::store::version::Version;

/// Writes entries in turn, in one commit.
pub(super) fn write<F: Fingerprint>(
    core: &Core<F>,
    entries: &[Entry<F>],
    condition: Condition,
    callbacks: Callbacks<'_, F>,
) -> Result<Vec<Outcome<F>>> {
    match condition.unless_near {
        None => insert(core, entries, callbacks.before_commit),
        Some(within) => insert_unless_near(core, entries, within, callbacks),
    }
}

/// Inserts entries. Those that exist already are left as they are.
fn insert<F: Fingerprint>(
    core: &Core<F>,
    entries: &[Entry<F>],
    before_commit: Option<BeforeCommit<'_, F>>,
) -> Result<Vec<Outcome<F>>> {
    loop {
        let (version, seq) = core.visible_version();
        let mut existing = Vec::with_capacity(entries.len());
        let words: Vec<_> = entries.iter().filter_map(|entry| entry.word()).collect();
        version.look_up(&words, seq, |_, exists| {
            existing.push(exists);
            Ok(())
        })?;
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let (outcomes, ops) = decide(&now, entries, &existing);
        let Some(mut writer) = writer_with_space(core, writer, &ops)? else { continue };
        ask(core, before_commit, &outcomes)?;
        let seq = if ops.is_empty() { writer.seq } else { commit(core, &mut writer, &ops)? };
        // An entry that exists already may be another writer's and not yet durable.
        acknowledge(core, writer, seq)?;
        return Ok(outcomes);
    }
}

/// Decides which entries are new.
fn decide<F: Fingerprint>(
    version: &Version<F>,
    entries: &[Entry<F>],
    existing: &[bool],
) -> (Vec<Outcome<F>>, Vec<Op<F>>) {
    let (mut batch, mut ops) = (BTreeSet::new(), Vec::with_capacity(entries.len()));
    let outcome = |(&entry, &existed): (&Entry<F>, &bool)| {
        let newer = version.memtables().rev().find_map(|m| m.state(entry, u64::MAX));
        if newer.unwrap_or(existed) || !batch.insert(entry) {
            return Outcome::Unchanged(entry.id);
        }
        ops.push(Op::Insert { fingerprint: entry.fingerprint, id: entry.id });
        Outcome::Inserted(entry.id)
    };
    let outcomes = entries.iter().zip(existing).map(outcome).collect();
    (outcomes, ops)
}

/// Inserts the entries that nothing matches.
fn insert_unless_near<F: Fingerprint>(
    core: &Core<F>,
    entries: &[Entry<F>],
    within: Within,
    mut callbacks: Callbacks<'_, F>,
) -> Result<Vec<Outcome<F>>> {
    loop {
        let (version, seq) = core.visible_version();
        let lookups = match &mut callbacks.confirm {
            None => look_up(core, &version, seq, entries, within)?,
            Some(confirm) => look_up_confirmed(core, &version, seq, entries, within, confirm)?,
        };
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let mut since = Since::new(core, &now, seq, 0, entries.len());
        let mut outcomes = Vec::with_capacity(entries.len());
        for (at, (&Entry { fingerprint, id }, &lookup)) in entries.iter().zip(&lookups).enumerate()
        {
            let near = Near { fingerprint, within, own: None };
            let nearest = match &mut callbacks.confirm {
                None => since.nearest(near, Some(lookup))?,
                Some(_)
                    if since.has(Entry { fingerprint, id })
                        || lookup.is_some_and(|found| {
                            found.entry() == Entry { fingerprint, id }
                                && since.is_live(&found, near)
                        }) =>
                {
                    Some(Match { distance: 0, fingerprint, id })
                }
                Some(confirm) => since.confirmed(near, Some(lookup), at, confirm)?,
            };
            outcomes.push(match nearest {
                Some(found) if found.fingerprint == fingerprint && found.id == id => {
                    Outcome::Exists(found)
                }
                Some(found) => Outcome::Duplicate(found),
                None => {
                    since.push(Op::Insert { fingerprint, id })?;
                    since.gave(at, Entry { fingerprint, id });
                    Outcome::Inserted(id)
                }
            });
        }
        let Some(writer) = writer_with_space(core, writer, since.ops())? else { continue };
        ask(core, callbacks.before_commit, &outcomes)?;
        since.commit(writer)?;
        return Ok(outcomes);
    }
}

/// Returns the nearest match of each entry, searched without a lock. An entry that exists is its
/// own nearest match, even if others have the same fingerprint.
fn look_up<F: Fingerprint>(
    core: &Core<F>,
    version: &Version<F>,
    seq: u64,
    entries: &[Entry<F>],
    within: Within,
) -> Result<Vec<Option<Match<F>>>> {
    let view = View::new(version, seq, &core.planner);
    let mut nearest = if let [entry] = entries {
        let options = QueryOptions::within(within).limit(1);
        vec![view.query(entry.fingerprint, options)?.pop()]
    } else {
        let queries: Vec<F> = entries.iter().map(|entry| entry.fingerprint).collect();
        view.nearest_of_each(&queries, within, core.threads())?
    };
    for (&entry, nearest) in entries.iter().zip(&mut nearest) {
        if let Some(found) = nearest.as_mut().filter(|found| found.fingerprint == entry.fingerprint)
            && version.contains(entry, seq)?
        {
            found.id = entry.id;
        }
    }
    Ok(nearest)
}

/// Returns the first match of each entry that is confirmed, searched without a lock. An entry that
/// exists is its own match, and needs no confirmation.
fn look_up_confirmed<F: Fingerprint>(
    core: &Core<F>,
    version: &Version<F>,
    seq: u64,
    entries: &[Entry<F>],
    within: Within,
    confirm: &mut Confirm<'_, F>,
) -> Result<Vec<Option<Match<F>>>> {
    let view = View::new(version, seq, &core.planner);
    let options = QueryOptions::within(within).limit(confirm.most);
    let look_up = |(at, &entry): (usize, &Entry<F>)| {
        if version.contains(entry, seq)? {
            return Ok(Some(Match { distance: 0, fingerprint: entry.fingerprint, id: entry.id }));
        }
        let found = view.query(entry.fingerprint, options)?.into_iter();
        confirm.first(core.storage.root(), at, found.map(Candidate::stored))
    };
    entries.iter().enumerate().map(look_up).collect()
}

/// Removes entries in one commit. Returns for each whether it existed.
pub(super) fn remove<F: Fingerprint>(core: &Core<F>, entries: &[Entry<F>]) -> Result<Vec<bool>> {
    loop {
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        let mut batch = BTreeSet::new();
        let exists = |&entry: &Entry<F>| Ok(now.contains(entry, u64::MAX)? && batch.insert(entry));
        let existed = entries.iter().map(exists).collect::<Result<Vec<_>>>()?;
        let ops: Vec<_> = entries
            .iter()
            .zip(&existed)
            .filter(|&(_, &existed)| existed)
            .map(|(&Entry { fingerprint, id }, _)| Op::Remove { fingerprint, id })
            .collect();
        let Some(mut writer) = writer_with_space(core, writer, &ops)? else { continue };
        // What does not exist may have been removed in a commit that is not yet durable.
        let seq = if ops.is_empty() { writer.seq } else { commit(core, &mut writer, &ops)? };
        acknowledge(core, writer, seq)?;
        return Ok(existed);
    }
}

#[cfg(test)]
mod tests {
    use crate::file::storage::READ_AHEAD;
    use crate::fingerprint::{DocId, Entry};
    use crate::{Db, Outcome};

    #[test]
    fn blocks_of_a_batch_and_of_a_bulk_load_are_fetched_before_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let fingerprint = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = |i| Ok(Entry { fingerprint: fingerprint(i), id: DocId(i) });
        let options = Db::options().background(false);
        let db = options.clone().create(folder.path()).unwrap();
        assert_eq!(db.bulk_load((0..100_000).map(entry)).unwrap().inserted, 100_000);
        db.close().unwrap();
        // Half of them exist, in no order of their fingerprints.
        let some = (99_900..100_100).step_by(2);
        let batch: Vec<_> = some.clone().map(|i| (fingerprint(i), DocId(i))).collect();
        let fetched = |write: &dyn Fn(&Db)| {
            let (db, before) = (options.clone().open(folder.path()).unwrap(), READ_AHEAD.get());
            write(&db);
            let fetched = READ_AHEAD.get() - before;
            db.close().unwrap();
            fetched
        };
        let by_batch = fetched(&|db| {
            let outcomes = db.write(&batch).run().unwrap();
            let expected = some.clone().map(|i| match i < 100_000 {
                true => Outcome::Unchanged(DocId(i)),
                false => Outcome::Inserted(DocId(i)),
            });
            assert!(outcomes.into_iter().eq(expected));
        });
        // Most are on a page of their own, of 50 or 60 in all.
        assert!(by_batch > 20 * 128, "{by_batch}");
        let by_load = fetched(&|db| {
            let entries = (99_901..100_101).step_by(2).map(entry);
            assert_eq!(db.bulk_load(entries).unwrap().inserted, 50);
        });
        assert!(by_load > 20 * 128, "{by_load}");
    }
}
