//! Files of documents: the entry point for the fuzzer, and one for the bench of lookups.

use std::path::Path;
use std::sync::Arc;

use crate::codec::header::{FileHeader, FileKind};
use crate::documents::{Documents, DocumentsBuilder, SymbolTable, key_hash};
use crate::error::Result;
use crate::fingerprint::{DocId, Document, Fingerprint, Sketch};
use crate::inspection::Inspection;
use crate::paged::FileSummary;
use crate::settings::Ids;
use crate::storage::{Disk, Sim, Storage};

/// Reads a file of documents, for both kinds of ids. If verification accepts it, every document
/// that it has is found, and writing all of them again gives a file with the same documents.
pub fn documents(bytes: &[u8]) {
    let Ok(header) = FileHeader::decode(FileKind::Documents, bytes) else { return };
    for ids in [Ids::Unique, Ids::Names] {
        match header.bits {
            64 => documents_of::<u64>(bytes, &header, ids),
            128 => documents_of::<u128>(bytes, &header, ids),
            _ => documents_of::<Sketch>(bytes, &header, ids),
        }
    }
}

fn documents_of<F: Fingerprint>(bytes: &[u8], header: &FileHeader, ids: Ids) {
    let sim = Sim::new();
    let _ = sim.create_root();
    sim.set_contents("documents", bytes);
    let open = |name: &str, len| Documents::<F>::open(&*sim, name, header, len, ids);
    let Ok(documents) = open("documents", bytes.len() as u64) else { return };
    for key in [&b"a"[..], b"https://example.org/", &7u64.to_be_bytes(), &[0xff; 100]] {
        let _ = documents.get(key, key_hash(key));
        let _ = documents.iter_from(Some(key)).next();
    }
    for id in [0, 1, 7, 64, u64::MAX] {
        let _ = documents.by_id(DocId(id));
    }
    let _ = documents.sample(3);
    let expected = FileSummary { len: bytes.len() as u64, crc: crc32fast::hash(bytes) };
    let mut inspection = Inspection::new(None);
    let verified = documents.verify(expected, &mut inspection);
    if verified.is_err() || inspection.found() > 0 {
        return;
    }
    let (symbols, most) = (SymbolTable::none(), documents.records());
    let mut builder = DocumentsBuilder::create(&*sim, "again", header, ids, symbols, most, None)
        .expect("a new file");
    let mut cursor = documents.iter_from(None);
    while let Some((key, document)) = cursor.next().expect("a verified file") {
        assert_eq!(documents.get(key, key_hash(key)).expect("a verified file"), Some(document));
        if let Some(document) = document
            && ids == Ids::Names
        {
            let found = documents.by_id(document.id).expect("a verified file");
            assert!(found.is_some_and(|found| found.0.as_bytes() == key && found.1 == document));
        }
        builder.push(key, document.as_ref()).expect("a verified document");
    }
    let len = builder.finish().expect("documents can be written").len;
    let again = open("again", len).expect("a file as it was written");
    let (mut first, mut second) = (documents.iter_from(None), again.iter_from(None));
    loop {
        let record = first.next().expect("a verified file");
        assert_eq!(record, second.next().expect("a file as it was written"));
        if record.is_none() {
            return;
        }
    }
}

/// A file with the documents of some names, for measurements.
#[derive(Debug)]
pub struct NamesFile(Documents<u64>);

const HEADER: FileHeader = FileHeader {
    kind: FileKind::Documents,
    bits: 64,
    part: 0,
    file_id: 1,
    nonce: 8,
    database_id: 2,
};

impl NamesFile {
    /// Writes a file with these names, which must be in ascending order. Each name gets a
    /// pseudorandom fingerprint and id.
    ///
    /// # Errors
    ///
    /// What writing fails with.
    pub fn write(folder: &Path, names: &[String]) -> Result<u64> {
        let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let (symbols, most) = (SymbolTable::train_sorted(&keys), names.len() as u64);
        let disk = Disk::new(folder);
        let mut builder = DocumentsBuilder::<u64>::create(
            &disk,
            "names",
            &HEADER,
            Ids::Names,
            symbols,
            most,
            None,
        )?;
        for (place, key) in keys.iter().enumerate() {
            builder.push(key, Some(&Self::document(names.len(), place)))?;
        }
        Ok(builder.finish()?.len)
    }

    /// Returns the document of the name at this place.
    fn document(names: usize, place: usize) -> Document<u64> {
        let fingerprint = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let id = DocId(Self::id(names, place));
        Document { fingerprint, id, stamp: None, duplicate_of: None }
    }

    /// Returns the id of the name at this place: ids are dense and not in the order of names.
    #[must_use]
    pub fn id(names: usize, place: usize) -> u64 {
        // A multiplier without a common factor with any count that is not a multiple of it.
        (place as u64).wrapping_mul(982_451_653) % (names as u64).max(1)
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// What reading fails with.
    pub fn open(folder: &Path, len: u64) -> Result<Self> {
        let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder));
        let documents = Documents::open(&*storage, "names", &HEADER, len, Ids::Names)?;
        documents.load(&|| true)?;
        Ok(Self(documents))
    }

    /// Returns the id of a name.
    ///
    /// # Errors
    ///
    /// What reading fails with.
    pub fn id_of(&self, name: &str) -> Result<Option<u64>> {
        let found = self.0.get(name.as_bytes(), key_hash(name.as_bytes()))?;
        Ok(found.flatten().map(|document| document.id.0))
    }

    /// Returns the name of an id.
    ///
    /// # Errors
    ///
    /// What reading fails with.
    pub fn name_of(&self, id: u64) -> Result<Option<String>> {
        Ok(self.0.by_id(DocId(id))?.map(|(name, _)| name))
    }

    /// Passes all names to `visit`, in order.
    ///
    /// # Errors
    ///
    /// What reading fails with.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut cursor = self.0.iter_from(None);
        while let Some((key, _)) = cursor.next()? {
            visit(key);
        }
        Ok(())
    }

    /// Returns the parts of the file, with their bytes.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, u64)> {
        self.0.parts()
    }
}
