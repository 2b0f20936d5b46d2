//! Compares the options of a call with what a database has stored.

use std::fmt::Display;

use crate::base::error::{Error, ErrorKind, Result};
use crate::db::options::Options;
use crate::fingerprint::{Fingerprint, PerWidth};
use crate::index::rule::MatchRule;
use crate::settings::{IndexSettings, Settings};

impl<F: Fingerprint> Options<F> {
    /// Refuses stored options that differ from the database's.
    pub(crate) fn check_agreement(&self, settings: &Settings) -> Result<()> {
        if settings.bits() != F::BITS {
            return Err(other_width::<F>(settings.bits()));
        }
        if let (Some(requested), Some(found)) = (&self.recipe, &settings.recipe)
            && requested != found
        {
            return Err(other_recipe(requested, Some(found)));
        }
        if let (Some(requested), Some(found)) = (&self.extraction, &settings.extraction)
            && requested != found
        {
            return Err(other_extraction(requested, Some(found)));
        }
        let found = settings.index.rule();
        let by_distance = |k: &u32| found.by_distance() == Some(*k);
        if let Some(requested) = self.max_distance.filter(|k| !by_distance(k)) {
            return Err(other_rule(format_args!("max distance {requested}"), &found));
        }
        if let Some(requested) = self.similar.filter(|&j| found.jaccard() != Some(j)) {
            return Err(other_rule(format_args!("{requested}"), &found));
        }
        if let Some(requested) = self.rule.as_ref().filter(|&rule| *rule != found) {
            let (requested, found) = (in_full(requested), in_full(&found));
            return Err(Error::invalid(format!(
                "{requested} was requested, but the database has {found}: leave the option out"
            )));
        }
        agree("ids", self.ids.as_ref(), &settings.ids)?;
        match &settings.index {
            IndexSettings::Tables(tables) => {
                agree("layout", self.layout.as_ref(), &tables.layout)?;
                agree("block size", self.block_size.as_ref(), &tables.block_size)?;
                agree("filter bits", self.filter_bits.as_ref(), &tables.filter_bits)
            }
            IndexSettings::Bands(_) => self.expect_no_tables(),
        }
    }
}

/// Refuses a requested option that differs from the stored one.
fn agree<T: PartialEq + Display>(what: &str, requested: Option<&T>, stored: &T) -> Result<()> {
    match requested {
        Some(requested) if requested != stored => Err(Error::invalid(format!(
            "{what} {requested} was requested, but the database has {stored}: leave the option out"
        ))),
        _ => Ok(()),
    }
}

/// Returns all parts of a rule: two rules of one similarity can differ in the others.
fn in_full(rule: &MatchRule) -> String {
    let distance = rule.distance();
    match rule.bands() {
        Some((bands, minima)) => {
            format!("{rule} by {bands} bands of {minima} minima and distance {distance}")
        }
        None => rule.to_string(),
    }
}

/// Returns the error for a database with another match rule.
fn other_rule(requested: std::fmt::Arguments<'_>, found: &MatchRule) -> Error {
    Error::invalid(format!(
        "{requested} was requested, but the database has {found}: leave the option out"
    ))
}

/// The name of a type of fingerprint.
struct Name;

impl PerWidth for Name {
    type At<F: Fingerprint> = &'static str;
}

/// Returns the error for a database of another width.
fn other_width<F: Fingerprint>(found: u32) -> Error {
    let found = match found {
        64 => "64-bit fingerprints",
        128 => "128-bit fingerprints",
        _ => "sketches",
    };
    let requested = F::choose::<Name>("64-bit fingerprints", "128-bit fingerprints", "sketches");
    let message =
        format!("the database has {found}, but {requested} were requested: open it for {found}");
    Error::new(ErrorKind::Unsupported, message)
}

/// Returns the error for a recipe that did not make the fingerprints in the database.
pub(crate) fn other_recipe(requested: &str, found: Option<&str>) -> Error {
    other_origin("recipe", "fingerprints", requested, found)
}

/// Returns the error for an extraction that did not make the texts in the database.
pub(crate) fn other_extraction(requested: &str, found: Option<&str>) -> Error {
    other_origin("extraction", "texts", requested, found)
}

fn other_origin(what: &str, made: &str, requested: &str, found: Option<&str>) -> Error {
    let found = match found {
        Some(found) => format!("{what} {found}"),
        None => format!("no named {what}"),
    };
    let message = format!(
        "{what} {requested} was requested, but the {made} in the database come from {found}: they \
         cannot be compared"
    );
    Error::new(ErrorKind::Unsupported, message)
}
