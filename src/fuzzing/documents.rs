//! Files of documents.

use crate::base::inspection::Inspection;
use crate::documents::{Documents, DocumentsBuilder, KeyHasher, SymbolTable};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::paged::FileSummary;
use crate::file::storage::{Sim, Storage};
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Fingerprint, Sketch};

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
    let hash = |key: &[u8]| KeyHasher::of_database(header.database_id).hash(key);
    for key in [&b"a"[..], b"https://example.org/", &7u64.to_be_bytes(), &[0xff; 100]] {
        let _ = documents.get(key, hash(key));
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
        assert_eq!(documents.get(key, hash(key)).expect("a verified file"), Some(document));
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
