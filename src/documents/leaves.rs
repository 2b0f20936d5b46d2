//! Documents by the leaf that has them, for tables that refer to leaves.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::Document;
use super::leaf::Leaf;
use super::reader::DocumentFile;
use super::typed::{Documents, decode};
use crate::base::cpu;
use crate::base::error::Result;
use crate::file::paged::Sequential;
use crate::fingerprint::Fingerprint;

/// About how many originals of a scan of all leaves are passed on at a time.
const FOUND_AT_ONCE: usize = if cfg!(test) { 1 << 5 } else { 1 << 12 };

/// An original that was found in a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundInLeaf {
    pub distance: u32,
    /// The page of the leaf.
    pub page: u32,
    /// The place in the leaf.
    place: usize,
}

impl<F: Fingerprint> Documents<F> {
    /// Passes the page of each leaf to `visit`, in order, with the fingerprints of its originals.
    pub(crate) fn for_each_leaf(
        &self,
        mut visit: impl FnMut(u32, &[F]) -> Result<()>,
    ) -> Result<()> {
        let (mut reader, mut originals, mut page) = (Sequential::new(&**self), Vec::new(), 0);
        while page < self.meta.leaf_pages {
            let leaf = reader.get()?.leaf(page)?;
            originals.clear();
            leaf.for_each_original(|_, fingerprint| originals.push(fingerprint));
            visit(u32::try_from(page).unwrap_or(u32::MAX), &originals)?;
            page += leaf.pages as u64;
        }
        Ok(())
    }

    /// Compares the originals of a leaf with each query, and passes those for which `distance`
    /// returns a distance to `visit`. Returns how many the leaf has.
    pub(crate) fn find_in_leaf<Q>(
        &self,
        page: u32,
        queries: &[Q],
        distance: impl Fn(&Q, &F) -> Option<u32>,
        visit: impl FnMut(&Q, FoundInLeaf),
    ) -> Result<u64> {
        Ok(find_in(&self.leaf(page.into())?, page, queries, &distance, visit))
    }

    /// Passes the originals of all leaves for which `distance` returns a distance to `visit`, some
    /// at a time, in order. Returns how many leaves and originals there are.
    pub(crate) fn find_in_all_leaves(
        &self,
        distance: impl Fn(&F) -> Option<u32>,
        mut visit: impl FnMut(&[FoundInLeaf]) -> Result<()>,
    ) -> Result<(u64, u64)> {
        let (mut leaves, mut originals, mut found) = (0, 0, Vec::new());
        let (mut reader, mut page) = (Sequential::new(&**self), 0u32);
        while u64::from(page) < self.meta.leaf_pages {
            let leaf = reader.get()?.leaf(page.into())?;
            leaves += 1;
            let distance = |_: &(), original: &F| distance(original);
            originals += find_in(&leaf, page, &[()], &distance, |_, it| found.push(it));
            page += u32::try_from(leaf.pages).unwrap_or(u32::MAX);
            if found.len() >= FOUND_AT_ONCE {
                visit(&found)?;
                found.clear();
            }
        }
        visit(&found)?;
        Ok((leaves, originals))
    }

    /// Passes these originals to `visit`, with their keys and distances. Those of one leaf are next
    /// to each other.
    pub(crate) fn for_each_found(
        &self,
        found: &[FoundInLeaf],
        mut visit: impl FnMut(&[u8], Document<F>, u32) -> Result<()>,
    ) -> Result<()> {
        for of_leaf in found.chunk_by(|a, b| a.page == b.page) {
            let Some(&FoundInLeaf { page, .. }) = of_leaf.first() else { continue };
            let page = u64::from(page);
            let (leaf, symbols) = (self.leaf(page)?, self.symbols()?);
            for &FoundInLeaf { distance, place, .. } in of_leaf {
                let original = || {
                    let key = leaf.keys.get(place, symbols)?;
                    let document = leaf.document(place, &key)?.ok_or("an original was removed")?;
                    Ok((key, document))
                };
                let (key, document) =
                    original().map_err(|damage| self.damaged_leaf(page, damage))?;
                visit(&key, decode(document), distance)?;
            }
        }
        Ok(())
    }
}

impl DocumentFile {
    /// Returns the number of originals.
    pub(crate) fn originals(&self) -> u64 {
        self.meta.live().saturating_sub(self.meta.duplicates)
    }

    /// Returns the number of pages of leaves. A leaf has the number of its first page.
    pub(crate) fn leaf_pages(&self) -> u64 {
        self.meta.leaf_pages
    }

    /// Returns whether single pages may have to be read from the disk when they are needed.
    #[inline(always)]
    pub(crate) fn is_cold(&self) -> bool {
        self.file.is_cold()
    }

    /// Starts to read the leaf on a page.
    #[inline(always)]
    pub(crate) fn prefetch_leaf(&self, page: u32) {
        self.file.body().prefetch(super::reader::leaf_at(page.into()));
    }

    /// Asks the system for the leaf on a page.
    #[cold]
    pub(crate) fn fetch_leaf(&self, page: u32) {
        self.file.fetch(super::reader::leaf_at(page.into()), 1);
    }
}

/// Passes the originals of a leaf for which `distance` returns a distance to `visit`. Returns how
/// many it has.
fn find_in<F: Fingerprint, Q>(
    leaf: &Leaf<'_>,
    page: u32,
    queries: &[Q],
    distance: &impl Fn(&Q, &F) -> Option<u32>,
    mut visit: impl FnMut(&Q, FoundInLeaf),
) -> u64 {
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            let mut originals = 0;
            leaf.for_each_original(
                #[inline(always)]
                |place, fingerprint| {
                    originals += 1;
                    for query in queries {
                        if let Some(distance) = distance(query, &fingerprint) {
                            visit(query, FoundInLeaf { distance, page, place });
                        }
                    }
                },
            );
            originals
        },
    )
}
