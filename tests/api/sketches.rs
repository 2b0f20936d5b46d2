//! Databases of sketches: brute force over the sketches is the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use fpdb::{
    Db, DocId, Document, Entry, ErrorKind, Fingerprint, Ids, Jaccard, Layout, MatchRule, Matcher,
    Options, Pair, QueryOptions, Sketch, Source, Within,
};

const MINIMA: u32 = 128;

/// A sketch with other bits in some minima.
fn changed(
    rng: &mut fastrand::Rng,
    sketch: &Sketch,
    minima: impl IntoIterator<Item = u32>,
) -> Sketch {
    let mut planes = *sketch.planes();
    for minimum in minima {
        let bits = rng.u8(1..64);
        for (number, plane) in planes.iter_mut().enumerate() {
            *plane ^= u128::from(bits >> number & 1) << minimum;
        }
    }
    Sketch::of_parts(planes, sketch.features(), *sketch.parities())
}

/// A sketch of a random set, which may be small.
fn random(rng: &mut fastrand::Rng) -> Sketch {
    let values: Vec<u64> = (0..rng.usize(10..50)).map(|_| rng.u64(..)).collect();
    Sketch::new(std::array::from_fn(|_| rng.u64(..)), &values)
}

/// A sketch of a similar set with the same minima: some features are others.
fn edited(rng: &mut fastrand::Rng, sketch: &Sketch) -> Sketch {
    let mut parities = *sketch.parities();
    if sketch.level().is_none() {
        // The list of a smaller set is its beginning.
        let fewer = sketch.features() - rng.u32(0..sketch.features() / 2);
        let bytes = parities.map(u64::to_le_bytes);
        let mut kept = bytes.as_flattened()[..5 * fewer as usize].to_vec();
        kept.resize(128, 0);
        let words = kept.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word));
        parities.iter_mut().zip(words).for_each(|(to, word)| *to = word);
        return Sketch::of_parts(*sketch.planes(), fewer, parities);
    }
    (0..2 * rng.u32(0..10)).for_each(|_| parities[rng.usize(..16)] ^= 1 << rng.u32(..64));
    Sketch::of_parts(*sketch.planes(), sketch.features(), parities)
}

/// The number of minima that differ, counted one by one.
fn differing(a: &Sketch, b: &Sketch) -> u32 {
    let value = |s: &Sketch, m: u32| (0..6).fold(0, |v, p| v << 1 | s.planes()[p] >> m & 1);
    (0..MINIMA).map(|m| u32::from(value(a, m) != value(b, m))).sum()
}

/// Whether two sketches share one of `bands` bands of `minima` minima.
fn share_band(a: &Sketch, b: &Sketch, bands: u32, minima: u32) -> bool {
    (0..bands).any(|band| {
        let group = (8 * band..8 * band + minima).fold(0u128, |all, m| all | 1 << m);
        (0..6).all(|p| (a.planes()[p] ^ b.planes()[p]) & group == 0)
    })
}

#[test]
fn distance_is_the_number_of_minima_that_differ() {
    let mut rng = fastrand::Rng::with_seed(1);
    for count in 0..=MINIMA {
        let (a, mut minima) = (random(&mut rng), (0..MINIMA).collect::<Vec<_>>());
        rng.shuffle(&mut minima);
        let b = changed(&mut rng, &a, minima.into_iter().take(count as usize));
        assert_eq!((a.distance(b), differing(&a, &b)), (count, count));
        assert_eq!(Sketch::parse(&a.to_hex()).unwrap(), a);
    }
}

/// The rule of a database for a similarity of .8, compared bit by bit except for the parities.
struct Rule(Matcher);

impl Rule {
    fn new() -> Self {
        let rule = MatchRule::for_similarity(Jaccard::at_least(0.8), 1_000).unwrap();
        assert_eq!((rule.bands(), rule.distance()), (Some((10, 5)), 38));
        Self(rule.matcher())
    }

