//! Checking all of a file.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::cursor::LeafRecords;
use super::meta::Meta;
use super::reader::DocumentFile;
use crate::base::error::{Error, Result};
use crate::base::inspection::Inspection;
use crate::file::paged::{FileSummary, Sequential};
use crate::fingerprint::DocId;
use crate::fingerprint::Ids;

impl DocumentFile {
    /// Reads the entire file and, if its checksums match, checks what is in it.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if self.file.verify(expected, inspection)?
            && let Err(error) = self.check_all()
        {
            inspection.report(error);
        }
        Ok(())
    }

    /// Decodes all records. Checks that each is found by its key and by its id, and that the counts
    /// in the footer are right.
    fn check_all(&self) -> Result<()> {
        self.check_nodes()?;
        let mut found = Meta { greatest_id: 0, ..Meta::default() };
        let (mut reader, mut leaf, mut last) =
            (Sequential::new(self), LeafRecords::default(), Vec::new());
        while found.leaf_pages < self.meta.leaf_pages {
            let page = found.leaf_pages;
            leaf.read(reader.get()?, page)?;
            self.check_leaf(&leaf, page, &last, &mut found)?;
            if let Some((key, _)) = leaf.len().checked_sub(1).and_then(|i| leaf.get(i)) {
                last.clear();
                last.extend_from_slice(key);
            }
            found.leaf_pages += leaf.pages;
            found.key_bytes += leaf.keys_len as u64;
        }
        self.places.locator.check(&self.file)?;
        let Meta { inner_pages, depth, root, chunks, filter_blocks, .. } = self.meta;
        let found = Meta { inner_pages, depth, root, chunks, filter_blocks, ..found };
        if found == self.meta {
            return Ok(());
        }
        Err(self.damaged(0, "the documents are not those that the footer says"))
    }

    fn check_leaf(
        &self,
        leaf: &LeafRecords,
        page: u64,
        last: &[u8],
        found: &mut Meta,
    ) -> Result<()> {
        let damaged = |damage| Err(self.damaged_leaf(page, damage));
        for (key, document) in (0..leaf.len()).filter_map(|index| leaf.get(index)) {
            if key <= last {
                return damaged("a leaf does not follow the one before");
            }
            if !self.may_contain(self.hasher.hash(key))? {
                return damaged("a key is missing in the filter");
            }
            if self.ids == Ids::Names && std::str::from_utf8(key).is_err() {
                return damaged("a name is not valid UTF-8");
            }
            found.records += 1;
            let Some(document) = document else {
                found.removals += 1;
                continue;
            };
            found.duplicates += u64::from(document.duplicate_of.is_some());
            found.stamped += u64::from(document.stamp.is_some());
            found.greatest_id = found.greatest_id.max(document.id.0);
        }
        if self.ids == Ids::Names {
            self.check_ids(leaf, page)?;
        }
        // Since separators ascend, this holds for the keys between too.
        for index in [0, leaf.len().saturating_sub(1)] {
            let key = leaf.get(index).map_or(&[][..], |(key, _)| key);
            if self.leaf_with(key)? != page {
                return damaged("the inner nodes do not lead to the leaf of a key");
            }
        }
        Ok(())
    }

    /// Checks that the ids of a leaf differ, and that the locator names the leaf for each of them.
    /// It names one leaf per id, and has as many ids as there are documents: then it has no others.
    fn check_ids(&self, leaf: &LeafRecords, page: u64) -> Result<()> {
        let documents = (0..leaf.len()).filter_map(|index| leaf.get(index)?.1);
        let mut ids: Vec<DocId> = documents.map(|document| document.id).collect();
        ids.sort_unstable();
        let mut last = None;
        for id in ids {
            if last.replace(id) == Some(id) {
                return Err(self.damaged_leaf(page, "two documents have the same id"));
            }
            if self.places.locator.page_of(&self.file, id)? != Some(page) {
                let damage = "the locator does not name the leaf of an id";
                return Err(self.damaged_leaf(page, damage));
            }
        }
        Ok(())
    }

    /// Checks that the separators of all inner nodes ascend.
    fn check_nodes(&self) -> Result<()> {
        let (symbols, mut key) = (self.symbols()?, Vec::new());
        let mut page = 0;
        while page < self.meta.inner_pages {
            let node = self.node(page)?;
            let checked = node.separators.for_each(symbols, &mut key, |_| {});
            checked.map_err(|damage| self.damaged_node(page, damage))?;
            page += node.pages as u64;
        }
        Ok(())
    }

    fn damaged_node(&self, page: u64, damage: super::keys::Damage) -> Error {
        self.damaged(self.inner_at(page), damage)
    }
}
