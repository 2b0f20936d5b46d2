//! The parts of files: the ends that all of them have, and the others.

use anyhow::{Result, bail};
use fpdb::{Description, Ids, Layout};

use super::file::{File, HEADER};
use super::{Field, Fields, block, columns, documents, log, manifest, meta, postings};

/// Bytes of the trailer of a paged file, and the most of its meta.
const TRAILER: usize = 24;
const MAX_META: usize = 4072;

/// The longest manifest.
const MAX_MANIFEST: usize = 64 << 20;

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The header, and the meta and trailer if there are any. Of the manifest, everything.
    Ends,
    /// One of the parts that a file of this kind is divided into, counted from 0.
    Block(u64),
}

impl File {
    /// Reads the fields of a part into `found`. An error comes after those that could be read.
    pub(crate) fn read(
        &self,
        part: Part,
        database: &Description,
        found: &mut Vec<Field>,
    ) -> Result<()> {
        let number = match part {
            Part::Ends => return self.ends(found),
            Part::Block(number) => number,
        };
        let width = database.bits as usize / 8;
        let kind = documents::Kind { has_names: database.ids == Ids::Names, width };
        match self.kind() {
            "log" => log::frame(self, number, width, found),
            "table" => self.block(number, &database.layout, found),
            "columns" => columns::bucket(self, &self.footer()?.bytes, number, found),
            "postings" => postings::section(self, &self.footer()?.bytes, number, found),
            "documents" => documents::page(self, &self.footer()?.bytes, kind, number, found),
            "tombstones" => self.tombstone(number, width, found),
            kind => bail!("a file of the kind {kind} is not divided into blocks"),
        }
    }

    fn ends(&self, found: &mut Vec<Field>) -> Result<()> {
        let head = self.window(0, HEADER)?;
        let mut fields = Fields::new(&head, 0, "File header");
        let read = header(&mut fields);
        found.append(&mut fields.found);
        read?;
        match self.kind() {
            "log" => return Ok(()),
            "manifest" => return self.manifest(found),
            _ => {}
        }
        let footer = self.footer()?;
        let mut fields = Fields::new(&footer.bytes, footer.base, meta::section(self.kind()));
        let read = meta::meta(&mut fields, self.kind(), footer.bytes.len() - TRAILER)
            .and_then(|()| trailer(&mut fields, head.get(16..56).unwrap_or_default()));
        found.append(&mut fields.found);
        read
    }

    /// Reads meta and trailer of a paged file.
    fn footer(&self) -> Result<Footer> {
        let Some(trailer) = self.len.checked_sub(TRAILER as u64).filter(|&at| at >= HEADER as u64)
        else {
            bail!("the file has {} bytes, too few for a trailer", self.len);
        };
        let bytes = self.window(trailer, TRAILER)?;
        let mut fields = Fields::new(&bytes, trailer, "Paged files");
        fields.at = 8;
        let meta_len = fields.number(4, "meta length")?;
        if meta_len > MAX_META || meta_len as u64 > trailer - HEADER as u64 {
            bail!("the trailer says that the meta has {meta_len} bytes, which cannot be");
        }
        let base = trailer - meta_len as u64;
        Ok(Footer { bytes: self.window(base, meta_len + TRAILER)?, base })
    }

    fn manifest(&self, found: &mut Vec<Field>) -> Result<()> {
        let bytes = self.window(0, MAX_MANIFEST)?;
        let mut fields = Fields::new(&bytes, 0, "Manifest");
        fields.at = HEADER;
        let read = manifest::manifest(&mut fields);
        found.append(&mut fields.found);
        read
    }

    fn tombstone(&self, number: u64, width: usize, found: &mut Vec<Field>) -> Result<()> {
        let footer = self.footer()?;
        let count = Fields::new(&footer.bytes, 0, "Tombstones").number(8, "records")? as u64;
        if number >= count {
            bail!("there is no tombstone {number}: the file has {count}, from 0 on");
        }
        let len = width + 8;
        let at = HEADER as u64 + number.saturating_mul(len as u64);
        let bytes = self.window(at, len)?;
        let mut fields = Fields::new(&bytes, at, "Tombstones");
        let read = fields.fingerprint(width, "fingerprint").and_then(|_| fields.number(8, "id"));
        found.append(&mut fields.found);
        read.map(drop)
    }

    fn block(&self, number: u64, layout: &Layout, found: &mut Vec<Field>) -> Result<()> {
        let (head, footer) = (self.window(0, HEADER)?, self.footer()?);
        let table = meta::Table::read(&head, &footer.bytes, layout)?;
        if number >= table.blocks {
            bail!("there is no block {number}: the table has {}, from 0 on", table.blocks);
        }
        let base = (number + 1).saturating_mul(table.block_size as u64);
        let bytes = self.window(base, table.block_size)?;
        let mut fields = Fields::new(&bytes, base, "Block");
        let read = block::block(&mut fields, &table);
        found.append(&mut fields.found);
        read
    }
}

struct Footer {
    /// Meta and trailer.
    bytes: Vec<u8>,
    /// Where the meta begins.
    base: u64,
}

fn header(fields: &mut Fields<'_>) -> Result<()> {
    let bytes = fields.bytes;
    fields.raw(8, "magic", "")?;
    fields.number(2, "major")?;
    fields.number(2, "minor")?;
    fields.checksum(&[bytes.get(..12).unwrap_or_default()], "version checksum")?;
    fields.shown(1, "kind", |kind| {
        let kinds = ["manifest", "log", "table", "postings", "tombstones", "documents", "columns"];
        let name = usize::try_from(kind).ok().and_then(|k| kinds.get(k.checked_sub(1)?));
        format!("{kind}: {}", name.unwrap_or(&"unknown"))
    })?;
    fields.number(1, "width")?;
    fields.number(2, "part")?;
    fields.number(4, "reserved")?;
    fields.shown(8, "file number", |number| format!("{number:016x}"))?;
    fields.shown(16, "database id", |id| format!("{id:032x}"))?;
    fields.shown(8, "nonce", |nonce| format!("{nonce:016x}"))?;
    fields.number(4, "reserved")?;
    fields.checksum(&[bytes.get(..60).unwrap_or_default()], "header checksum")
}

fn trailer(fields: &mut Fields<'_>, identity: &[u8]) -> Result<()> {
    fields.section("Paged files");
    fields.at = fields.bytes.len() - TRAILER;
    fields.number(8, "body length")?;
    fields.number(4, "meta length")?;
    let covered = fields.bytes.get(..fields.at).unwrap_or_default();
    fields.checksum(&[identity, &u64::MAX.to_le_bytes(), covered], "footer checksum")?;
    fields.raw(8, "end mark", "").map(drop)
}
