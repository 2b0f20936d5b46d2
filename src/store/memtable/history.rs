//! The changes of an entry.

/// What a commit did to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) seq: u64,
    pub(super) inserted: bool,
}

/// The changes of one entry. Nearly all entries have exactly one.
#[derive(Debug)]
pub(super) struct History {
    first: Change,
    /// The others, oldest first.
    #[expect(clippy::box_collection, reason = "one word, since it is nearly always empty")]
    more: Option<Box<Vec<Change>>>,
    /// The sum of all changes.
    pub(super) net: Net,
}

impl History {
    pub(super) fn new(first: Change) -> Self {
        let mut net = Net::default();
        net.apply(first.inserted);
        Self { first, more: None, net }
    }

    pub(super) fn push(&mut self, change: Change) {
        self.net.apply(change.inserted);
        self.more.get_or_insert_default().push(change);
    }

    pub(super) fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        [&self.first].into_iter().chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// Returns the last change up to and including commit `seq`.
    pub(super) fn at(&self, seq: u64) -> Option<Change> {
        self.changes().rev().find(|c| c.seq <= seq).copied()
    }

    /// Returns the sum of all changes up to and including commit `seq`.
    pub(super) fn net(&self, seq: u64) -> Net {
        if self.changes().next_back().is_some_and(|last| last.seq <= seq) {
            return self.net;
        }
        let mut net = Net::default();
        for change in self.changes().filter(|c| c.seq <= seq) {
            net.apply(change.inserted);
        }
        net
    }
}

/// The sum of the changes to one entry within one source, or within several merged sources: it may
/// remove the entry from older sources, and it may insert the entry again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Net {
    pub removes_older: bool,
    pub inserted: bool,
}

impl Net {
    pub(crate) fn apply(&mut self, inserted: bool) {
        match (inserted, self.inserted) {
            (true, _) => self.inserted = true,
            // The entry was inserted in this source: older sources do not have it.
            (false, true) => self.inserted = false,
            (false, false) => self.removes_older = true,
        }
    }

    /// Returns by how much the number of live entries grows, compared with the older sources.
    pub(super) fn gain(self) -> i64 {
        i64::from(self.inserted) - i64::from(self.removes_older)
    }
}
