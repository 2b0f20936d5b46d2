//! The entries of several sources as one sequence, in order of fingerprint and id.
//!
//! Sources have an age; what a newer one says of an entry comes on top of what an older one says.
//! Snapshots iterate over all sources, flush over one, compaction over a run of segments.

use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Net;
use crate::postings::Ids;
use crate::segment::Segment;
use crate::table::Cursor;

/// An entry with the sum of what the sources say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Merged<F> {
    pub entry: Entry<F>,
    pub net: Net,
    /// Some source holds the entry, be it removed by a newer one or not: its fingerprint has a row
    /// in that source's tables.
    pub held: bool,
}

/// One source, in order.
pub(crate) trait Source<F> {
    fn current(&self) -> Option<(Entry<F>, Net)>;
    fn advance(&mut self) -> Result<()>;
}

/// Changes gathered in memory.
#[derive(Debug)]
pub(crate) struct Changes<F>(std::vec::IntoIter<(Entry<F>, Net)>);

impl<F> Changes<F> {
    /// `changes` in ascending order.
    pub(crate) fn new(changes: Vec<(Entry<F>, Net)>) -> Self {
        Self(changes.into_iter())
    }
}

impl<F: Fingerprint> Source<F> for Changes<F> {
    fn current(&self) -> Option<(Entry<F>, Net)> {
        self.0.as_slice().first().copied()
    }

    fn advance(&mut self) -> Result<()> {
        self.0.next();
        Ok(())
    }
}

/// A segment's entries and tombstones.
pub(crate) struct SegmentSource<'a, F> {
    segment: &'a Segment<F>,
    cursor: Cursor<'a, F>,
    ids: Option<Ids<'a>>,
    held: Option<Entry<F>>,
    tombstones: Box<dyn Iterator<Item = Result<Entry<F>>> + Send + 'a>,
    removed: Option<Entry<F>>,
}

impl<'a, F: Fingerprint> SegmentSource<'a, F> {
    /// Stands at the first entry whose fingerprint is at least `low`; `None` for an empty segment.
    pub(crate) fn new(segment: &'a Segment<F>, low: F) -> Result<Option<Self>> {
        let Some(table) = segment.identity_table() else { return Ok(None) };
        let cursor = table.cursor(low)?;
        let tombstones: Box<dyn Iterator<Item = _> + Send> = match segment.tombstones() {
            Some(tombstones) => {
                let from = tombstones.lower_bound(Entry { fingerprint: low, id: DocId(0) })?;
                Box::new(tombstones.iter_from(from))
            }
            None => Box::new(std::iter::empty()),
        };
        let mut source = Self { segment, cursor, ids: None, held: None, tombstones, removed: None };
        source.open_ids()?;
        source.next_held()?;
        source.next_removed()?;
        Ok(Some(source))
    }

    fn open_ids(&mut self) -> Result<()> {
        self.ids = match self.cursor.current() {
            Some(_) => {
                let (block, index) = self.cursor.place();
                Some(self.segment.ids_at(block, index)?)
            }
            None => None,
        };
        Ok(())
    }

    fn next_held(&mut self) -> Result<()> {
        loop {
            let Some(fingerprint) = self.cursor.current() else {
                self.held = None;
                return Ok(());
            };
            if let Some(id) = self.ids.as_mut().and_then(Iterator::next) {
                self.held = Some(Entry { fingerprint, id });
                return Ok(());
            }
            self.cursor.advance()?;
            self.open_ids()?;
        }
    }

    fn next_removed(&mut self) -> Result<()> {
        self.removed = self.tombstones.next().transpose()?;
        Ok(())
    }
}

impl<F: Fingerprint> Source<F> for SegmentSource<'_, F> {
    fn current(&self) -> Option<(Entry<F>, Net)> {
        let entry = match (self.held, self.removed) {
            (Some(held), Some(removed)) => held.min(removed),
            (held, removed) => held.or(removed)?,
        };
        let (inserted, removes_older) = (self.held == Some(entry), self.removed == Some(entry));
        Some((entry, Net { removes_older, inserted }))
    }

    fn advance(&mut self) -> Result<()> {
        let Some((_, net)) = self.current() else { return Ok(()) };
        if net.inserted {
            self.next_held()?;
        }
        if net.removes_older {
            self.next_removed()?;
        }
        Ok(())
    }
}

