//! The settings of a database: chosen when it is created, stored in its manifest, never changed.

mod passages;

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::names::FileId;
use crate::fingerprint::{Fingerprint, Ids, Sketch};
use crate::index::bands::BandRule;
use crate::index::prediction::Prediction;
use crate::index::rule::MatchRule;
use crate::index::tables::block;
use crate::index::tables::layout::{BitOrder, Layout};
use crate::index::tables::table::TableOptions;
pub use passages::PassageSettings;
pub(crate) use passages::{DocumentRecord, IndexEntry};

/// Most bytes of the name of a recipe, and of an extraction.
pub(crate) const MAX_RECIPE: usize = 255;
/// Most bits per fingerprint of a prefix filter.
pub(crate) const MAX_FILTER_BITS: u32 = 32;

/// The part of the manifest that never changes. See storage-format.md, "Manifest".
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub database_id: u128,
    pub ids: Ids,
    pub recipe: Option<String>,
    pub extraction: Option<String>,
    /// In an index of passages, how its windows are hashed.
    pub passages: Option<PassageSettings>,
    pub index: IndexSettings,
}

/// How a database finds what is near, which follows from what it stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexSettings {
    /// Fingerprints, by sorted tables.
    Tables(TableSettings),
    /// Sketches, by bands.
    Bands(BandRule),
}

/// The tables of a database of fingerprints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableSettings {
    pub layout: Layout,
    /// The number of bits beyond which fingerprints never match.
    pub distance: u32,
    /// Bytes per block of new segments.
    pub block_size: usize,
    /// Bits per fingerprint of the prefix filters of new segments.
    pub filter_bits: u32,
}

/// The kinds of indexes as they are stored.
const TABLES: u8 = 0;
const BANDS: u8 = 1;

impl IndexSettings {
    /// Returns the tables; `None` in a database of sketches.
    pub(crate) fn tables(&self) -> Option<&TableSettings> {
        match self {
            Self::Tables(tables) => Some(tables),
            Self::Bands(_) => None,
        }
    }

    /// Returns the rule of a database of sketches.
    pub(crate) fn bands(&self) -> Option<BandRule> {
        match self {
            Self::Tables(_) => None,
            Self::Bands(rule) => Some(*rule),
        }
    }

    /// Returns how many tables a segment has, of either kind.
    pub(crate) fn table_count(&self) -> usize {
        match self {
            Self::Tables(tables) => tables.layout.tables(),
            Self::Bands(rule) => rule.bands as usize,
        }
    }

    /// Returns how many tables are sorted while a segment is written: all but table 0, or the
    /// tables of all bands.
    pub(crate) fn sorted_tables(&self) -> usize {
        match self {
            Self::Tables(tables) => tables.layout.tables() - 1,
            Self::Bands(rule) => rule.bands as usize,
        }
    }

    /// Returns which fingerprints match.
    pub(crate) fn rule(&self) -> MatchRule {
        match self {
            Self::Tables(tables) => MatchRule::of_distance(tables.layout.bits(), tables.distance),
            Self::Bands(rule) => MatchRule::by_bands(*rule),
        }
    }

    /// Predicts the size of a database with this many entries, and the time of its queries.
    pub(crate) fn predict(&self, entries: u64) -> Prediction {
        match self {
            Self::Tables(TableSettings { layout, distance, block_size, filter_bits }) => {
                layout.predict(*distance, entries, (*block_size, *filter_bits))
            }
            Self::Bands(rule) => rule.predict(entries),
        }
    }

    /// Appends the settings in their stored form; storage-format.md, "Index".
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Tables(tables) => {
                out.put_u8(TABLES);
                tables.encode(out);
            }
            Self::Bands(rule) => {
                out.put_u8(BANDS);
                rule.encode(out);
            }
        }
    }

    /// Reads what [`encode`](Self::encode) wrote, for fingerprints of `bits` bits.
    fn decode(fields: &mut Fields<'_>, bits: u32) -> Result<Self> {
        let start = fields.clone();
        match (fields.u8("kind of index")?, bits == Sketch::BITS) {
            (TABLES, false) => TableSettings::decode(fields, bits).map(Self::Tables),
            (BANDS, true) => BandRule::decode(fields).map(Self::Bands),
            (kind @ (TABLES | BANDS), _) => {
                Err(start.corruption(format!("an index of kind {kind} is not for {bits} bits")))
            }
            (kind, _) => Err(start.corruption(format!("kind of index {kind}"))),
        }
    }
}

impl TableSettings {
    /// Refuses settings that no database can have.
    fn check(&self) -> Result<()> {
        let size = self.block_size;
        if !size.is_power_of_two() || !(block::MIN_SIZE..=block::MAX_SIZE).contains(&size) {
            return Err(Error::invalid(format!(
                "block size {size}: expected a power of two from {} to {}",
                block::MIN_SIZE,
                block::MAX_SIZE
            )));
        }
        if self.filter_bits > MAX_FILTER_BITS {
            return Err(Error::invalid(format!(
                "filter of {} bits per fingerprint: expected 0 to {MAX_FILTER_BITS}",
                self.filter_bits
            )));
        }
        Ok(())
    }

