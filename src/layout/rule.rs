//! Match rules: which differences between two fingerprints make a match.

use std::fmt;

use super::columns::columns_pay;
use super::jaccard::Jaccard;
use super::order::Permutation;
use super::recall;
use super::staircase::{Staircase, Step};
use super::{Layout, MAX_DISTANCE_64, MAX_DISTANCE_128};
use crate::codec::bytes::{Fields, PutFields};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Which differences between two fingerprints make them near-duplicates. Chosen when a database is
/// created, and stored in it.
///
/// - By *distance*: they match if they differ in at most [`distance`](Self::distance) bits.
/// - By *similarity*: in addition, at least one of the database's tables must accept the difference.
///   A table accepts it if few of the table's leading bits differ, for example at most 1 of the first
///   19 and at most 10 of the first 53. This misses a small, known [share](Self::found_at) of the
///   pairs within the distance, whose differing bits are spread unluckily. It needs a tenth of the
///   lookups that would find all of them.
///
/// Either way, whether two fingerprints match depends on nothing but the two and the rule. So the
/// order of writing, segments, compaction and threads do not matter, and if a matches b, then b
/// matches a.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, Jaccard, Options};
///
/// let db = Db::options().max_distance(6).in_memory()?;
/// assert_eq!(db.description().rule.to_string(), "distance 6");
/// let db = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory()?;
/// let rule = &db.description().rule;
/// assert!(rule.found_at(0.8) >= 0.95 && rule.found_at(0.4) < 0.01);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchRule {
    bits: u8,
    distance: u8,
    /// `None` if all differences within the distance match.
    similar: Option<Similar>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Similar {
    /// What was asked for.
    jaccard: Jaccard,
    /// The layout of the database.
    layout: Layout,
    /// What each table accepts: the first steps of its staircase, whose last step is the distance.
    /// None for a table that accepts nothing. All but possibly the last, the
    /// [tail](recall::split), are within the table's first cell, and each of these tables begins
    /// with another cell.
    steps: Vec<Vec<Step>>,
}

/// Distance from which lookups in columns take less time than in blocks: then they are so many that
/// decoding what they lead to takes most of it.
const MIN_COLUMNS_DISTANCE: u8 = 8;

impl MatchRule {
    /// Returns the rule by distance.
    pub(crate) fn within(bits: u32, distance: u32) -> Result<Self> {
        let most = Self::max_distance(bits);
        match u8::try_from(distance) {
            Ok(distance) if distance <= most => {
                Ok(Self { bits: narrow(bits), distance, similar: None })
            }
            _ => Err(Error::invalid(format!(
                "max distance {distance}: expected 0 to {most} at {bits} bits"
            ))),
        }
    }

    /// Makes a rule by similarity for a database with this layout. `steps` has the first steps of
    /// each table's staircase.
    pub(super) fn similar(
        layout: &Layout,
        distance: u8,
        jaccard: Jaccard,
        steps: Vec<Vec<Step>>,
    ) -> Self {
        let similar = Some(Similar { jaccard, layout: layout.clone(), steps });
        Self { bits: layout.bits, distance, similar }
    }

    /// Returns the largest distance that a database can be created for.
    pub(crate) fn max_distance(bits: u32) -> u8 {
        if bits > 64 { MAX_DISTANCE_128 } else { MAX_DISTANCE_64 }
    }