/// Merges sources, oldest first. After an error it ends.
pub(crate) struct Merge<'a, F> {
    sources: Vec<Box<dyn Source<F> + Send + 'a>>,
}

impl<'a, F: Fingerprint> Merge<'a, F> {
    /// Over segments, oldest first, from their first entry on.
    pub(crate) fn of_segments(
        segments: impl IntoIterator<Item = &'a Segment<F>>,
        low: F,
    ) -> Result<Self> {
        let mut sources: Vec<Box<dyn Source<F> + Send + 'a>> = Vec::new();
        for segment in segments {
            if let Some(source) = SegmentSource::new(segment, low)? {
                sources.push(Box::new(source));
            }
        }
        Ok(Self { sources })
    }

    /// Adds a source newer than the others.
    pub(crate) fn push(&mut self, source: impl Source<F> + Send + 'a) {
        self.sources.push(Box::new(source));
    }

    fn next_merged(&mut self) -> Result<Option<Merged<F>>> {
        let Some(entry) = self.sources.iter().filter_map(|s| s.current()).map(|(e, _)| e).min()
        else {
            return Ok(None);
        };
        let mut merged = Merged { entry, net: Net::default(), held: false };
        for source in &mut self.sources {
            let Some((_, net)) = source.current().filter(|&(e, _)| e == entry) else { continue };
            if net.removes_older {
                merged.net.apply(false);
            }
            if net.inserted {
                merged.net.apply(true);
                merged.held = true;
            }
            source.advance()?;
        }
        Ok(Some(merged))
    }
}

impl<F: Fingerprint> Iterator for Merge<'_, F> {
    type Item = Result<Merged<F>>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_merged().transpose();
        if matches!(next, Some(Err(_))) {
            self.sources.clear();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const HOLDS: Net = Net { removes_older: false, inserted: true };
    const REMOVES: Net = Net { removes_older: true, inserted: false };
    const REPLACES: Net = Net { removes_older: true, inserted: true };

    fn changes(list: &[(u64, u64, Net)]) -> Box<dyn Source<u64> + Send> {
        let entry = |f, id| Entry { fingerprint: f, id: DocId(id) };
        Box::new(Changes::new(list.iter().map(|&(f, id, net)| (entry(f, id), net)).collect()))
    }

    #[test]
    fn newer_sources_come_on_top_of_older_ones() {
        let oldest = changes(&[(1, 1, HOLDS), (2, 1, HOLDS), (5, 1, REMOVES), (6, 6, HOLDS)]);
        let middle = changes(&[(1, 1, REMOVES), (2, 2, HOLDS), (5, 1, HOLDS)]);
        let newest = changes(&[(1, 1, HOLDS), (2, 1, REMOVES), (4, 4, REMOVES), (6, 6, REPLACES)]);
        let merged: Vec<_> =
            Merge { sources: vec![oldest, middle, newest] }.map(Result::unwrap).collect();
        let as_tuple = |m: &Merged<u64>| (m.entry.fingerprint, m.entry.id.0, m.net, m.held);
        let gone = Net::default();
        assert_eq!(
            merged.iter().map(as_tuple).collect::<Vec<_>>(),
            [
                (1, 1, HOLDS, true),
                (2, 1, gone, true),
                (2, 2, HOLDS, true),
                (4, 4, REMOVES, false),
                (5, 1, REPLACES, true),
                (6, 6, HOLDS, true),
            ]
        );
    }

    struct Broken;
    impl Source<u64> for Broken {
        fn current(&self) -> Option<(Entry<u64>, Net)> {
            Some((Entry { fingerprint: 0, id: DocId(0) }, HOLDS))
        }
        fn advance(&mut self) -> Result<()> {
            Err(Error::corruption("broken"))
        }
    }

    #[test]
    fn after_an_error_there_is_nothing() {
        let mut merge = Merge { sources: vec![Box::new(Broken), changes(&[(7, 7, HOLDS)])] };
        assert!(merge.next().unwrap().is_err());
        assert!(merge.next().is_none());
    }
}
