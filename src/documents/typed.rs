//! An open file of documents.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Deref;

use super::filter::KeyHash;
use super::reader::DocumentFile;
use super::{Document, EncodedDocument};
use crate::base::error::Result;
use crate::file::codec::header::FileHeader;
use crate::file::paged::{Paged, PagedFile};
use crate::file::storage::Storage;
use crate::fingerprint::{DocId, Fingerprint, Ids};

/// An open file of documents, with one type of fingerprints. Only what returns them is compiled for
/// each type.
#[derive(Debug)]
pub(crate) struct Documents<F> {
    file: DocumentFile,
    width: PhantomData<F>,
}

impl<F> Deref for Documents<F> {
    type Target = DocumentFile;

    #[inline]
    fn deref(&self) -> &DocumentFile {
        &self.file
    }
}

impl<F: Fingerprint> Paged for Documents<F> {
    fn file(&self) -> &PagedFile {
        self.file.file()
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        self.file.file_mut()
    }

    fn with_file(&self, file: PagedFile) -> Self {
        Self { file: self.file.with_file(file), width: PhantomData }
    }
}

impl<F: Fingerprint> Documents<F> {
    /// Opens the file; reads only its header and footer.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        len: u64,
        ids: Ids,
    ) -> Result<Self> {
        Self::from_file(PagedFile::open(storage, name, header, len)?, ids)
    }

    /// Reads the footer.
    pub(crate) fn from_file(file: PagedFile, ids: Ids) -> Result<Self> {
        Ok(Self { file: DocumentFile::from_file(file, ids, F::BYTES)?, width: PhantomData })
    }

    /// Returns what the file says about the document with this key. The outer `None`: nothing; the
    /// inner one: it was removed.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], hash: KeyHash) -> Result<Option<Option<Document<F>>>> {
        Ok(self.file.get(key, hash)?.map(|document| document.map(decode)))
    }

    /// Returns the name and the document with this id, in a database with names.
    pub(crate) fn by_id(&self, id: DocId) -> Result<Option<(String, Document<F>)>> {
        Ok(self.file.by_id(id)?.map(|(name, document)| (name, decode(document))))
    }
}

/// Reads the fingerprint of a document, which has all of its bytes.
#[inline(always)]
pub(super) fn decode<F: Fingerprint>(document: EncodedDocument<'_>) -> Document<F> {
    document.with(F::read_le(document.fingerprint).unwrap_or(F::ZERO))
}
