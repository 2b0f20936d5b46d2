//! All pairs of a database of sketches.
//!
//! Documents that share a band are next to each other in the table of that band. So each table is
//! read once, range by range, and the documents of each band are compared. A pair that shares
//! several bands is reported for the first of them, so nothing has to be remembered. If the
//! documents of a band do not fit in memory, they are divided into shares by their sketches, and
//! every two shares are compared.

use super::search::{PairOptions, Search};
use super::visitor::Sink;
use crate::base::cpu;
use crate::base::error::{Error, Result};
use crate::base::progress::{Meter, Phase};
use crate::fingerprint::{DocId, Entry, Fingerprint, Sketch};
use crate::index::bands::SketchTest;
use crate::query::View;

/// About how many documents of a table have bands of one range.
const OF_RANGE: u64 = if cfg!(test) { 1 << 4 } else { 1 << 16 };
/// Most bits of the number of a range. Each table has as many bits of its bands.
const RANGE_BITS: u32 = 16;

/// Bands of a table that begin with the same bits.
#[derive(Debug, Clone, Copy)]
struct BandRange {
    table: u32,
    low: u64,
    high: u64,
}

/// The least number of documents in a share, however little memory is given. Smaller shares would
/// be read too often.
const FIT: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// A band, and where a document is that has it: the source, and there the page of the leaf, or the
/// place among the recent documents.
type Place = (u64, usize, u32);

/// Finds what there is, until `is_stopped`.
pub(super) fn run(
    search: &Search<'_, Sketch>,
    sink: &Sink<'_, Sketch>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<()> {
    let documents = search.reader.len();
    let within = search.options.within;
    let test = search.reader.planner.bands().test(within);
    if !test.shares_band {
        return Err(Error::invalid(format!(
            "pairs of sketches are found by the rule, or within a distance that is less than the \
             number of bands, and not within {within}"
        )));
    }
    search.reader.read(|view| {
        let ranges: Vec<BandRange> = band_ranges(documents, test.rule.bands).collect();
        let PairOptions { memory, threads, .. } = search.options;
        // Two shares are in memory at the same time.
        let fitting = memory / threads as u64 / 2 / size_of::<Entry<Sketch>>() as u64;
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX).max(FIT);
        let recent = recent(view);
        let meter = Meter::new(&search.reader.watch, Phase::Search, None);
        meter.begin(Phase::Search, documents * u64::from(test.rule.bands))?;
        search.in_parallel(&ranges, is_stopped, |range| {
            let found = RangeSearch { view, test: &test, recent: &recent, range, fitting, sink };
            meter.advance(found.run(&|| meter.check())?)
        })?;
        meter.finish();
        Ok(())
    })
}

/// Returns the ranges of all tables, in order.
fn band_ranges(documents: u64, bands: u32) -> impl Iterator<Item = BandRange> {
    let bits = (documents / OF_RANGE).checked_ilog2().unwrap_or(0).min(RANGE_BITS);
    let rest = u64::MAX >> bits;
    (0..bands).flat_map(move |table| {
        (0..1u64 << bits).map(move |number| {
            let low = number.checked_shl(u64::BITS - bits).unwrap_or(0);
            BandRange { table, low, high: low | rest }
        })
    })
}

/// Returns the originals in memtables, without those that a newer memtable replaces.
fn recent(view: &View<'_, Sketch>) -> Vec<Entry<Sketch>> {
    let memtables: Vec<_> = view.version.memtables().collect();
    let mut recent = Vec::new();
    for (number, memtable) in memtables.iter().enumerate() {
        let (mut documents, mut key) = (memtable.documents(view.seq, None), Vec::new());
        let entries = std::iter::from_fn(|| documents.next(&mut key).map(|it| it?.entry()));
        let newer = &memtables[number + 1..];
        let is_last = |&e: &Entry<_>| newer.iter().all(|m| m.state(e, view.seq).is_none());
        recent.extend(entries.flatten().filter(is_last));
    }
    recent
}

/// The search of one range.
struct RangeSearch<'a> {
    view: &'a View<'a, Sketch>,
    test: &'a SketchTest<'a>,
    recent: &'a [Entry<Sketch>],
    range: &'a BandRange,
    /// How many documents of a band may be in a share.
    fitting: usize,
    sink: &'a Sink<'a, Sketch>,
}