    /// Whether two sketches match.
    fn accepts(&self, a: &Sketch, b: &Sketch) -> bool {
        let are_near = differing(a, b) <= 38 && share_band(a, b, 10, 5);
        let found = self.0.distance(*a, *b);
        assert!(found.is_none_or(|distance| are_near && distance == differing(a, b)));
        // Sets with the same parities are equal.
        assert!(a.parities() != b.parities() || found.is_some() == are_near);
        found.is_some()
    }
}

/// A database, and what should be in it.
struct Model {
    db: Db<Sketch>,
    rule: Rule,
    documents: BTreeMap<u64, Sketch>,
}

impl Model {
    fn expected(&self, query: &Sketch, within: Within) -> Vec<(u32, Sketch, u64)> {
        let is_match = |sketch: &Sketch, distance: u32| match within {
            Within::Rule => self.rule.accepts(query, sketch),
            Within::Distance(most) => distance <= most,
        };
        let all =
            self.documents.iter().map(|(&id, sketch)| (differing(query, sketch), *sketch, id));
        let mut found: Vec<_> = all.filter(|(d, sketch, _)| is_match(sketch, *d)).collect();
        found.sort_unstable();
        found
    }

    fn check(&self, query: &Sketch) {
        for within in [Within::Rule, Within::Distance(0), Within::Distance(5), Within::Distance(30)]
        {
            let found = self.db.query(*query, within).unwrap();
            let found: Vec<_> = found.iter().map(|m| (m.distance, m.fingerprint, m.id.0)).collect();
            assert_eq!(found, self.expected(query, within), "{within}");
        }
        for limit in [0, 1, 3, 10] {
            let options = QueryOptions::within(Within::Rule).limit(limit);
            let nearest = self.db.snapshot().query(*query, options).unwrap();
            let ids: Vec<_> = nearest.iter().map(|m| m.id.0).collect();
            let expected = self.expected(query, Within::Rule);
            assert_eq!(ids, expected.iter().take(limit).map(|m| m.2).collect::<Vec<_>>());
        }
        let nearest = self.db.nearest(*query, Within::Rule).unwrap();
        let nearest = nearest.map(|m| (m.distance, m.fingerprint, m.id.0));
        assert_eq!(nearest, self.expected(query, Within::Rule).first().copied());
    }

    /// Checks queries that are answered together.
    fn check_batch(&self, queries: &[Sketch], memory: u64) {
        let snapshot = self.db.snapshot();
        for within in [Within::Rule, Within::Distance(30)] {
            let answers = snapshot.query_batch(queries, within).unwrap();
            assert_eq!(answers.len(), queries.len());
            for (query, found) in queries.iter().zip(answers.iter()) {
                let found: Vec<_> =
                    found.iter().map(|m| (m.distance, m.fingerprint, m.id.0)).collect();
                assert_eq!(found, self.expected(query, within), "{within}");
            }
        }
        let entries: Vec<_> = queries
            .iter()
            .zip(1000..)
            .map(|(&fingerprint, id)| Entry { fingerprint, id: DocId(id) })
            .collect();
        let join = snapshot.join_list(entries, Within::Rule).memory(memory).threads(2);
        let (mut all, mut nearest) = (Vec::new(), Vec::new());
        let pair = |pair: &Pair<Sketch>| (pair.b.id.0, pair.distance, pair.a.id.0);
        let keep = |pairs: &[Pair<Sketch>], to: &mut Vec<_>| {
            to.extend(pairs.iter().map(pair));
            ControlFlow::Continue(())
        };
        let _ = join.visit(|pairs| keep(pairs, &mut all)).unwrap();
        let _ = join.nearest(|pairs| keep(pairs, &mut nearest)).unwrap();
        let expected = queries.iter().zip(1000..).map(|(query, id)| {
            self.expected(query, Within::Rule).into_iter().map(move |(d, _, other)| (id, d, other))
        });
        let (mut expected_all, mut expected_nearest) = (Vec::new(), Vec::new());
        for of_query in expected {
            let of_query: Vec<_> = of_query.collect();
            expected_nearest.extend(of_query.first());
            expected_all.extend(of_query);
        }
        for list in [&mut all, &mut expected_all, &mut nearest, &mut expected_nearest] {
            list.sort_unstable();
        }
        assert_eq!((all, nearest), (expected_all, expected_nearest), "{memory} bytes");
    }
}

