//! What the system's cache keeps of files that are being written.

use std::sync::Arc;

use super::{PageBudget, WriteFile};
use crate::base::error::Result;

/// The bytes of a file that the system keeps for whoever reads the file next. They count towards
/// the memory for pages. Beyond that, the system does not keep what is written, so that it need not
/// drop what others have read.
#[derive(Debug)]
pub(crate) struct Kept {
    pages: Arc<PageBudget>,
    bytes: u64,
}

impl Kept {
    /// Nothing of a file that counts towards this budget.
    pub(crate) fn nothing(pages: &Arc<PageBudget>) -> Self {
        Self { pages: pages.clone(), bytes: 0 }
    }

    /// Appends to the file. The system keeps the bytes if there is room for them.
    pub(crate) fn append(&mut self, file: &dyn WriteFile, bytes: &[u8]) -> Result<()> {
        let len = bytes.len() as u64;
        if !self.pages.keep_written(len) {
            return file.append_once(bytes);
        }
        self.bytes += len;
        file.append(bytes)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.pages.end_written(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Appended(Mutex<Vec<(bool, u8)>>);

    impl WriteFile for Appended {
        fn append(&self, bytes: &[u8]) -> Result<()> {
            self.0.lock().unwrap().push((true, bytes[0]));
            Ok(())
        }

        fn append_once(&self, bytes: &[u8]) -> Result<()> {
            self.0.lock().unwrap().push((false, bytes[0]));
            Ok(())
        }

        fn sync(&self) -> Result<()> {
            Ok(())
        }

        fn check_name(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn system_keeps_what_the_memory_for_pages_has_room_for_until_the_file_is_dropped() {
        let (pages, file) = (Arc::new(PageBudget::new(250)), Appended::default());
        let (mut one, mut another) = (Kept::nothing(&pages), Kept::nothing(&pages));
        one.append(&file, &[1; 100]).unwrap();
        another.append(&file, &[2; 100]).unwrap();
        one.append(&file, &[3; 100]).unwrap();
        drop(another);
        one.append(&file, &[4; 100]).unwrap();
        one.append(&file, &[5; 100]).unwrap();
        let expected = [(true, 1), (true, 2), (false, 3), (true, 4), (false, 5)];
        assert_eq!(*file.0.lock().unwrap(), expected);
    }
}
