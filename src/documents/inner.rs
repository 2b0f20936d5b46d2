//! The inner nodes: a B-tree over the leaves, which is written from the bottom up.
//!
//! A node has the page numbers of its children, and a separator between each two of them: a key
//! that is greater than all keys of the first one, and not greater than any of the second one.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::column::{Column, Span, len_of, width_of};
use super::encoder::Encoder;
use super::keys::{BandBuilder, Damage, KeyWidths, Keys, MAX_WIDTH};
use super::leaf::Parts;
use super::symbols::SymbolTable;
use crate::base::error::Result as FileResult;
use crate::file::codec::bytes::PutFields;
use crate::file::paged::PAGE;
use crate::file::scratch::{ScratchFiles, Spool};

const HEADER: usize = 15;
/// Most children of a node: a separator takes at least a byte.
const MAX_CHILDREN: usize = PAGE;
/// Most children that are put into a node. Fewer than fit on a page, because a search passes over
/// half of the separators; inner nodes take little space in any case.
const FANOUT: usize = 128;
/// Bytes that are spooled at a time: they divide a page, and what a spool takes.
const SPOOLED: usize = 64;

/// An inner node.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) pages: usize,
    /// One for each child but the first.
    pub(super) separators: Keys<'a>,
    first: u64,
    /// For each child, how much greater its page number is than the first one plus its place.
    extra: Column<'a>,
}

impl<'a> Node<'a> {
    /// Reads a node, which must have all of these bytes.
    #[inline]
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        let mut parts = Parts(bytes);
        let (children, pages) = (parts.u16()?, parts.u16()?);
        let (widths, extra) = ((parts.u8()?, parts.u8()?), parts.u8()?);
        let first = parts.u64()?;
        if widths.0 > MAX_WIDTH
            || widths.1 > MAX_WIDTH
            || extra > u64::BITS
            || !(1..=MAX_CHILDREN).contains(&children)
            || pages * PAGE != bytes.len()
            || (pages > 1 && children > 2)
        {
            return Err("an inner node has a value that is not allowed");
        }
        let count = children - 1;
        let lengths = parts.0;
        parts.bytes(len_of(count, widths.0 + widths.1))?;
        let extra = parts.column(children, extra, 0)?;
        let separators = Keys::new(count, widths, lengths, parts.0);
        Ok(Self { pages, separators, first, extra })
    }

    /// Returns the page number of the child at this place.
    #[inline]
    pub(super) fn child(&self, index: usize) -> u64 {
        self.first.saturating_add(index as u64).saturating_add(self.extra.get(index))
    }

    /// Returns the page number of the child that has `key`, if any has.
    #[inline]
    pub(super) fn child_with(&self, key: &[u8], symbols: &SymbolTable) -> Result<u64, Damage> {
        let (less, is_equal) = self.separators.search(key, symbols)?;
        Ok(self.child(less + usize::from(is_equal)))
    }
}

/// A node that is being filled.
#[derive(Debug, Default)]
struct NodeBuilder {
    /// The separator between the last child of the node before and the first one of this.
    before: Vec<u8>,
    separators: BandBuilder,
    /// The page numbers of the children.
    children: Vec<u64>,
}

impl NodeBuilder {
    /// Returns how much greater the page number of a child is than the first one plus its place.
    /// The last child has the greatest of these numbers.
    fn extra(&self, place: usize, child: u64) -> u64 {
        let first = self.children.first().copied().unwrap_or(child);
        child.saturating_sub(first).saturating_sub(place as u64)
    }

    fn len(keys: &KeyWidths, children: usize, extra: u32) -> usize {
        HEADER + keys.len() + len_of(children, extra)
    }

    /// Adds a child. Returns false if it does not fit; the first two always do.
    fn push(&mut self, separator: &[u8], child: u64, encoder: &mut Encoder) -> bool {
        if self.children.is_empty() {
            self.before = separator.to_vec();
        } else {
            let children = self.children.len() + 1;
            let extra = width_of(self.extra(self.children.len(), child));
            let fits = |keys: &KeyWidths| {
                let is_small = Self::len(keys, children, extra) <= PAGE;
                children <= 2 || (is_small && children <= FANOUT)
            };
            if !self.separators.push(separator, encoder, fits) {
                return false;
            }
        }
        self.children.push(child);
        true
    }