#[test]
fn queries_find_exactly_what_the_rule_says_whatever_was_written_and_merged() {
    let mut rng = fastrand::Rng::with_seed(7);
    let folder = tempfile::tempdir().unwrap();
    let options = || Options::sketches().similar(Jaccard::at_least(0.8)).background(false);
    let options = || options().memtable_entries(100);
    let db = options().create(folder.path().join("db")).unwrap();
    let mut model = Model { db, rule: Rule::new(), documents: BTreeMap::new() };
    let centres: Vec<Sketch> = (0..5).map(|_| random(&mut rng)).collect();
    let near = |rng: &mut fastrand::Rng| {
        let mut minima: Vec<u32> = (0..MINIMA).collect();
        rng.shuffle(&mut minima);
        // Some differ in one minimum of each band, so that they share none.
        if rng.u32(..4) == 0 {
            minima.splice(0..0, (0..10).map(|band| 8 * band + rng.u32(..5)));
        }
        let centre = centres[rng.usize(..centres.len())];
        let minima: BTreeSet<u32> = minima.into_iter().take(rng.usize(..45)).collect();
        let sketch = changed(rng, &centre, minima);
        if rng.bool() { edited(rng, &sketch) } else { sketch }
    };
    for step in 0..3000u64 {
        let sketch = if rng.u32(..3) == 0 { random(&mut rng) } else { near(&mut rng) };
        let id = rng.u64(..400);
        match rng.u32(..10) {
            0..6 => {
                let _ = model.db.insert(sketch, id).unwrap();
                model.documents.insert(id, sketch);
            }
            6..8 => {
                let removed = model.db.remove(id).unwrap();
                assert_eq!(removed, model.documents.remove(&id).is_some());
            }
            8 => {
                let nearest = model.expected(&sketch, Within::Rule).into_iter().find(|m| m.2 != id);
                let outcome = model.db.upsert_if_novel(sketch, id).unwrap();
                match nearest {
                    Some((_, _, other)) => {
                        assert_eq!((outcome.is_duplicate(), outcome.id()), (true, DocId(other)))
                    }
                    None => {
                        assert!(!outcome.is_duplicate());
                        model.documents.insert(id, sketch);
                    }
                }
            }
            _ => model.check(&sketch),
        }
        if step % 97 == 0 {
            model.db.flush().unwrap();
        }
        if step % 701 == 0 {
            let _ = model.db.compact().unwrap();
        }
        if step % 499 == 0 {
            model.db.close().unwrap();
            model.db = options().open(folder.path().join("db")).unwrap();
        }
        if step % 150 == 0 {
            let queries: Vec<Sketch> = (0..130).map(|_| near(&mut rng)).collect();
            model.check_batch(&queries, [0, 1 << 16, 1 << 30][rng.usize(..3)]);
            let errors = model.db.verify(fpdb::VerifyLevel::Deep).unwrap().errors;
            assert!(errors.is_empty(), "{errors:?}");
            assert_eq!(model.db.snapshot().len(), model.documents.len() as u64);
        }
    }
}

