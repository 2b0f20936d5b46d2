//! Finding, making and opening the database that a command names.

use std::path::Path;

use anyhow::{Result, bail};
use clap::ValueEnum;
use fpdb::{BlockCode, Description, ErrorKind, Fingerprint, Ids, Layout, Options};

/// Runs an expression with options of the width that a database has: `u64` or `u128`.
macro_rules! by_width {
    ($bits:expr, |$options:ident| $body:expr) => {
        if $bits == 128 {
            let $options = fpdb::Options::bits128();
            $body
        } else {
            let $options = fpdb::Options::<u64>::new();
            $body
        }
    };
}
pub(crate) use by_width;

/// What is settled when a database is made.
#[derive(clap::Args, Clone)]
pub(crate) struct NewDatabase {
    /// Distance in bits up to which queries are answered from the tables, 0 to 10 [default: 3]
    #[arg(short = 'k', long, value_name = "BITS", help_heading = "A new database")]
    max_distance: Option<u32>,

    /// Layout of the tables: the name of a preset, such as ring-4 or half-2, a ring as `plan` names
    /// them, such as ring:25/19/20, or `auto`, which chooses by distance and expected entries
    /// [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "A new database")]
    layout: Option<String>,

    /// Number of entries to expect; `--layout auto` goes by it [default: 1000000]
    #[arg(long = "expected", value_name = "ENTRIES", help_heading = "A new database")]
    expected_entries: Option<u64>,

    /// Size of a block of a table, a power of two from 128 to 4096: small ones are faster to
    /// probe, large ones take less space
    #[arg(long, value_name = "BYTES", help_heading = "A new database")]
    block_size: Option<usize>,

    /// Code of the blocks: elias-fano, which is faster to probe and mostly shorter, or huffman, the
    /// paper's, which is shorter for crowds of near neighbours [default: elias-fano]
    #[arg(long, value_name = "CODE", value_parser = BlockCode::parse, help_heading = "A new database")]
    code: Option<BlockCode>,

    /// Bits a fingerprint and table of the prefix filter, 0 to 32, 0 for none: spares most look-ups
    /// that would find nothing [default: 8 where the layout and the number of entries gain by it]
    #[arg(long, value_name = "BITS", help_heading = "A new database")]
    filter_bits: Option<u32>,
}

impl NewDatabase {
    /// Options to make a database with. What is not given is left to the library's defaults.
    pub(crate) fn options<F: Fingerprint>(&self, mut options: Options<F>) -> Result<Options<F>> {
        if let Some(max_distance) = self.max_distance {
            options = options.max_distance(max_distance);
        }
        if let Some(entries) = self.expected_entries {
            options = options.expected_entries(entries);
        }
        if let Some(bytes) = self.block_size {
            options = options.block_size(bytes);
        }
        if let Some(code) = self.code {
            options = options.code(code);
        }
        if let Some(bits) = self.filter_bits {
            options = options.filter_bits(bits);
        }
        match self.layout.as_deref() {
            None | Some("auto") => Ok(options),
            Some(name) => Ok(options.layout(Layout::preset(name, F::BITS)?)),
        }
    }

    /// Refuses to go on with a database that was made otherwise than is asked for here.
    pub(crate) fn check_against(&self, found: &Description) -> Result<()> {
        let differs = |what: &str, found: &str, asked: &str| {
            anyhow::anyhow!("the database has {what} {found}, not {asked}, and keeps it for life")
        };
        if let Some(asked) = self.max_distance.filter(|&asked| asked != found.max_distance) {
            let found = found.max_distance.to_string();
            return Err(differs("max-distance", &found, &asked.to_string()));
        }
        if let Some(asked) = self.block_size.filter(|&asked| asked != found.block_size) {
            let found = found.block_size.to_string();
            return Err(differs("block-size", &found, &asked.to_string()));
        }
        if let Some(asked) = self.code.filter(|&asked| asked != found.code) {
            return Err(differs("code", found.code.name(), asked.name()));
        }
        if let Some(asked) = self.filter_bits.filter(|&asked| asked != found.filter_bits) {
            let found = found.filter_bits.to_string();
            return Err(differs("filter-bits", &found, &asked.to_string()));
        }
        match self.layout.as_deref() {
            Some(asked) if asked != "auto" && asked != found.layout.name() => {
                Err(differs("layout", found.layout.name(), asked))
            }
            _ => Ok(()),
        }
    }
}

/// `--ids`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// Numbers that you choose
    User,
    /// Names (URLs, say), numbered by the database
    Names,
}

impl From<IdKind> for Ids {
    fn from(kind: IdKind) -> Self {
        match kind {
            IdKind::User => Ids::User,
            IdKind::Names => Ids::Names,
        }
    }
}

/// The word for a kind of ids: what `--ids` takes.
pub(crate) fn id_kind(ids: Ids) -> &'static str {
    match ids {
        Ids::User => "user",
        _ => "names",
    }
}

/// The version of a database's format: `1.0`.
pub(crate) fn format_version(found: &Description) -> String {
    let (major, minor) = found.format_version;
    format!("{major}.{minor}")
}

/// The width of fingerprints, as `--bits` takes it.
pub(crate) fn parse_bits(text: &str) -> Result<u32, String> {
    match text {
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("fingerprints have 64 or 128 bits".to_owned()),
    }
}

/// The width of a database's fingerprints, or the one asked for where there is none yet.
pub(crate) fn width(found: Option<&Description>, asked: Option<u32>) -> Result<u32> {
    match (found, asked) {
        (Some(found), Some(asked)) if found.bits != asked => {
            bail!("the database has fingerprints of {} bits", found.bits)
        }
        (Some(found), _) => Ok(found.bits),
        (None, asked) => Ok(asked.unwrap_or(64)),
    }
}

/// The description of a database, `None` where there is none yet or only a half-made one.
pub(crate) fn find(path: &Path) -> Result<Option<Description>> {
    match fpdb::describe(path) {
        Ok(description) => Ok(Some(description)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a database whose ids are not of the kind that a command needs.
pub(crate) fn need_ids(found: &Description, needed: Ids, command: &str) -> Result<()> {
    if found.ids != needed {
        bail!(
            "{command} needs a database made with --ids {}; this one has --ids {}",
            id_kind(needed),
            id_kind(found.ids)
        );
    }
    Ok(())
}
