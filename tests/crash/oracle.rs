//! What must hold for every database that opens after a crash.

use std::collections::BTreeSet;
use std::sync::Arc;

use fpdb::storage::{Sim, Storage};
use fpdb::{Db, DocId, Fingerprint, Ids};

use super::common::documents::Model;
use super::documents::{documents, with_next_id};
use super::history::{Contents, State};
use super::script::{DISTANCE, Doc, Random, Setup, key_of};

/// A description of what went wrong.
pub(crate) type Verdict<T = ()> = Result<T, String>;

/// Describes the error of a call that must not fail.
pub(crate) fn text(doing: &str) -> impl Fn(fpdb::Error) -> String {
    let doing = doing.to_owned();
    move |error| format!("{doing}: {error:?}")
}

/// Opens the database, or creates it if the creation had not finished.
pub(crate) fn open<F: Fingerprint>(
    setup: &Setup<F>,
    sim: &Arc<Sim>,
    path: &str,
    is_created: bool,
) -> fpdb::Result<Db<F>> {
    let options = setup.options(sim);
    if is_created { options.open(path) } else { options.open_or_create(path) }
}

fn key<F: Fingerprint>(setup: &Setup<F>, db: &Db<F>, id: DocId) -> Verdict<u64> {
    if setup.ids != Ids::Names {
        return Ok(id.0);
    }
    let name = db.snapshot().name(id).map_err(text("name"))?;
    let key = name.as_deref().and_then(key_of);
    key.ok_or_else(|| format!("document {id} has the name {name:?}"))
}

/// Returns all entries and documents, and checks that they agree and that their numbers are right.
pub(crate) fn contents<F: Fingerprint>(setup: &Setup<F>, db: &Db<F>) -> Verdict<Contents<F>> {
    let (mut found, mut count, mut ids) = (BTreeSet::new(), 0, BTreeSet::new());
    let snapshot = db.snapshot();
    for entry in &snapshot {
        let entry = entry.map_err(text("iter"))?;
        found.insert((entry.fingerprint, key(setup, db, entry.id)?));
        ids.insert(entry.id);
        count += 1;
    }
    let counted = db.stats().entries;
    if counted != count || found.len() as u64 != count {
        return Err(format!("{count} entries, {} different, {counted} counted", found.len()));
    }
    if setup.ids == Ids::User {
        return Ok(Arc::new(State { entries: found, documents: Model::default() }));
    }
    if ids.len() != found.len() {
        return Err(format!("an id is used twice: {ids:?}"));
    }
    let state = State::of_documents(setup.ids, documents(setup, db, &snapshot)?)?;
    if state.entries != found {
        return Err(format!("entries {found:?}, but originals {:?}", state.entries));
    }
    Ok(Arc::new(state))
}

/// Compares the answers of queries with a scan of the contents.
pub(crate) fn check_queries<F: Fingerprint>(
    setup: &Setup<F>,
    db: &Db<F>,
    contents: &BTreeSet<Doc<F>>,
    random: &mut Random,
) -> Verdict {
    let Some(&(near, _)) = contents.iter().nth(random.below(contents.len().max(1))) else {
        let answer = db.query(F::ZERO, DISTANCE).map_err(text("query"))?;
        return if answer.is_empty() {
            Ok(())
        } else {
            Err(format!("the empty database answers {answer:?}"))
        };
    };
    let most = DISTANCE as usize + 1;
    let (query, distance) = (random.near(near, most), random.below(most + 1));
    let distance = u32::try_from(distance).unwrap();
    let mut answer = Vec::new();
    for found in db.query(query, distance).map_err(text("query"))? {
        answer.push((found.distance, found.fingerprint, key(setup, db, found.id)?));
    }
    answer.sort_unstable();
    let mut expected: Vec<_> = contents
        .iter()
        .map(|&(fingerprint, key)| (query.distance(fingerprint), fingerprint, key))
        .filter(|&(far, _, _)| far <= distance)
        .collect();
    expected.sort_unstable();
    if answer != expected {
        return Err(format!("query {query:?} within {distance}: {answer:?}, not {expected:?}"));
    }
    Ok(())
}

/// Checks that the open database uses every file.
pub(crate) fn check_files<F: Fingerprint>(sim: &Sim, db: &Db<F>) -> Verdict {
    let stats = db.stats();
    let mut expected: BTreeSet<String> =
        stats.segments.iter().flat_map(|s| s.files.iter().map(|(name, _)| name.clone())).collect();
    expected.extend(["LOCK".to_owned(), "MANIFEST".to_owned()]);
    let mut logs = 0;
    let names = sim.list().map_err(text("list"))?.unwrap_or_default();
    let mut found: BTreeSet<String> = names.into_iter().collect();
    found.retain(|name| {
        logs += usize::from(name.ends_with(".log"));
        !name.ends_with(".log")
    });
    // A log begins with the first write.
    let expected_logs = usize::from(stats.bytes_log > 0);
    if found != expected || logs != expected_logs {
        return Err(format!(
            "files {found:?} and {logs} logs, expected {expected:?} and {expected_logs}"
        ));
    }
    Ok(())
}

/// Opens the database in a state after a crash and checks everything that must hold. Returns the
/// open database and its contents.
pub(crate) fn check<F: Fingerprint>(
    setup: &Setup<F>,
    sim: &Arc<Sim>,
    legal: &[&Contents<F>],
    is_created: bool,
    random: &mut Random,
) -> Verdict<(Db<F>, Contents<F>)> {
    let root = sim.root().to_owned();
    let db = open(setup, sim, root.to_str().unwrap(), is_created).map_err(text("open"))?;
    let found = contents(setup, &db)?;
    let found = with_next_id(setup, &db, found)?;
    if !legal.iter().any(|contents| contents.agrees(&found)) {
        return Err(unexplained(&found, legal));
    }
    check_files(sim, &db)?;
    for _ in 0..2 {
        check_queries(setup, &db, &found.entries, random)?;
    }
    if let Some(error) =
        db.snapshot().verify(fpdb::VerifyLevel::Full).unwrap().errors.into_iter().next()
    {
        return Err(format!("verify: {error:?}"));
    }
    Ok((db, found))
}

/// Describes how the contents that were found differ from all legal ones.
pub(crate) fn unexplained<F: Fingerprint>(found: &Contents<F>, legal: &[&Contents<F>]) -> String {
    let facts = |contents: &Contents<F>| -> BTreeSet<String> {
        let documents = contents.documents.documents.iter();
        let documents = documents.map(|(key, known)| {
            format!("{known:?} {}", String::from_utf8_lossy(key).trim_end_matches('-'))
        });
        contents.entries.iter().map(|doc| format!("{doc:?}")).chain(documents).collect()
    };
    let found_facts = facts(found);
    let nearest = legal.iter().min_by_key(|c| facts(c).symmetric_difference(&found_facts).count());
    let Some(nearest) = nearest else { return "no contents are legal here".to_owned() };
    let nearest_facts = facts(nearest);
    let missing: Vec<_> = nearest_facts.difference(&found_facts).take(9).collect();
    let extra: Vec<_> = found_facts.difference(&nearest_facts).take(9).collect();
    format!(
        "{} entries found, none of {} legal contents; compared with the nearest, missing {missing:?}, \
         extra {extra:?}, next ids {} and {}",
        found.entries.len(),
        legal.len(),
        found.documents.next_id,
        nearest.documents.next_id,
    )
}