    /// Returns the number of bits beyond which fingerprints never match.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// assert_eq!(db.description().rule.distance(), 3);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distance.into()
    }

    /// Returns whether a database with this rule has tables of columns, unless it says otherwise.
    pub(crate) fn needs_columns(&self) -> bool {
        let is_wide = self.similar.is_some() || self.distance >= MIN_COLUMNS_DISTANCE;
        columns_pay(self.bits.into()) && is_wide
    }

    /// Returns the distance of a rule by distance.
    pub(crate) fn by_distance(&self) -> Option<u32> {
        self.similar.is_none().then_some(self.distance.into())
    }

    /// Returns the similarity that the database was created for; `None` for a rule by distance.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// assert!(db.description().rule.jaccard().is_none());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn jaccard(&self) -> Option<Jaccard> {
        self.similar.as_ref().map(|similar| similar.jaccard)
    }

    /// Returns the distance up to which every pair matches, however its differing bits are spread.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options};
    /// let db = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory()?;
    /// let rule = &db.description().rule;
    /// assert!(rule.exact_distance() < rule.distance());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn exact_distance(&self) -> u32 {
        let refused =
            self.similar.as_ref().map(|similar| least_refused(&similar.layout, &similar.steps));
        refused.map_or(self.distance(), |least| self.distance().min(least.saturating_sub(1)))
    }

    /// Returns the expected share, 0 to 1, of the pairs of this Jaccard similarity that match, for
    /// fingerprints of a one-bit MinHash recipe such as `pairs/1`: there, each bit differs
    /// with the probability (1 - similarity) / 2, independently of the others. For a rule by
    /// similarity, up to one percent more are found.
    ///
    /// ```
    /// use fpdb::{Jaccard, Options};
    /// let db = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory()?;
    /// for similarity in [0.5, 0.7, 0.8, 0.9] {
    ///     println!("{similarity}: {:.3}", db.description().rule.found_at(similarity));
    /// }
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn found_at(&self, similarity: f64) -> f64 {
        match &self.similar {
            None => recall::within(self.bits.into(), self.distance, similarity),
            Some(similar) => {
                recall::found(&similar.layout, self.distance, &similar.steps, similarity)
            }
        }
    }

    /// Returns the expected number of unrelated fingerprints that match a query among `entries`, at
    /// most.
    ///
    /// ```
    /// let db = fpdb::Db::options().in_memory()?;
    /// assert!(db.description().rule.false_matches(1_000_000) < 1e-8);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn false_matches(&self, entries: u64) -> f64 {
        let within = |similar: &Similar| {
            let heads = (0..).zip(&similar.steps);
            let heads: Vec<&[Step]> =
                heads.map(|(t, steps)| recall::split(&similar.layout, t, steps).0).collect();
            recall::found_by_heads(self.bits.into(), self.distance, &heads, 0.0)
        };
        let alone = || recall::within(self.bits.into(), self.distance, 0.0);
        entries as f64 * self.similar.as_ref().map_or_else(alone, within)
    }

    /// Makes a rule by similarity from its parts, for a database with this layout: for each table
    /// its [`steps`](Self::steps). `jaccard` is what the rule was made for. To make a new rule, use
    /// [`Options::similar`](crate::Options::similar); this is for one that was written down.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for parts that no rule has.
    ///
    /// ```
    /// use fpdb::{Jaccard, MatchRule, Options};
    /// let db = Options::bits128().similar(Jaccard::at_least(0.8)).in_memory()?;
    /// let (rule, layout) = (&db.description().rule, &db.description().layout);
    /// let steps: Vec<_> = (0..layout.tables()).map(|table| rule.steps(table)).collect();
    /// let same = MatchRule::of_steps(layout, rule.distance(), Jaccard::at_least(0.8), &steps)?;
    /// assert_eq!(same, *rule);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn of_steps(
        layout: &Layout,
        distance: u32,
        jaccard: Jaccard,
        steps: &[Vec<(u8, u8)>],
    ) -> Result<Self> {
        let within = Self::within(layout.bits(), distance)?;
        jaccard.check()?;
        let step = |&(depth, most): &(u8, u8)| Step { depth, most };
        let steps: Vec<Vec<Step>> =
            steps.iter().map(|table| table.iter().map(step).collect()).collect();
        check_steps(layout, within.distance, &steps).map_err(Error::invalid)?;
        Ok(Self::similar(layout, within.distance, jaccard, steps))
    }

    /// Returns the steps of a table, for a rule by similarity: how many leading bits in the table's
    /// bit order, and how many of these may differ. The table accepts a difference that exceeds
    /// none of them. None for a table that accepts nothing, and for a rule by distance.
    #[must_use]
    pub fn steps(&self, table: usize) -> Vec<(u8, u8)> {
        let steps = self.similar.as_ref().and_then(|similar| similar.steps.get(table));
        steps.into_iter().flatten().map(|step| (step.depth, step.most)).collect()
    }

    /// Returns the layout that a rule by similarity is for.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.similar.as_ref().map(|similar| &similar.layout)
    }

    /// Returns the layout's staircases: the tables, and what each accepts.
    pub(super) fn staircases(&self) -> impl Iterator<Item = (usize, Staircase)> {
        let all = self.similar.iter().flat_map(|similar| similar.steps.iter().enumerate());
        all.filter(|(_, steps)| !steps.is_empty())
            .map(|(table, steps)| (table, Staircase::new(steps.clone(), self.bits, self.distance)))
    }

    /// Returns what the tables of this layout accept; `None` for a rule by distance.
    pub(crate) fn tables<F: Fingerprint>(&self, layout: &Layout) -> Option<RuleTables<F>> {
        self.similar.as_ref()?;
        let table = |(number, stairs)| {
            let order = layout.permutation(number);
            TableStairs { number, order, stairs }
        };
        Some(RuleTables(self.staircases().map(table).collect()))
    }

    /// Appends the rule in its stored form; storage-format.md, "Match rule".
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(self.distance);
        let Some(Similar { jaccard, steps, .. }) = &self.similar else { return out.put_u8(0) };
        out.put_u8(1);
        jaccard.encode(out);
        for steps in steps {
            out.put_u8(u8::try_from(steps.len()).unwrap_or(0));
            for step in steps {
                out.put_u8(step.depth);
                out.put_u8(step.most);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, for a database with this layout.
    pub(crate) fn decode(fields: &mut Fields<'_>, layout: &Layout) -> Result<Self> {
        let distance = fields.u8("max distance")?;
        let mut rule = Self::within(layout.bits(), distance.into())
            .map_err(|error| fields.corruption(error.to_string()))?;
        match fields.u8("kind of match rule")? {
            0 => return Ok(rule),
            1 => {}
            other => return Err(fields.corruption(format!("kind of match rule {other}"))),
        }
        let jaccard = Jaccard::decode(fields)?;
        let mut tables = Vec::with_capacity(layout.tables());
        for _ in 0..layout.tables() {
            let mut table = Vec::new();
            for _ in 0..fields.u8("number of steps")? {
                let (depth, most) = (fields.u8("depth of a step")?, fields.u8("limit of a step")?);
                table.push(Step { depth, most });
            }
            tables.push(table);
        }
        check_steps(layout, distance, &tables).map_err(|what| fields.corruption(what))?;
        rule.similar = Some(Similar { jaccard, layout: layout.clone(), steps: tables });
        Ok(rule)
    }
}

impl Layout {
    /// Returns the first table of each leading cell.
    pub(super) fn homes(&self) -> Vec<usize> {
        let first = |table: usize| self.order(table).first();
        let is_new = |&table: &usize| !(0..table).any(|before| first(before) == first(table));
        (0..self.tables()).filter(is_new).collect()
    }

    /// Returns the `depth` leading bits of a table in the unpermuted word.
    pub(super) fn leading(&self, table: usize, depth: u8) -> u128 {
        let mut left = u32::from(depth);
        self.order(table).iter().fold(0, |bits, &cell| {
            let cell = usize::from(cell);
            let start: u32 = self.cells[..cell].iter().map(|&width| u32::from(width)).sum();
            let end = start + left.min(self.cells[cell].into());
            left -= end - start;
            bits | u128::prefix_mask(end) & !u128::prefix_mask(start)
        }) >> (128 - self.bits())
    }

    pub(super) fn first_cell(&self, table: usize) -> u8 {
        let cell = self.order(table).first().map(|&cell| usize::from(cell));
        cell.and_then(|cell| self.cells.get(cell)).copied().unwrap_or(0)
    }
}

/// As it is given to [`Options`](crate::Options): `distance 3`, or `Jaccard similarity at least 0.8`.
impl fmt::Display for MatchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.similar {
            None => write!(f, "distance {}", self.distance),
            Some(similar) => write!(f, "{}", similar.jaccard),
        }
    }
}

