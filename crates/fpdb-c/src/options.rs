//! Options, checked before anything is touched.

use std::path::Path;
use std::time::Duration;

use fpdb::{Description, Durability, ErrorKind, Jaccard, Options, RecipeName};

use crate::code::{Failure, FpdbCode};
use crate::recipe::FpdbRecipe;
use crate::structs::{
    FPDB_BITS_ANY, FPDB_BITS_SKETCH, FpdbDurability, FpdbIds, FpdbOptions, distance, expect_unused,
    yes_or_no,
};
use crate::width::{self, Width};

/// How a path is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Create,
    Open,
    OpenOrCreate,
}

/// Options with what their pointers lead to.
pub(crate) struct Given<'a> {
    pub(crate) plain: FpdbOptions,
    pub(crate) recipe: Option<&'a FpdbRecipe>,
    pub(crate) custom_recipe: Option<&'a str>,
}

impl Given<'_> {
    /// Refuses what does not fit together, and returns the width to open a path with.
    pub(crate) fn check(&self, path: &str, mode: Mode) -> Result<u32, Failure> {
        expect_unused(self.plain.reserved)?;
        if self.read_only()? && mode != Mode::Open {
            return Err(Failure::invalid("read_only is for fpdb_open: nothing can be created"));
        }
        if self.recipe.is_some() && self.custom_recipe.is_some() {
            return Err(Failure::invalid("give either recipe or custom_recipe"));
        }
        self.width(path, mode)
    }

    pub(crate) fn read_only(&self) -> Result<bool, Failure> {
        yes_or_no(self.plain.read_only, "read_only")
    }

    /// Returns the options of the library, or refuses what no database has.
    pub(crate) fn options<F: Width>(&self) -> Result<Options<F>, Failure> {
        let FpdbOptions { recent_entries, expected_entries, page_memory, threads, .. } = self.plain;
        let mut options = Options::<F>::default()
            .durability(self.durability()?)
            .trust_file_system(yes_or_no(self.plain.trust_file_system, "trust_file_system")?)
            .background(!yes_or_no(self.plain.no_background, "no_background")?);
        if let Some(name) = self.recipe.map(FpdbRecipe::name).or(self.custom_recipe) {
            options = options.recipe(RecipeName::custom(name));
        }
        if let Some(jaccard) = self.jaccard()? {
            options = options.similar(jaccard);
        }
        if let Some(distance) = distance(self.plain.max_distance) {
            options = options.max_distance(distance);
        }
        if let Some(ids) = FpdbIds::of(self.plain.ids)? {
            options = options.ids(ids);
        }
        if recent_entries > 0 {
            options = options.memtable_entries(recent_entries);
        }
        if expected_entries > 0 {
            options = options.expected_entries(expected_entries);
        }
        if page_memory > 0 {
            options = options.page_memory(page_memory);
        }
        if threads > 0 {
            options = options.threads(threads as usize);
        }
        Ok(options)
    }

    fn durability(&self) -> Result<Durability, Failure> {
        let milliseconds = self.plain.sync_milliseconds;
        match (FpdbDurability::of(self.plain.durability)?, milliseconds) {
            (durability, 0) => Ok(durability),
            (Durability::Sync, _) => Err(Failure::invalid(
                "sync_milliseconds is for FPDB_DURABILITY_BUFFERED: otherwise every write is synced",
            )),
            (_, _) => Ok(Durability::Every(Duration::from_millis(milliseconds.into()))),
        }
    }

    fn jaccard(&self) -> Result<Option<Jaccard>, Failure> {
        let FpdbOptions { similarity, recall, .. } = self.plain;
        match (similarity == 0.0, recall == 0.0) {
            (true, true) => Ok(None),
            (true, false) => Err(Failure::invalid("recall was given without a similarity")),
            (false, true) => Ok(Some(Jaccard::at_least(similarity))),
            (false, false) => Ok(Some(Jaccard::at_least(similarity).recall(recall))),
        }
    }

    /// Returns the width to open a path with.
    fn width(&self, path: &str, mode: Mode) -> Result<u32, Failure> {
        let bits = match (self.plain.bits, self.recipe) {
            (FPDB_BITS_ANY, _) if mode != Mode::Open => {
                return Err(Failure::invalid("FPDB_BITS_ANY is for fpdb_open: choose the bits"));
            }
            // What is not there has no width. The library says what is there instead.
            (FPDB_BITS_ANY, _) => stored_bits(path)?.unwrap_or(u64::BITS),
            (0, _) if self.jaccard()?.is_some() => FPDB_BITS_SKETCH,
            (0, Some(recipe)) => recipe.bits(),
            (0, None) => u64::BITS,
            (bits @ (64 | 128 | FPDB_BITS_SKETCH), _) => bits,
            (bits, _) => return Err(width::unknown(bits)),
        };
        if let Some(recipe) = self.recipe.filter(|recipe| recipe.bits() != bits) {
            let (made, stored) = (width::name(recipe.bits()), width::name(bits));
            return Err(Failure::invalid(format!(
                "the recipe makes {made}, but the database is for {stored}: give fpdb_recipe its bits"
            )));
        }
        if bits != FPDB_BITS_SKETCH && self.jaccard()?.is_some() {
            let stored = width::name(bits);
            return Err(Failure::invalid(format!(
                "a database of {stored} has no similarity: set bits to FPDB_BITS_SKETCH"
            )));
        }
        // If there is anything else, the library says what.
        let stored = if mode == Mode::Create { None } else { stored_bits(path).unwrap_or(None) };
        match stored.filter(|&stored| stored != bits) {
            None => Ok(bits),
            Some(found) => {
                let (found, requested) = (width::name(found), width::name(bits));
                let message = format!(
                    "{path}: the database has {found}, but {requested} were requested: set bits"
                );
                Err(Failure { code: FpdbCode::Unsupported, message })
            }
        }
    }
}

/// Returns the width of the database at a path; `None` if there is none.
fn stored_bits(path: &str) -> Result<Option<u32>, Failure> {
    match Description::read(Path::new(path)) {
        Ok(description) => Ok(Some(description.bits)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
