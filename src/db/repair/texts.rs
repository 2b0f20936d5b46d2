//! The texts of a damaged index of passages.

use std::collections::BTreeSet;
use std::path::Path;

use crate::base::error::Result;
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::settings::{IndexEntry, PassageSettings};

/// A text with a record.
struct Text {
    id: DocId,
    /// How many windows it has, and how many of them were read.
    windows: u32,
    read: u32,
}

/// Which texts an index still has, and which windows of each. Takes 16 bytes per text.
pub(super) struct Texts {
    settings: PassageSettings,
    /// By their ids.
    recorded: Vec<Text>,
    /// Those of which only windows are left.
    others: BTreeSet<DocId>,
}

impl Texts {
    /// Reads the records of an index from its entries, in order.
    pub(super) fn of<F: Fingerprint>(
        settings: PassageSettings,
        entries: impl Iterator<Item = Result<Entry<F>>>,
    ) -> Result<Self> {
        let mut recorded: Vec<Text> = Vec::new();
        for entry in entries {
            // Of several records, which only lost removals leave, the index uses the first.
            if let IndexEntry::Record(id, record) = read(settings, entry?)
                && recorded.last().is_none_or(|last| last.id < id)
            {
                recorded.push(Text { id, windows: record.windows, read: 0 });
            }
        }
        Ok(Self { settings, recorded, others: BTreeSet::new() })
    }

    /// Counts an entry. Returns whether the new index has it: windows of a text without a record
    /// would be those of another text that is inserted with the same id.
    pub(super) fn keep<F: Fingerprint>(&mut self, entry: &Result<Entry<F>>) -> bool {
        let Ok(entry) = entry else { return true };
        let IndexEntry::Window(id) = read(self.settings, *entry) else { return true };
        let text = self.recorded.binary_search_by_key(&id, |text| text.id);
        match text.ok().and_then(|at| self.recorded.get_mut(at)) {
            Some(text) => text.read = text.read.saturating_add(1),
            None => {
                self.others.insert(id);
                return false;
            }
        }
        true
    }

    /// Reports which texts are lost and, if anything is lost that may have been windows, which ones
    /// may have lost some.
    pub(super) fn report(self, root: &Path, report: &mut BuildReport) {
        let is_lost = report.losses.iter().any(|loss| loss.kind != LossKind::Removals);
        let incomplete = self.recorded.iter().filter(|text| is_lost && text.read < text.windows);
        let incomplete = incomplete.map(|text| text.id).collect();
        let lost = self.others.into_iter().collect();
        for (kind, ids) in [(LossKind::Texts, lost), (LossKind::Windows, incomplete)] {
            let ids: Vec<DocId> = ids;
            if !ids.is_empty() {
                let loss = Loss::new(kind, Some(ids.len() as u64), root.to_owned());
                report.losses.push(Loss { ids, ..loss });
            }
        }
    }
}

fn read<F: Fingerprint>(settings: PassageSettings, entry: Entry<F>) -> IndexEntry {
    settings.read(Entry { fingerprint: entry.fingerprint.top64(), id: entry.id })
}