    /// Replaces `out` with the encoded node, padded with zeros to entire pages, and empties the
    /// node.
    fn finish(&mut self, out: &mut Vec<u8>) {
        out.clear();
        let children = self.children.iter().enumerate();
        let extra: Vec<u64> = children.map(|(place, &child)| self.extra(place, child)).collect();
        let span = Span::up_to(extra.last().copied().unwrap_or(0));
        let widths = self.separators.widths();
        let pages = Self::len(&widths, self.children.len(), span.width()).div_ceil(PAGE);
        let byte = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        let (shared, lengths) = widths.widths();
        out.put_u16(u16::try_from(self.children.len()).unwrap_or(u16::MAX));
        out.put_u16(u16::try_from(pages).unwrap_or(u16::MAX));
        out.extend([byte(shared), byte(lengths), byte(span.width())]);
        out.put_u64(self.children.first().copied().unwrap_or(0));
        self.separators.put_lengths(out);
        span.put(&extra, out);
        self.separators.put_suffixes(out);
        out.resize(pages * PAGE, 0);
        self.separators.clear();
        self.children.clear();
    }
}

/// Makes the inner nodes. Children come before their parents.
#[derive(Debug)]
pub(super) struct TreeBuilder<'a> {
    /// The open node of each level, the parents of leaves first.
    levels: Vec<NodeBuilder>,
    /// The encoded nodes.
    nodes: Spool<'a>,
    pages: u64,
    encoded: Vec<u8>,
}

/// Inner nodes that are complete.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) nodes: Spool<'a>,
    /// Pages of all nodes.
    pub(super) pages: u64,
    /// Levels of inner nodes.
    pub(super) depth: u64,
    /// The page number of the topmost node, counted from the first inner node, or, if there are no
    /// inner nodes, of the only leaf.
    pub(super) root: u64,
}

impl<'a> TreeBuilder<'a> {
    /// Without scratch files, the nodes are in memory until the end.
    pub(super) fn new(scratch: Option<ScratchFiles<'a>>) -> Self {
        let nodes = Spool::new(scratch);
        Self { levels: Vec::new(), nodes, pages: 0, encoded: Vec::new() }
    }

    /// Adds a leaf: a separator between it and the one before, and its page number, counted from
    /// the first leaf.
    pub(super) fn push(
        &mut self,
        separator: &[u8],
        leaf: u64,
        encoder: &mut Encoder,
    ) -> FileResult<()> {
        self.add(0, separator, leaf, encoder)
    }

    fn add(
        &mut self,
        level: usize,
        separator: &[u8],
        child: u64,
        encoder: &mut Encoder,
    ) -> FileResult<()> {
        if level == self.levels.len() {
            self.levels.push(NodeBuilder::default());
        }
        let Some(node) = self.levels.get_mut(level) else { return Ok(()) };
        if node.push(separator, child, encoder) {
            return Ok(());
        }
        self.end_node(level, encoder)?;
        self.add(level, separator, child, encoder)
    }

    /// Encodes the open node of a level, and adds it to the one above.
    fn end_node(&mut self, level: usize, encoder: &mut Encoder) -> FileResult<()> {
        let Some(node) = self.levels.get_mut(level) else { return Ok(()) };
        node.finish(&mut self.encoded);
        let (before, page) = (std::mem::take(&mut node.before), self.pages);
        self.pages += (self.encoded.len() / PAGE) as u64;
        self.encoded.chunks(SPOOLED).try_for_each(|bytes| self.nodes.push(bytes))?;
        self.add(level + 1, &before, page, encoder)
    }

    pub(super) fn finish(mut self, encoder: &mut Encoder) -> FileResult<Tree<'a>> {
        let mut level = 0;
        loop {
            match self.levels.get(level) {
                Some(NodeBuilder { children, .. }) if level + 1 == self.levels.len() => {
                    if let [root] = **children {
                        let Self { nodes, pages, .. } = self;
                        return Ok(Tree { nodes, pages, depth: level as u64, root });
                    }
                }
                Some(_) => {}
                None => return Ok(Tree { nodes: self.nodes, pages: 0, depth: 0, root: 0 }),
            }
            self.end_node(level, encoder)?;
            level += 1;
        }
    }
}