#[test]
fn query_that_would_read_more_pages_than_allowed_fails_and_plain_inserts_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (options, mut rng) = (Options::sketches().background(false), fastrand::Rng::with_seed(9));
    let template = random(&mut rng);
    // All share the band of the first group, and little else.
    let page = |rng: &mut fastrand::Rng| changed(rng, &template, 8..MINIMA);
    {
        let db = options.clone().create(&path).unwrap();
        for id in 0..400 {
            let _ = db.insert(page(&mut rng), id).unwrap();
        }
        db.close().unwrap();
    }
    let allowed = |pages| options.clone().candidate_pages(pages).open(&path).unwrap();
    let query = page(&mut rng);
    let is_enough = |&pages: &usize| allowed(pages).query(query, Within::Rule).is_ok();
    let pages = (1..1000).find(is_enough).unwrap();
    assert!(pages > 5, "{pages}");
    assert_eq!(allowed(pages).query(query, Within::Rule).unwrap(), []);
    let db = allowed(pages - 1);
    for error in [
        db.query(query, Within::Rule).unwrap_err(),
        db.nearest(query, Within::Rule).unwrap_err(),
        db.upsert_if_novel(query, 400).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::TooManyCandidates, "{error}");
    }
    assert_eq!(db.snapshot().len(), 400);
    assert!(db.query(random(&mut rng), Within::Rule).unwrap().is_empty());
    let _ = db.insert(query, 400).unwrap();
    // A scan is what the caller asks for.
    assert_eq!(db.query(query, Within::Distance(12)).unwrap().len(), 1);
}

