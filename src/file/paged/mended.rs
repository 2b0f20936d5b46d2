//! Files whose beginning or end is lost, for a repair.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::sync::Arc;

use super::TRAILER_LEN;
use super::reader::PagedFile;
use crate::base::error::{Error, Result};
use crate::file::codec::bytes::Fields;
use crate::file::codec::header::FileHeader;
use crate::file::storage::{ReadFile, Storage};

/// Returns everything after the body of a file of this length: its page sums and footer.
pub(crate) fn tail(storage: &dyn Storage, name: &str, len: u64) -> Result<Vec<u8>> {
    let path = storage.root().join(name);
    let file = storage.open(name)?;
    let read = |start: u64| {
        let mut bytes = vec![0; usize::try_from(len.saturating_sub(start)).unwrap_or(0)];
        let read = file.read_at(start, &mut bytes).map(|()| bytes);
        read.map_err(|error| Error::io("read", &path, error))
    };
    let trailer = len.saturating_sub(TRAILER_LEN as u64);
    read(Fields::new(&read(trailer)?, trailer).u64("body length")?.min(trailer))
}

impl PagedFile {
    /// Opens a file whose header, page sums, footer or length may be damaged. `tail` is what
    /// follows the body. Each page still has its checksum, which a lost one does not match.
    pub(crate) fn open_mended(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        len: u64,
        tail: &[u8],
    ) -> Result<Self> {
        let (file, header_bytes, tail) = (storage.open(name)?, header.encode(), tail.to_vec());
        let tail_at = len.saturating_sub(tail.len() as u64);
        let mended = Arc::new(Mended { file, header: header_bytes, tail_at, tail });
        let path = storage.root().join(name);
        Self::of_source(mended, &path, header, len, storage.page_budget())
    }
}

/// A file with the header and the tail that it must have, and zeros for what else is missing.
#[derive(Debug)]
struct Mended {
    file: Arc<dyn ReadFile>,
    header: Vec<u8>,
    tail_at: u64,
    tail: Vec<u8>,
}

impl ReadFile for Mended {
    fn length(&self) -> u64 {
        self.tail_at + self.tail.len() as u64
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        to.fill(0);
        let left = self.file.length().min(self.tail_at).saturating_sub(offset);
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(to.len());
        if left > 0 {
            self.file.read_at(offset, to.get_mut(..left).unwrap_or_default())?;
        }
        for (at, bytes) in [(0, &self.header), (self.tail_at, &self.tail)] {
            let skipped = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
            let place = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
            let bytes = bytes.get(skipped..).unwrap_or_default();
            let to = to.get_mut(place..).unwrap_or_default();
            to.iter_mut().zip(bytes).for_each(|(to, &byte)| *to = byte);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::codec::header::FileKind;
    use crate::file::paged::PAGE;
    use crate::file::paged::PagedWriter;
    use crate::file::storage::Sim;

    #[test]
    fn a_file_that_lost_its_header_and_its_end_has_all_other_pages() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let (bits, part, file_id, nonce, database_id) = (64, 0, 7, 8, 9);
        let header =
            FileHeader { kind: FileKind::Postings, bits, part, file_id, nonce, database_id };
        let mut writer = PagedWriter::create(&*sim, "f", &header).unwrap();
        writer.write(&[5; 4 * PAGE]).unwrap();
        let len = writer.finish(&[1, 2, 3]).unwrap().len;
        let tail = tail(&*sim, "f", len).unwrap();
        assert_eq!(tail.len(), 5 * 4 + 4 + 3 + TRAILER_LEN);

        let mut bytes = sim.contents("f").unwrap();
        bytes.truncate(2 * PAGE + 1);
        bytes[17] ^= 1;
        sim.set_contents("f", &bytes);
        assert!(PagedFile::open(&*sim, "f", &header, len).is_err());
        let file = PagedFile::open_mended(&*sim, "f", &header, len, &tail).unwrap();
        assert_eq!(file.meta().bytes(3, "meta").unwrap(), [1, 2, 3]);
        for (page, is_whole) in [(0, true), (1, true), (2, false), (3, false), (4, false)] {
            assert_eq!(file.bytes(page * PAGE, 64).is_ok(), is_whole, "{page}");
        }
    }
}
