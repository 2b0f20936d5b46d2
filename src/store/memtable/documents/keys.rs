//! The keys of recent documents, and their ids: both lead to the numbers of the documents.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::HashTable;

use crate::fingerprint::DocId;
use crate::store::log::{KeyBytes, document_key};

/// The keys, by number, and the numbers by key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The names, one after another. In a database without names, a key is an id, and this is
    /// empty.
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    /// Names come from strangers, who must not be able to choose those that collide.
    hasher: RandomState,
}

impl Keys {
    /// Returns the key of the document with a number and an id.
    #[inline]
    pub(super) fn key(&self, number: u32, id: DocId) -> KeyBytes<'_> {
        key_of(&self.names, &self.ends, number, id)
    }

    /// Returns the number of the document with a key. `id_of` returns the id of a number.
    pub(super) fn find(&self, key: &[u8], id_of: impl Fn(u32) -> DocId) -> Option<u32> {
        let is_same = |&number: &u32| *self.key(number, id_of(number)) == *key;
        self.numbers.find(self.hasher.hash_one(key), is_same).copied()
    }

    /// Adds the key of the next document, whose number this is.
    pub(super) fn push(&mut self, number: u32, key: KeyBytes<'_>, id_of: impl Fn(u32) -> DocId) {
        if let KeyBytes::Name(name) = key {
            self.names.extend_from_slice(name);
            self.ends.push(self.names.len());
        }
        let Self { names, ends, numbers, hasher } = self;
        let hash_of = |&number: &u32| hasher.hash_one(&*key_of(names, ends, number, id_of(number)));
        numbers.insert_unique(hasher.hash_one(&*key), number, hash_of);
    }

    /// Makes room for this many more keys.
    pub(super) fn reserve(&mut self, keys: usize, id_of: impl Fn(u32) -> DocId) {
        let Self { names, ends, numbers, hasher } = self;
        let hash_of = |&number: &u32| hasher.hash_one(&*key_of(names, ends, number, id_of(number)));
        numbers.reserve(keys, hash_of);
    }

    /// Sorts numbers by their keys.
    pub(super) fn sort(&self, numbers: &mut [u32], id_of: &dyn Fn(u32) -> DocId) {
        if self.ends.is_empty() {
            return numbers.sort_unstable_by_key(|&number| id_of(number));
        }
        let keys = numbers.iter().map(|&number| name_of(&self.names, &self.ends, number));
        let mut order: Vec<_> = keys.zip(numbers.iter().copied()).collect();
        order.sort_unstable();
        numbers.iter_mut().zip(order).for_each(|(number, (_, sorted))| *number = sorted);
    }

    /// Returns how many bytes the names have.
    pub(super) fn name_bytes(&self) -> usize {
        self.names.len()
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        self.names.len() + self.ends.len() * size_of::<usize>() + self.numbers.allocation_size()
    }
}

#[inline]
fn key_of<'a>(names: &'a [u8], ends: &[usize], number: u32, id: DocId) -> KeyBytes<'a> {
    match name_of(names, ends, number) {
        Some(name) => KeyBytes::Name(name),
        None => document_key(None, id),
    }
}

#[inline]
fn name_of<'a>(names: &'a [u8], ends: &[usize], number: u32) -> Option<&'a [u8]> {
    let number = number as usize;
    let end = *ends.get(number)?;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    Some(&names[start..end])
}

/// The numbers of documents by id, in a database with names.
#[derive(Debug)]
pub(super) struct Ids {
    /// The first id of a document that is new here.
    first_new: u64,
    /// The numbers of new documents, which have consecutive ids.
    new: Vec<u32>,
    /// Those of older documents; in a repair, also those of documents after a missing id.
    others: HashMap<DocId, u32>,
    /// The next id of a new document.
    next: u64,
}

impl Ids {
    pub(super) fn new(first_new: u64) -> Self {
        Self { first_new, new: Vec::new(), others: HashMap::new(), next: first_new }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.others.is_empty()
    }

    /// Returns the next id of a new document.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the place of an id among those of new documents, if it is one or could be.
    fn place(&self, id: DocId) -> Option<usize> {
        id.0.checked_sub(self.first_new).and_then(|place| usize::try_from(place).ok())
    }

    pub(super) fn find(&self, id: DocId) -> Option<u32> {
        let new = self.place(id).and_then(|place| self.new.get(place));
        new.or_else(|| self.others.get(&id)).copied()
    }

    pub(super) fn set(&mut self, id: DocId, number: u32) {
        let place = self.place(id).filter(|&place| place <= self.new.len());
        match place.map(|place| (place, self.new.get_mut(place))) {
            Some((_, Some(known))) => *known = number,
            Some((_, None)) => self.new.push(number),
            None => _ = self.others.insert(id, number),
        }
        self.next = self.next.max(id.0.saturating_add(1));
    }

    /// Makes room for this many more new documents.
    pub(super) fn reserve(&mut self, documents: usize) {
        self.new.reserve(documents);
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        // Hash tables are up to seven eighths full, and twice as large after they have grown.
        let per_slot = (size_of::<(DocId, u32)>() + 1) * 2;
        self.new.len() * size_of::<u32>() + self.others.len() * per_slot
    }
}