    /// Returns how table `table` of a new segment is written.
    pub(crate) fn options(&self, table: usize) -> TableOptions {
        TableOptions {
            block_size: self.block_size,
            filter_bits: self.filter_bits,
            filter_depth: self.layout.filter_depth(table).into(),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(u32::try_from(self.block_size).unwrap_or(0));
        out.put_u8(block::CODE);
        out.put_u32(self.filter_bits);
        self.layout.encode(out);
        out.put_u8(u8::try_from(self.distance).unwrap_or(u8::MAX));
    }

    fn decode(fields: &mut Fields<'_>, bits: u32) -> Result<Self> {
        let block_size = fields.u32("block size")? as usize;
        let code = fields.u8("block code")?;
        if code != block::CODE {
            return Err(fields.corruption(format!("block code {code}")));
        }
        let filter_bits = fields.u32("filter bits")?;
        let layout = Layout::decode(fields, bits)?;
        // Later releases may create databases for a larger distance than this one.
        let distance = u32::from(fields.u8("max distance")?);
        if distance > bits {
            return Err(fields.corruption(format!("max distance {distance} of {bits} bits")));
        }
        let tables = Self { layout, distance, block_size, filter_bits };
        tables.check().map_err(|e| fields.corruption(e.to_string()))?;
        Ok(tables)
    }
}

impl Settings {
    /// Refuses settings that no database can have.
    pub(crate) fn check(&self) -> Result<()> {
        self.index.tables().map_or(Ok(()), TableSettings::check)?;
        self.passages.as_ref().map_or(Ok(()), |passages| {
            passages.check()?;
            let is_exact = self.bits() == 64 && self.index.rule().by_distance() == Some(0);
            if is_exact && self.ids == Ids::User { Ok(()) } else { Err(not_for_passages()) }
        })?;
        check_name("recipe", self.recipe.as_deref())?;
        check_name("extraction", self.extraction.as_deref())
    }

    /// Returns the header of one of this database's files; `part` is a table's number.
    pub(crate) fn header(&self, kind: FileKind, part: u16, id: FileId) -> FileHeader {
        let (bits, database_id) = (self.bits(), self.database_id);
        FileHeader { kind, bits, part, file_id: id.number, nonce: id.nonce, database_id }
    }

    /// Returns the width of the fingerprints.
    pub(crate) fn bits(&self) -> u32 {
        self.index.tables().map_or(Sketch::BITS, |tables| tables.layout.bits())
    }

    /// Returns the bit orders of the tables; none in a database of sketches.
    pub(crate) fn bit_orders(&self) -> Vec<BitOrder> {
        self.index.tables().map_or_else(Vec::new, |tables| tables.layout.bit_orders())
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u8(match self.ids {
            Ids::User => 0,
            Ids::Names => 1,
            Ids::Unique => 2,
        });
        out.put_string(self.recipe.as_deref().unwrap_or_default().as_bytes());
        out.put_string(self.extraction.as_deref().unwrap_or_default().as_bytes());
        out.put_u8(u8::from(self.passages.is_some()));
        self.passages.iter().for_each(|passages| passages.encode(out));
        self.index.encode(out);
    }

    /// Reads what [`encode`](Self::encode) wrote. The header has the database's id and width.
    pub(crate) fn decode(header: &FileHeader, fields: &mut Fields<'_>) -> Result<Self> {
        let ids = match fields.u8("kind of ids")? {
            0 => Ids::User,
            1 => Ids::Names,
            2 => Ids::Unique,
            other => return Err(fields.corruption(format!("kind of ids {other}"))),
        };
        let recipe = fields.text("recipe")?;
        let recipe = (!recipe.is_empty()).then(|| recipe.to_owned());
        let extraction = fields.text("extraction")?;
        let extraction = (!extraction.is_empty()).then(|| extraction.to_owned());
        let passages = match fields.u8("purpose")? {
            0 => None,
            1 => Some(PassageSettings::decode(fields)?),
            other => return Err(fields.corruption(format!("purpose {other}"))),
        };
        let index = IndexSettings::decode(fields, header.bits)?;
        if index.bands().is_some() && ids == Ids::User {
            return Err(fields.corruption("sketches have no ids that belong to no document"));
        }
        let settings =
            Self { database_id: header.database_id, ids, recipe, extraction, passages, index };
        settings.check().map_err(|e| fields.corruption(e.to_string()))?;
        Ok(settings)
    }
}

fn not_for_passages() -> Error {
    Error::invalid(
        "an index of passages has 64 bits, a max distance of 0, and ids that are the user's",
    )
}

/// Refuses a name that cannot be stored.
fn check_name(what: &str, name: Option<&str>) -> Result<()> {
    match name {
        Some(name) if name.is_empty() || name.len() > MAX_RECIPE => Err(Error::invalid(format!(
            "{what} name of {} bytes: expected 1 to {MAX_RECIPE}",
            name.len()
        ))),
        _ => Ok(()),
    }
}
