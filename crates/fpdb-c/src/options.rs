//! Options, checked before anything is touched.

use std::path::Path;
use std::time::Duration;

use fpdb::text::is_built_in;
use fpdb::{Description, Durability, Jaccard, Options, RecipeName};

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

/// The similarity of a new database of sketches for which only a recall is given: the default one.
const DEFAULT_SIMILARITY: f64 = 0.8;

/// The longest time between two syncs: a day.
const MOST_SYNC_MILLISECONDS: u32 = 24 * 60 * 60 * 1000;

/// What was chosen for a path, or is stored there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fitting {
    pub(crate) bits: u32,
    jaccard: Option<Jaccard>,
}

/// Options with what their pointers lead to.
pub(crate) struct Given<'a> {
    pub(crate) plain: FpdbOptions,
    pub(crate) recipe: Option<&'a FpdbRecipe>,
    pub(crate) custom_recipe: Option<&'a str>,
}

impl Given<'_> {
    /// Refuses what does not fit together, and returns what to open a path with.
    pub(crate) fn check(&self, path: &str, mode: Mode) -> Result<Fitting, Failure> {
        expect_unused(self.plain.reserved)?;
        if self.read_only()? && mode != Mode::Open {
            return Err(Failure::invalid("read_only is for fpdb_open: nothing can be created"));
        }
        self.check_recipe()?;
        let found = self.find(path, mode)?;
        let bits = self.width(path, found.as_ref())?;
        let stored = found.and_then(|found| found.rule.jaccard());
        Ok(Fitting { bits, jaccard: self.jaccard(stored) })
    }

    fn check_recipe(&self) -> Result<(), Failure> {
        let Some(custom) = self.custom_recipe else { return Ok(()) };
        if self.recipe.is_some() {
            return Err(Failure::invalid("give either recipe or custom_recipe"));
        }
        if is_built_in(custom) {
            return Err(Failure::invalid(format!(
                "custom_recipe is {custom}, which is a recipe of fpdb: give it as recipe, or choose another name"
            )));
        }
        Ok(())
    }

    pub(crate) fn read_only(&self) -> Result<bool, Failure> {
        yes_or_no(self.plain.read_only, "read_only")
    }

    /// Returns the options of the library, or refuses what no database has.
    pub(crate) fn options<F: Width>(&self, fitting: Fitting) -> Result<Options<F>, Failure> {
        let FpdbOptions { recent_entries, expected_entries, page_memory, threads, .. } = self.plain;
        let mut options = Options::<F>::default()
            .durability(self.durability()?)
            .trust_file_system(yes_or_no(self.plain.trust_file_system, "trust_file_system")?)
            .background(!self.no_background()?);
        if let Some(name) = self.recipe.map(FpdbRecipe::name).or(self.custom_recipe) {
            options = options.recipe(RecipeName::custom(name));
        }
        if let Some(jaccard) = fitting.jaccard {
            options = options.similar(jaccard);
        }
        if let Some(distance) = distance(self.plain.max_distance) {
            options = options.max_distance(distance);
        }
        if let Some(ids) = FpdbIds::of(self.plain.ids)? {
            options = options.ids(ids);
        }
        if recent_entries > 0 {
            options =
                options.memtable_entries(usize::try_from(recent_entries).unwrap_or(usize::MAX));
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
        if self.plain.candidate_pages > 0 {
            options = F::candidate_pages(options, self.plain.candidate_pages);
        }
        Ok(options)
    }

    fn no_background(&self) -> Result<bool, Failure> {
        yes_or_no(self.plain.no_background, "no_background")
    }

    fn durability(&self) -> Result<Durability, Failure> {
        let milliseconds = self.plain.sync_milliseconds;
        let durability = FpdbDurability::of(self.plain.durability)?;
        if milliseconds == 0 {
            return Ok(durability);
        }
        if durability == Durability::Sync {
            return Err(Failure::invalid(
                "sync_milliseconds is for FPDB_DURABILITY_BUFFERED: otherwise every write is synced",
            ));
        }
        if self.no_background()? {
            return Err(Failure::invalid(
                "sync_milliseconds needs a thread, and no_background starts none: call fpdb_sync",
            ));
        }
        if milliseconds > MOST_SYNC_MILLISECONDS {
            return Err(Failure::invalid(format!(
                "sync_milliseconds is {milliseconds}: expected 1 to {MOST_SYNC_MILLISECONDS}"
            )));
        }
        Ok(Durability::Every(Duration::from_millis(milliseconds.into())))
    }

    /// Returns whether it is for sketches only.
    fn is_by_similarity(&self) -> bool {
        self.plain.similarity != 0.0 || self.plain.recall != 0.0
    }

    /// Returns the similarity and recall that are given. What is not given is as it is stored.
    fn jaccard(&self, stored: Option<Jaccard>) -> Option<Jaccard> {
        let FpdbOptions { similarity, recall, .. } = self.plain;
        if !self.is_by_similarity() {
            return None;
        }
        let default = stored.unwrap_or_else(|| Jaccard::at_least(DEFAULT_SIMILARITY));
        let or = |given: f64, default: f64| if given == 0.0 { default } else { given };
        let similarity = or(similarity, default.similarity());
        Some(Jaccard::at_least(similarity).recall(or(recall, default.expected_recall())))
    }

    /// Returns what is at a path, if that is to be opened.
    fn find(&self, path: &str, mode: Mode) -> Result<Option<Description>, Failure> {
        let is_any = self.plain.bits == FPDB_BITS_ANY;
        if is_any && mode != Mode::Open {
            return Err(Failure::invalid("FPDB_BITS_ANY is for fpdb_open: choose the bits"));
        }
        if mode == Mode::Create {
            return Ok(None);
        }
        match Description::read(Path::new(path)) {
            Ok(description) => Ok(Some(description)),
            Err(error) if is_any => Err(error.into()),
            // The library says what is there instead, if it is to be opened.
            Err(_) => Ok(None),
        }
    }

    /// Returns the width to open a path with.
    fn width(&self, path: &str, found: Option<&Description>) -> Result<u32, Failure> {
        let found = found.map(|found| found.bits);
        let bits = match (self.plain.bits, self.recipe) {
            (FPDB_BITS_ANY, _) => found.unwrap_or(u64::BITS),
            (0, _) if self.is_by_similarity() => FPDB_BITS_SKETCH,
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
        if bits != FPDB_BITS_SKETCH && self.is_by_similarity() {
            let advice = match self.plain.bits {
                FPDB_BITS_ANY => "leave them out",
                _ => "leave them out, or set bits to FPDB_BITS_SKETCH",
            };
            let stored = width::name(bits);
            return Err(Failure::invalid(format!(
                "a database of {stored} has no similarity and no recall: {advice}"
            )));
        }
        match found.filter(|&found| found != bits) {
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