impl RangeSearch<'_> {
    /// Passes all pairs to the sink. Returns the number of rows. `check` is called for each row
    /// that shares its band.
    fn run(&self, check: &dyn Fn() -> Result<()>) -> Result<u64> {
        let (places, mask) = self.places()?;
        for same in places.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let shares = same.len().div_ceil(self.fitting) as u64;
            for number in 0..shares {
                let own = self.entries(same, mask, (number, shares), check)?;
                let own = classes(&own);
                for same in own.chunk_by(|a, b| self.band_of(a) == self.band_of(b)) {
                    self.compare_share(same, check)?;
                }
                for number in number + 1..shares {
                    let others = self.entries(same, mask, (number, shares), check)?;
                    let others = classes(&others);
                    for class in &own {
                        check()?;
                        let band = self.band_of(class);
                        let start = others.partition_point(|other| self.band_of(other) < band);
                        let end = others.partition_point(|other| self.band_of(other) <= band);
                        self.compare(class, &others[start..end])?;
                    }
                }
            }
        }
        Ok(places.len() as u64)
    }

    fn band_of(&self, class: &[Entry<Sketch>]) -> u64 {
        class.first().map_or(0, |entry| self.band(&entry.fingerprint))
    }

    fn band(&self, sketch: &Sketch) -> u64 {
        sketch.band(self.range.table, self.test.rule.minima)
    }

    /// Returns the places of all documents of the range, by band, and which bits of bands count:
    /// those that all tables have.
    fn places(&self) -> Result<(Vec<Place>, u64)> {
        let BandRange { table, low, high } = *self.range;
        let mut places = Vec::new();
        let mut mask = u64::MAX;
        for (source, segment) in self.view.version.segments.iter().enumerate() {
            let bands = segment.bands().and_then(|part| part.tables().get(table as usize));
            let Some(bands) = bands else { continue };
            let view = bands.view();
            mask &= bands.band_mask();
            view.for_each_row(view.bucket(low)..view.bucket(high) + 1, &mut |row| {
                places.push((row.band(), source, row.page()));
            })?;
        }
        let segments = self.view.version.segments.len();
        places.extend(
            (0..).zip(self.recent).map(|(number, e)| (self.band(&e.fingerprint), segments, number)),
        );
        places.retain(|place| (low..=high).contains(&place.0));
        places.iter_mut().for_each(|place| place.0 &= mask);
        places.sort_unstable();
        Ok((places, mask))
    }

    /// Returns the live documents of one share, sorted by band, sketch and id. `places` agree in
    /// the band as far as it is known. The share is given by its number and the number of shares;
    /// equal sketches are in the same share.
    fn entries(
        &self,
        places: &[Place],
        mask: u64,
        (number, shares): (u64, u64),
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Entry<Sketch>>> {
        let segments = &self.view.version.segments;
        let (mut entries, mut found) = (Vec::new(), Vec::new());
        let mut last = None;
        let is_in_share = |sketch: &Sketch| share_of(sketch, shares) == number;
        for &(band, source, place) in places {
            check()?;
            // Several documents of a leaf may have the band.
            if source == segments.len() {
                let recent = self.recent.get(place as usize);
                entries.extend(recent.filter(|entry| is_in_share(&entry.fingerprint)));
                continue;
            }
            let Some(documents) = segments[source].documents() else { continue };
            if last.replace((source, place)) == Some((source, place)) {
                continue;
            }
            let is_same = |sketch: &Sketch| self.band(sketch) & mask == band && is_in_share(sketch);
            found.clear();
            documents.find_in_leaf(
                place,
                &[()],
                |(), sketch| is_same(sketch).then_some(0),
                |(), of_band| found.push(of_band),
            )?;
            documents.for_each_found(&found, |key, document, _| {
                if !self.view.is_replaced(key, source + 1)? {
                    entries.extend(document.entry());
                }
                Ok(())
            })?;
        }
        let band = |entry: &Entry<Sketch>| self.band(&entry.fingerprint);
        entries.sort_unstable_by_key(|entry| (band(entry), entry.fingerprint, entry.id));
        Ok(entries)
    }

    /// Compares documents that share the band, in classes of those with equal sketches.
    fn compare_share(
        &self,
        classes: &[&[Entry<Sketch>]],
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        for (number, class) in classes.iter().enumerate() {
            check()?;
            if class.len() > 1 && self.range.table == 0 {
                let ids: Vec<DocId> = class.iter().map(|entry| entry.id).collect();
                (self.sink.group)(class[0].fingerprint, &ids, 0)?;
            }
            self.compare(class, &classes[number + 1..])?;
        }
        Ok(())
    }

    /// Compares the documents of a class with those of others.
    fn compare(&self, class: &[Entry<Sketch>], others: &[&[Entry<Sketch>]]) -> Result<()> {
        let sketch = &class[0].fingerprint;
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for other in others {
                    let other_sketch = &other[0].fingerprint;
                    let band = self.range.table;
                    if let Some(distance) =
                        self.test.distance_in_first_band(sketch, other_sketch, band)
                    {
                        let (a, b) =
                            if sketch < other_sketch { (class, *other) } else { (*other, class) };
                        (self.sink.between)(a, b, distance)?;
                    }
                }
                Ok(())
            },
        )
    }
}

/// Returns the groups of documents that have equal sketches.
fn classes(sorted: &[Entry<Sketch>]) -> Vec<&[Entry<Sketch>]> {
    sorted.chunk_by(|a, b| a.fingerprint == b.fingerprint).collect()
}

/// Returns which of this many shares a sketch belongs to.
fn share_of(sketch: &Sketch, shares: u64) -> u64 {
    let hash = u128::from(sketch.folded().wrapping_mul(0x9e37_79b9_7f4a_7c15));
    u64::try_from((hash * u128::from(shares)) >> 64).unwrap_or(0)
}