/// Refuses steps that no rule by similarity has; storage-format.md, "Match rule".
fn check_steps(
    layout: &Layout,
    distance: u8,
    tables: &[Vec<Step>],
) -> std::result::Result<(), &'static str> {
    if tables.len() != layout.tables() {
        return Err("the match rule does not have steps for each table");
    }
    for steps in tables {
        let rises = steps.is_sorted_by(|a, b| a.depth < b.depth && a.most < b.most);
        let is_step = |s: &Step| (1..layout.bits).contains(&s.depth) && s.most < distance;
        if !rises || !steps.iter().all(is_step) {
            return Err("the steps of a table do not rise");
        }
    }
    if tables.iter().all(Vec::is_empty) {
        return Err("the match rule accepts nothing");
    }
    let homes = layout.homes();
    for (table, steps) in tables.iter().enumerate() {
        let (head, _) = recall::split(layout, table, steps);
        let depth = head.last().map_or(0, |step| step.depth);
        let is_home = homes.contains(&table);
        if depth > layout.first_cell(table)
            || head.is_empty() != steps.is_empty()
            || depth > 0 && !is_home
        {
            return Err("the steps of different tables overlap");
        }
    }
    Ok(())
}

/// Its text, its distance and, for a rule by similarity, what was asked for.
#[cfg(feature = "serde")]
impl serde::Serialize for MatchRule {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("MatchRule", 3)?;
        fields.serialize_field("distance", &self.distance)?;
        fields.serialize_field("jaccard", &self.jaccard().map(Jaccard::similarity))?;
        fields.serialize_field("recall", &self.jaccard().map(Jaccard::expected_recall))?;
        fields.end()
    }
}

