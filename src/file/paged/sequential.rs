//! Reading files in order, without filling the memory for pages.

use super::PagedFile;
use crate::base::error::Result;
use crate::file::codec::header::FileHeader;
use crate::file::storage::Storage;

/// What reads one file.
pub(crate) trait Paged: Sized {
    fn file(&self) -> &PagedFile;

    fn file_mut(&mut self) -> &mut PagedFile;

    /// Returns the same reader with other memory for the pages of the file.
    fn with_file(&self, file: PagedFile) -> Self;

    /// Does what [`PagedFile::renewed`] does.
    fn renewed(&self) -> Result<Self> {
        Ok(self.with_file(self.file().renewed()?))
    }
}

/// A reader that needs nothing but the header and the footer of its file to open it.
pub(crate) trait OpenPaged: Paged {
    /// Reads the footer.
    fn from_file(file: PagedFile) -> Result<Self>;

    /// Opens the file; reads only its header and footer.
    fn open(storage: &dyn Storage, name: &str, header: &FileHeader, len: u64) -> Result<Self> {
        let file = PagedFile::open(storage, name, header, len)?;
        let path = file.path().to_owned();
        Self::from_file(file).map_err(|error| error.at_path(path))
    }
}

/// Reads a file in order. It reads ahead and keeps few pages in memory, and none in the memory that
/// queries share.
#[derive(Debug)]
pub(crate) struct Sequential<'a, T> {
    shared: &'a T,
    own: Option<T>,
}

impl<'a, T: Paged> Sequential<'a, T> {
    /// Creates a reader that has read nothing.
    pub(crate) fn new(shared: &'a T) -> Self {
        Self { shared, own: None }
    }

    /// Returns what to read with now. Forgets pages that were read before, so it should be called
    /// again for each part, of which each should take few reads.
    pub(crate) fn get(&mut self) -> Result<&T> {
        match &mut self.own {
            Some(own) if own.file().has_many_pages() => own.file_mut().forget_pages(),
            Some(_) => {}
            none => {
                let file = self.shared.file().sequential()?;
                *none = file.map(|file| self.shared.with_file(file));
            }
        }
        Ok(self.own.as_ref().unwrap_or(self.shared))
    }
}
