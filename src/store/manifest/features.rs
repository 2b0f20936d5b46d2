//! What later versions of the format may add: features, which a program must know, and extensions,
//! which it may ignore. storage-format.md, "Compatibility".

use crate::base::error::{Error, ErrorKind, Result};
use crate::file::codec::bytes::{Fields, PutFields};

/// The features that this build knows: none, since version 1.0 has none.
const KNOWN: u64 = 0;

/// Features that a database uses; each bit stands for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Features {
    /// Those that a program must know to read the database.
    pub to_read: u64,
    /// Those that it must know to write.
    pub to_write: u64,
}

impl Features {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.put_u64(self.to_read);
        out.put_u64(self.to_write);
    }

    /// Fails if the database cannot be read without an unknown feature.
    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self> {
        let to_read = fields.u64("features needed to read")?;
        let to_write = fields.u64("features needed to write")?;
        expect_known(to_read, "read")?;
        Ok(Self { to_read, to_write })
    }

    /// Fails if the database cannot be written without an unknown feature.
    pub(super) fn expect_writable(self) -> Result<()> {
        expect_known(self.to_write, "write")
    }
}

fn expect_known(features: u64, action: &str) -> Result<()> {
    let unknown = features & !KNOWN;
    if unknown == 0 {
        return Ok(());
    }
    let message = format!(
        "to {action} this database, a program must know feature {} of the file format, which is \
         newer than this build: use a newer fpdb",
        unknown.trailing_zeros()
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// What a later version has added to the manifest. This build keeps it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extension {
    /// Says what it is.
    pub tag: u32,
    pub content: Vec<u8>,
}

impl Extension {
    pub(super) fn encode_all(extensions: &[Self], out: &mut Vec<u8>) {
        out.put_u32(u32::try_from(extensions.len()).unwrap_or(u32::MAX));
        for extension in extensions {
            out.put_u32(extension.tag);
            out.put_string(&extension.content);
        }
    }

    pub(super) fn decode_all(fields: &mut Fields<'_>) -> Result<Vec<Self>> {
        let mut extensions: Vec<Self> = Vec::new();
        for _ in 0..fields.u32("extension count")? {
            let tag = fields.u32("tag of an extension")?;
            if extensions.last().is_some_and(|last| last.tag >= tag) {
                return Err(fields.corruption("the tags of the extensions do not ascend"));
            }
            extensions.push(Self { tag, content: fields.string("extension")?.to_vec() });
        }
        Ok(extensions)
    }
}