/// Returns a lower bound of the errors that it takes to be refused by all of these tables.
///
/// A table refuses a difference by its head or by its tail. The heads of different tables are
/// disjoint. So if some tables refuse by their tails, any one of these tails has as many errors as
/// it refuses, and the heads of the other tables have theirs, unless they overlap that tail. And no
/// error is in more tails than overlap somewhere.
fn least_refused(layout: &Layout, tables: &[Vec<Step>]) -> u32 {
    let searched = (0..).zip(tables).filter(|(_, steps)| !steps.is_empty());
    let searched: Vec<Refusal> =
        searched.map(|(table, steps)| Refusal::of(layout, table, steps)).collect();
    let by_heads: u32 = searched.iter().map(|table| table.by_head).sum();
    let Some(by_tail) = searched.iter().filter_map(|table| table.by_tail).min() else {
        return by_heads;
    };
    if searched.len() > MAX_COMBINED {
        return by_heads.min(by_tail);
    }
    let overlapping = |bit: u32| searched.iter().map(|t| u32::from(t.tail >> bit & 1 == 1)).sum();
    let most_overlapping: u32 = (0..128).map(overlapping).max().unwrap_or(1).max(1);
    let by_tails = |combination: u32| {
        let refuses_by_tail = |at: usize| combination >> at & 1 == 1;
        let others = |tail: u128| -> u32 {
            let heads = searched.iter().enumerate().filter(|(at, _)| !refuses_by_tail(*at));
            heads.filter(|(_, t)| t.head & tail == 0).map(|(_, t)| t.by_head).sum()
        };
        let tails = searched.iter().enumerate().filter(|(at, _)| refuses_by_tail(*at));
        let one = tails.map(|(_, t)| t.by_tail.unwrap_or(u32::MAX).saturating_add(others(t.tail)));
        let all = combination.count_ones() * by_tail;
        one.max().unwrap_or(0).max(all / most_overlapping)
    };
    (1..1 << searched.len()).map(by_tails).min().map_or(by_heads, |least| least.min(by_heads))
}

/// Most tables of which all combinations are looked at.
const MAX_COMBINED: usize = 10;

/// What it takes to be refused by a table.
struct Refusal {
    /// The bits of the head, in the unpermuted word, and the errors in them that it refuses.
    head: u128,
    by_head: u32,
    /// The same for the tail; no bits without one.
    tail: u128,
    by_tail: Option<u32>,
}

impl Refusal {
    fn of(layout: &Layout, table: usize, steps: &[Step]) -> Self {
        let (head, tail) = recall::split(layout, table, steps);
        let refused = |step: &Step| u32::from(step.most) + 1;
        Self {
            head: layout.leading(table, head.last().map_or(0, |step| step.depth)),
            by_head: head.iter().map(refused).min().unwrap_or(0),
            tail: layout.leading(table, tail.map_or(0, |step| step.depth)),
            by_tail: tail.as_ref().map(refused),
        }
    }
}

fn narrow(bits: u32) -> u8 {
    if bits > 64 { 128 } else { 64 }
}

/// What a table accepts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableStairs<F> {
    pub(crate) number: usize,
    pub(crate) order: Permutation<F>,
    pub(crate) stairs: Staircase,
}

/// What the tables of a database accept: its rule by similarity, ready to apply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleTables<F>(pub(crate) Box<[TableStairs<F>]>);

impl<F: Fingerprint> RuleTables<F> {
    /// Returns whether some table accepts the difference, which is not permuted. Out of the way of
    /// loops over fingerprints, few of which are near enough for this.
    #[cold]
    #[inline(never)]
    fn accept(&self, error: F) -> bool {
        self.0.iter().any(|table| table.stairs.accepts(table.order.apply(error)))
    }
}

/// Decides which differences make a match: those within a distance and, if there is a rule by
/// similarity, accepted by some table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchTest<'a, F> {
    pub(crate) distance: u32,
    pub(crate) tables: Option<&'a RuleTables<F>>,
}

impl<F: Fingerprint> MatchTest<'_, F> {
    /// Returns whether this difference, which is within the distance, makes a match.
    #[inline(always)]
    pub(crate) fn accepts(&self, error: F) -> bool {
        self.tables.is_none_or(|tables| tables.accept(error))
    }
}
