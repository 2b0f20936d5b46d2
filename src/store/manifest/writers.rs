//! Which programs wrote a database: an extension of the manifest. If a release ever writes a wrong
//! file, this tells which databases may have one. storage-format.md, "Compatibility".

use super::{Extension, Manifest};
use crate::file::codec::bytes::{Fields, PutFields};

/// The tag of the extension.
const TAG: u32 = 1;

/// The programs that wrote a database, with their versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writers {
    /// The one that created it.
    pub created_by: String,
    /// The last one that opened it for writing.
    pub written_by: String,
}

impl Writers {
    /// Reads the content of the extension; `None` if it has another form.
    fn decode(content: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(content, 0);
        let mut text = |what| fields.text(what).ok().map(str::to_owned);
        let writers = Self { created_by: text("creator")?, written_by: text("last writer")? };
        fields.finish("writers").ok().map(|()| writers)
    }

    fn encode(&self) -> Vec<u8> {
        let mut content = Vec::new();
        content.put_string(self.created_by.as_bytes());
        content.put_string(self.written_by.as_bytes());
        content
    }
}

impl Manifest {
    /// Returns the programs that wrote the database, if the manifest says which.
    pub(crate) fn writers(&self) -> Option<Writers> {
        let extension = self.extensions.iter().find(|extension| extension.tag == TAG)?;
        Writers::decode(&extension.content)
    }

    /// Notes which program creates the database.
    pub(crate) fn created_by(mut self, program: &str) -> Self {
        self.put(&Writers { created_by: program.to_owned(), written_by: program.to_owned() });
        self
    }

    /// Notes which program opens the database for writing, if it says which one created it.
    pub(crate) fn note_writer(&mut self, program: &str) {
        if let Some(writers) = self.writers() {
            self.put(&Writers { written_by: program.to_owned(), ..writers });
        }
    }

    fn put(&mut self, writers: &Writers) {
        let at = self.extensions.partition_point(|extension| extension.tag < TAG);
        self.extensions.retain(|extension| extension.tag != TAG);
        self.extensions.insert(at, Extension { tag: TAG, content: writers.encode() });
    }
}