#[test]
fn pairs_are_those_that_match_by_the_rule_each_once() {
    let mut rng = fastrand::Rng::with_seed(3);
    for (segments, threads) in [(1, 1), (3, 2)] {
        let options = Options::sketches().background(false).threads(threads);
        let db = options.memtable_entries(1000).in_memory().unwrap();
        let mut documents: Vec<(Sketch, u64)> = Vec::new();
        let mut id = 0;
        for segment in 0..=segments {
            for _ in 0..120 {
                let centre = documents.get(rng.usize(..documents.len().max(1))).copied();
                let sketch = match centre.filter(|_| rng.u32(..3) > 0) {
                    None => random(&mut rng),
                    Some((sketch, _)) => {
                        let mut minima: Vec<u32> = (0..MINIMA).collect();
                        rng.shuffle(&mut minima);
                        minima.truncate(rng.usize(..30) / 3 * 2);
                        let sketch = changed(&mut rng, &sketch, minima);
                        if rng.u32(..4) == 0 { edited(&mut rng, &sketch) } else { sketch }
                    }
                };
                let _ = db.insert(sketch, id).unwrap();
                documents.push((sketch, id));
                id += 1;
            }
            for _ in 0..10 {
                let at = rng.usize(..documents.len());
                assert!(db.remove(documents.swap_remove(at).1).unwrap());
                let at = rng.usize(..documents.len());
                documents[at].0 = random(&mut rng);
                let _ = db.insert(documents[at].0, documents[at].1).unwrap();
            }
            if segment < segments {
                db.flush().unwrap();
            }
        }
        let (mut expected, rule) = (Vec::new(), Rule::new());
        for (a, id) in &documents {
            for (b, other) in documents.iter().filter(|(_, other)| other > id) {
                let distance = differing(a, b);
                if rule.accepts(a, b) {
                    expected.push((*id, *other, distance));
                }
            }
        }
        expected.sort_unstable();
        let mut found = Vec::new();
        let snapshot = db.snapshot();
        let report = snapshot.pairs(Within::Rule).expand(true).visit(|more| {
            let fpdb::Found::Pairs(pairs) = more else { unreachable!("groups are expanded") };
            let of = |p: &fpdb::Pair<Sketch>| {
                (p.a.id.0.min(p.b.id.0), p.a.id.0.max(p.b.id.0), p.distance)
            };
            found.extend(pairs.iter().map(of));
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(report.unwrap().pairs.iter().sum::<u64>(), expected.len() as u64);
        found.sort_unstable();
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(found, expected);
        assert_eq!(
            snapshot.pairs(Within::Rule).count().unwrap().iter().sum::<u64>(),
            expected.len() as u64
        );
        let mut members = BTreeSet::new();
        let clusters = snapshot.clusters(Within::Rule).visit(|cluster| {
            members.extend(cluster.members.iter().map(|entry| entry.id.0));
            std::ops::ControlFlow::Continue(())
        });
        assert!(clusters.unwrap().clusters > 0);
        let is_near = |id| expected.iter().any(|&(a, b, _)| a == id || b == id);
        assert!(members.into_iter().all(is_near));
    }
}

#[test]
fn a_document_of_a_segment_is_found_after_a_touch() {
    let db = Options::sketches().background(false).in_memory().unwrap();
    let mut rng = fastrand::Rng::with_seed(3);
    let sketches: Vec<Sketch> = (0..20).map(|_| random(&mut rng)).collect();
    for (sketch, id) in sketches.iter().zip(0..) {
        let _ = db.insert(*sketch, id).unwrap();
    }
    db.flush().unwrap();
    for id in 0..20u64 {
        assert!(db.touch(id, 2026).unwrap() && db.touch(id, 2027).unwrap());
    }
    for is_flushed in [false, true] {
        for (sketch, id) in sketches.iter().zip(0..) {
            let found = db.query(*sketch, Within::Rule).unwrap();
            assert_eq!(found.iter().map(|m| m.id).collect::<Vec<_>>(), [DocId(id)], "{is_flushed}");
        }
        db.flush().unwrap();
    }
}

#[test]
fn a_query_of_a_few_leaves_needs_no_memory_for_pages() {
    let folder = tempfile::tempdir().unwrap();
    for memory in [0, 1, 4096] {
        let options = Options::sketches().page_memory(memory).background(false);
        let db = options.create(folder.path().join(memory.to_string())).unwrap();
        let mut rng = fastrand::Rng::with_seed(memory);
        let sketches: Vec<Sketch> = (0..100).map(|_| random(&mut rng)).collect();
        for (id, &sketch) in (0..).zip(&sketches) {
            db.insert(sketch, DocId(id)).unwrap();
        }
        db.flush().unwrap();
        for (id, &sketch) in (0..).zip(&sketches) {
            let found = db.query(sketch, Within::Rule).unwrap();
            assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [DocId(id)]);
        }
    }
}

#[test]
fn options_of_the_other_kind_of_database_are_refused() {
    let by_distance = Options::sketches().max_distance(3).in_memory().unwrap_err();
    let with_layout = Options::sketches().layout(Layout::preset("half-2", 64).unwrap()).in_memory();
    let with_filters = Options::sketches().filter_bits(8).in_memory();
    let user_ids = Options::sketches().ids(Ids::User).in_memory().unwrap_err();
    let by_similarity = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory().unwrap_err();
    for (error, says) in [
        (by_distance, "give a similarity"),
        (with_layout.unwrap_err(), "no layout, blocks or filters"),
        (with_filters.unwrap_err(), "no layout, blocks or filters"),
        (user_ids, "names or unique"),
        (by_similarity, "or store sketches"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn a_database_is_built_of_sketches_in_the_order_of_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(4);
    let sketches: Vec<Sketch> = (0..500).map(|_| random(&mut rng)).collect();
    let documents = sketches.iter().zip(0..);
    let documents = documents.map(|(&sketch, id)| Ok((None, Document::new(sketch, DocId(id)))));
    let path = folder.path().join("db");
    let report = Options::sketches().build(&path, Source::documents(None, 500, documents)).unwrap();
    assert_eq!(report.written, 500);
    let db = Options::sketches().open(&path).unwrap();
    for (sketch, id) in sketches.iter().zip(0..) {
        let found = db.query(*sketch, Within::Rule).unwrap();
        assert_eq!(found.iter().map(|m| m.id).collect::<Vec<_>>(), [DocId(id)]);
    }
    let entries = Source::entries(0, []);
    let error = Options::sketches().build(folder.path().join("other"), entries).unwrap_err();
    assert!(error.to_string().contains("give documents"), "{error}");
}
